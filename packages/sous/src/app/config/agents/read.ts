/** Reads one agent file in the dialect of the folder it lies in. */

import { basename } from "node:path";
import { warnOfChoice } from "./asking.ts";
import { OPENCODE_KEYS, readOpencodeRights, withholdOpencode } from "./dialect-opencode.ts";
import { CLAUDE_KEYS, GEMINI_KEYS, geminiDefaults, SOUS_KEYS } from "./dialects.ts";
import { AgentDraft, type KeyReaders } from "./draft.ts";
import { judgeUnknownKey, setName, warnOfUnknownKeys } from "./fields.ts";
import type { AgentDialect, AgentSource, ReadAgent } from "./file.ts";
import { readFrontMatter } from "./front-matter.ts";
import { covers } from "./mcp-entries.ts";
import { grantServers, isThere } from "./mcp-servers.ts";
import { CHANGING_TOOLS, OUR_TOOLS } from "./tools.ts";

const KEYS: Readonly<Record<AgentDialect, KeyReaders>> = {
  sous: SOUS_KEYS,
  claude: CLAUDE_KEYS,
  gemini: GEMINI_KEYS,
  opencode: OPENCODE_KEYS,
};

/** Never throws. Without an agent there is an error among the problems, or a warning that says why there is none. */
export function readAgentFile(source: AgentSource): ReadAgent {
  const { file, dialect } = source;
  const read = readFrontMatter(source);
  if ("problem" in read) return { agent: undefined, problems: [{ code: "SOUS-A002", file, ...read.problem }] };
  const draft = new AgentDraft(source, read.parts);
  if (read.note !== undefined) draft.problems.push({ code: "SOUS-A002", file, ...read.note });
  const readers = KEYS[dialect];
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

/** What every agent needs, whatever its dialect. */
function complete(draft: AgentDraft): void {
  const { file, name = basename(file).replace(/\.md$/i, "") } = draft.source;
  if (!Object.hasOwn(draft.settings, "name")) setName(draft, name, []);
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

/** What a file names and the agent does not have: by a mode, or because nothing of it is a tool of ours. */
function warnOfLoss(draft: AgentDraft): void {
  const { settings } = draft;
  const { dialect } = draft.source;
  const had = (draft.granted ?? OUR_TOOLS).filter((tool) => isThere(draft, tool));
  const taken = had.filter((tool) => draft.isDenied(tool));
  const isPlan = settings.permissionMode === "plan" && dialect === "claude";
  const lost = isPlan ? taken.filter((tool) => CHANGING_TOOLS.some((each) => covers(each, tool))) : [];
  if (lost.length > 0)
    draft.warn(
      "SOUS-A007",
      ["permissionMode"],
      `permissionMode: plan takes ${lost.join(", ")} away`,
      "remove it to have them",
    );
  // Empty means none, as our own template says; elsewhere it may have been meant as "not limited".
  const isEmpty = settings.tools === null || settings.tools === "";
  const isMeant = (Array.isArray(settings.tools) && settings.tools.length === 0) || (isEmpty && dialect === "sous");
  if (taken.length === had.length && !isMeant)
    draft.warn(
      "SOUS-A007",
      "tools" in settings ? ["tools"] : [],
      "nothing is left: the agent has no tools",
      "name tools that sous has, or leave tools out to have those of its caller",
    );
}
