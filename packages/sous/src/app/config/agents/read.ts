/** Reads one agent file in the dialect of the folder it lies in. */

import { basename } from "node:path";
import { visibleText } from "../../../core/clean-text.ts";
import { isRecord } from "../../../core/schema.ts";
import { decodeUtf8, MAX_AGENT_BYTES } from "../read-file.ts";
import { readYaml, type YamlDocument } from "../yaml/document.ts";
import { warnOfChoice } from "./asking.ts";
import { readOpencodeRights, withholdOpencode } from "./dialect-opencode.ts";
import { DIALECT_KEYS, geminiDefaults } from "./dialects.ts";
import { AgentDraft } from "./draft.ts";
import { judgeUnknownKey, setName, warnOfUnknownKeys } from "./fields.ts";
import type { AgentProblem, AgentSource, FrontMatter, ReadAgent } from "./file.ts";
import { covers, grantServers, isThere } from "./mcp-entries.ts";
import { findHiddenLine, quoteTexts } from "./quote-texts.ts";
import { CHANGING_TOOLS, OUR_TOOLS } from "./tools.ts";

/** Never throws. Without an agent there is an error among the problems, or a warning that says why there is none. */
export function readAgentFile(source: AgentSource): ReadAgent {
  const { file, dialect } = source;
  const read = readFrontMatter(source);
  if ("problem" in read) return { agent: undefined, problems: [{ code: "SOUS-A002", file, ...read.problem }] };
  const draft = new AgentDraft(source, read.parts);
  if (read.note !== undefined) draft.problems.push({ code: "SOUS-A002", file, ...read.note });
  const readers = DIALECT_KEYS[dialect];
  for (const key of Object.keys(draft.settings)) {
    const read = Object.hasOwn(readers, key) ? readers[key] : undefined;
    if (read === undefined) judgeUnknownKey(draft, key, Object.keys(readers));
    else read(draft, key);
  }
  warnOfUnknownKeys(draft, Object.keys(readers));
  if (dialect === "opencode") readOpencodeRights(draft);
  if (dialect === "gemini") geminiDefaults(draft);
  grantServers(draft);
  complete(draft);
  warnOfLoss(draft);
  if (dialect === "sous") warnOfChoice(draft);
  if (dialect === "opencode") withholdOpencode(draft);
  return { agent: draft.finish(), problems: draft.problems };
}

/** Adds or asks for what every agent needs, whatever its dialect. */
function complete(draft: AgentDraft): void {
  const { file, name = basename(file).replace(/\.md$/i, "") } = draft.source;
  if (!Object.hasOwn(draft.settings, "name")) setName(draft, name, []);
  const warn = (message: string, fix: string) => draft.warn("SOUS-A009", [], message, fix);
  if (!draft.has("description"))
    warn("there is no description: models do not know when to call this agent", "write `description: ...`");
  if (draft.isEmpty) warn("there are no instructions below the front matter", "write what the agent should do");
}

/** Warns of tools that a file names and the agent does not have: by a mode, or because none of them is a tool of ours. */
function warnOfLoss(draft: AgentDraft): void {
  const { settings } = draft;
  const { dialect } = draft.source;
  const had = (draft.granted ?? OUR_TOOLS).filter((tool) => isThere(draft, tool));
  const taken = had.filter((tool) => draft.isDenied(tool));
  const isPlan = settings.permissionMode === "plan" && dialect === "claude";
  const lost = isPlan ? taken.filter((tool) => CHANGING_TOOLS.some((each) => covers(each, tool))) : [];
  if (lost.length > 0) {
    const message = `permissionMode: plan takes ${lost.join(", ")} away`;
    draft.warn("SOUS-A007", ["permissionMode"], message, "remove it to have them");
  }
  // Empty means none, as our own template says; elsewhere it may have been meant as "not limited".
  const isEmpty = settings.tools === null || settings.tools === "";
  const isMeant = (Array.isArray(settings.tools) && settings.tools.length === 0) || (isEmpty && dialect === "sous");
  if (taken.length !== had.length || isMeant) return;
  const fix = "name tools that sous has, or leave tools out to have those of its caller";
  draft.warn("SOUS-A007", "tools" in settings ? ["tools"] : [], "nothing is left: the agent has no tools", fix);
}

