/** Reads one agent file in the dialect of the folder it lies in. */

import { basename } from "node:path";
import { CLAUDE_KEYS } from "./dialect-claude.ts";
import { GEMINI_KEYS, geminiDefaults } from "./dialect-gemini.ts";
import { OPENCODE_KEYS, readOpencodeRights, withholdOpencode } from "./dialect-opencode.ts";
import { SOUS_KEYS } from "./dialect-sous.ts";
import { AgentDraft, type KeyReaders } from "./draft.ts";
import { judgeUnknownKey, setName } from "./fields.ts";
import type { AgentDialect, AgentSource, ReadAgent } from "./file.ts";
import { readFrontMatter } from "./front-matter.ts";

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
