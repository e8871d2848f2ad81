/** Reads one agent file in the dialect of the folder it lies in. */

import { basename } from "node:path";
import { visibleText } from "../../core/clean-text.ts";
import { isRecord } from "../../core/schema.ts";
import { MAX_AGENT_BYTES } from "../read-file.ts";
import { readYaml } from "../yaml/document.ts";
import { OPENCODE_KEYS, readOpencodeRights, withholdOpencode } from "./dialect-opencode.ts";
import { CLAUDE_KEYS, GEMINI_KEYS, geminiDefaults, SOUS_KEYS } from "./dialects.ts";
import { AgentDraft, type KeyReaders } from "./draft.ts";
import { judgeUnknownKey, setName } from "./fields.ts";
import type { AgentDialect, AgentSource, FrontMatter, ReadAgent } from "./file.ts";

const KEYS: Readonly<Record<AgentDialect, KeyReaders>> = {
  sous: SOUS_KEYS,
  claude: CLAUDE_KEYS,
  gemini: GEMINI_KEYS,
  opencode: OPENCODE_KEYS,
};

/** Never throws. Without an agent there is an error among the problems, or a warning that says why there is none. */
export function readAgentFile(source: AgentSource): ReadAgent {
  const { file, dialect } = source;
  const parts = readFrontMatter(source);
  if (Array.isArray(parts)) {
    return {
      agent: undefined,
      problems: parts.map((problem) => ({ code: "SOUS-A002", file, severity: "error", ...problem })),
    };
  }
  const draft = new AgentDraft(source, parts);
  const readers = KEYS[dialect];
  for (const key of Object.keys(draft.settings)) {
    const read = Object.hasOwn(readers, key) ? readers[key] : undefined;
    if (read === undefined) judgeUnknownKey(draft, key, Object.keys(readers));
    else read(draft, key);
  }
  if (dialect === "opencode") readOpencodeRights(draft);
  if (dialect === "gemini") geminiDefaults(draft);
  complete(draft);
  if (dialect === "opencode") withholdOpencode(draft);
  return { agent: draft.finish(), problems: draft.problems };
}

/** What every agent needs, whatever its dialect. */
function complete(draft: AgentDraft): void {
  const { dialect, file } = draft.source;
  const isNamed = dialect !== "opencode" && Object.hasOwn(draft.settings, "name");
  if (!isNamed) setName(draft, basename(file).replace(/\.md$/i, ""), []);
  if (!draft.has("description"))
    draft.warn(
      "SOUS-A009",
      [],
      "there is no description: models do not know when to call this agent",
      "write `description: ...`",
    );
  if (draft.isEmpty)
    draft.warn("SOUS-A009", [], "there are no instructions below the front matter", "write what the agent should do");
}

const MAX_FRONT_MATTER_BYTES = 64 * 1024;
const MAX_BODY_BYTES = 64 * 1024;

/** Why a file is not one, and where. */
type FrontMatterProblem = { line: number; column: number; message: string; fix: string };

const FENCE = /^---[ \t]*$/;

/** Never throws, whatever it is given. */
function readFrontMatter({ file, text: given }: AgentSource): FrontMatter | FrontMatterProblem[] {
  const text = typeof given === "string" ? given : decode(given);
  if (text === undefined || text.includes("\0"))
    return problem(1, "this is not a text file", "save it as UTF-8 text without NUL characters");
  if (Buffer.byteLength(text) > MAX_AGENT_BYTES)
    return problem(1, "the file is larger than 128 KB", "shorten it: settings and text may have 64 KB each");
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n|\r|\n/);
  if (!FENCE.test(lines[0] ?? ""))
    return problem(
      1,
      "the file does not begin with front matter",
      "begin it with a line ---, settings, and a line ---",
    );
  const end = lines.findIndex((line, index) => index > 0 && FENCE.test(line));
  if (end === -1) return problem(1, "the front matter is not closed", "put a line --- below the settings");
  const body = lines.slice(end + 1).join("\n");
  if (Buffer.byteLength(body) > MAX_BODY_BYTES)
    return problem(end + 2, "the text below the front matter is larger than 64 KB", "shorten it");
  const yaml = `${lines.slice(1, end).join("\n")}\n`;
  const document = readYaml(yaml, { file, maxBytes: MAX_FRONT_MATTER_BYTES, firstLine: 2 });
  if (document.problems.length > 0)
    return document.problems.map(({ line, column, message, fix }) => ({ line, column, message, fix }));
  const { value, at } = document;
  if (!isRecord(value ?? {}))
    return problem(2, "the front matter is not a list of `key: value`", "write `name: scout`");
  return { settings: (value ?? {}) as FrontMatter["settings"], at, body: visibleText(body).trim() };
}

/** Undefined when the bytes are not UTF-8. */
function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function problem(line: number, message: string, fix: string): FrontMatterProblem[] {
  return [{ line, column: 1, message, fix }];
}