const MAX_FRONT_MATTER_BYTES = 64 * 1024;
const MAX_BODY_BYTES = 64 * 1024;
const FENCE = /^---[ \t]*$/;

/** The reason why a file is not an agent, and where. */
type FrontMatterProblem = Omit<AgentProblem, "file" | "code">;

/** `note` is for a file that can be read and should still be changed. */
type ReadFrontMatter = { parts: FrontMatter; note: FrontMatterProblem | undefined } | { problem: FrontMatterProblem };

/** Never throws, whatever it is given. One problem a file: what follows from the first one is not told. */
function readFrontMatter({ file, text: given }: AgentSource): ReadFrontMatter {
  const text = typeof given === "string" ? given : decodeUtf8(given);
  if (text === undefined || text.includes("\0"))
    return problem(1, "this is not a text file", "save it as UTF-8 text without NUL characters");
  if (Buffer.byteLength(text) > MAX_AGENT_BYTES)
    return problem(1, "the file is larger than 128 KB", "shorten it: settings and text may have 64 KB each");
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n|\r|\n/);
  const start = lines.findIndex((line) => line.trim() !== "");
  if (!FENCE.test(lines[start] ?? "")) {
    // Folders of agents have notes, too.
    const fix = "begin it with a line ---, settings, and a line ---; or move it away";
    return problem(1, "the file does not begin with front matter, so it is no agent", fix, "warning");
  }
  const end = lines.findIndex((line, index) => index > start && FENCE.test(line));
  if (end === -1) return problem(start + 1, "the front matter is not closed", "put a line --- below the settings");
  const body = lines.slice(end + 1).join("\n");
  if (Buffer.byteLength(body) > MAX_BODY_BYTES)
    return problem(end + 2, "the text below the front matter is larger than 64 KB", "shorten it");
  const read = readSettings(lines.slice(start + 1, end), { file, firstLine: start + 2 });
  if ("problem" in read) return read;
  const { value, at } = read.document;
  if (!isRecord(value ?? {}))
    return problem(start + 2, "the front matter is not a list of `key: value`", "write `name: scout`");
  const settings = (value ?? {}) as FrontMatter["settings"];
  return { parts: { settings, at, body: visibleText(body).trim() }, note: read.note };
}

type ReadSettings = { document: YamlDocument; note: FrontMatterProblem | undefined } | { problem: FrontMatterProblem };

/** Reads YAML; people often write something else between the dashes, so when that fails, once more with texts in quotes. */
function readSettings(lines: readonly string[], where: { file: string; firstLine: number }): ReadSettings {
  const hidden = findHiddenLine(lines, where.firstLine);
  if (hidden !== undefined) return { problem: { severity: "error", ...hidden } };
  const options = { ...where, maxBytes: MAX_FRONT_MATTER_BYTES };
  const document = readYaml(`${lines.join("\n")}\n`, options);
  const [first] = document.problems;
  if (first === undefined) return { document, note: undefined };
  const isTooLarge = Buffer.byteLength(lines.join("\n")) > MAX_FRONT_MATTER_BYTES;
  const quoted = isTooLarge ? undefined : quoteTexts(lines, where.firstLine);
  if (quoted === undefined) return { problem: toProblem(first) };
  if ("problem" in quoted) return { problem: { severity: "error", ...quoted.problem } };
  const again = readYaml(`${quoted.lines.join("\n")}\n`, options);
  const [still] = again.problems;
  if (still !== undefined) return { problem: toProblem(still) };
  return { document: again, note: { severity: "warning", ...quoted.note } };
}

function toProblem({ line, column, message, fix }: YamlDocument["problems"][number]): FrontMatterProblem {
  return { severity: "error", line, column, message, fix };
}

function problem(
  line: number,
  message: string,
  fix: string,
  severity: AgentProblem["severity"] = "error",
): { problem: FrontMatterProblem } {
  return { problem: { severity, line, column: 1, message, fix } };
}
