/** Tools of MCP servers in agent files of opencode, and the statements that all its rights are made of. */

import type { PermissionEffect } from "../../../core/configuration.ts";
import { matchesGlob } from "../../../core/glob.ts";
import { nearest } from "../../../core/nearest.ts";
import type { Path } from "../yaml/value.ts";
import type { AgentDraft } from "./draft.ts";
import { concernsServer, denyingEntry, EVERY_MCP_TOOL, opencodeEntry } from "./mcp-entries.ts";
import { meaningOf, namesOf } from "./tools.ts";

export type OpencodeStatement = {
  /** A name or a pattern of names. */
  readonly tool: string;
  /** A pattern of what the call is about; `*` is every call. */
  readonly input: string;
  readonly effect: PermissionEffect;
  readonly path: Path;
};

/** Tools of MCP servers, `github_create_issue` and `github_*`. One that is denied stays denied, whatever is said later. */
export function decideServers(draft: AgentDraft, statements: readonly OpencodeStatement[]): void {
  const isGeneral = ({ tool, input }: OpencodeStatement): boolean => tool === "*" && input === "*";
  const start = statements.findLastIndex(isGeneral);
  for (const [index, statement] of statements.entries()) {
    const { tool, effect, path } = statement;
    const meaning = meaningOf(tool, "opencode");
    const isOwn = typeof meaning === "object" && "mcp" in meaning;
    if (tool === "*" || (meaning !== "unknown" && !isOwn)) continue;
    const entry = isOwn ? meaning.mcp : opencodeEntry(tool);
    const isOver = statements.slice(0, index).some((each) => isDenied(each) && matchesGlob(each.tool, tool));
    if (effect === "deny") {
      draft.deny(denyingEntry(entry), path, said(statement));
      if (statement.input !== "*" && isServerTool(draft, tool))
        draft.warn("SOUS-A006", path, `${tool} cannot be limited by a pattern here: it is left out`, WHOLE);
    } else if (isOver && isServerTool(draft, tool))
      draft.warn("SOUS-A006", path, `${tool} stays denied: a line above denies it`, "deny what it may not use by name");
    else if (index > start) draft.grant(entry, path, said(statement));
    if (effect === "ask") draft.rule("ask", askingPattern(entry), path);
  }
}

/** Nothing says where the name of the tool begins, so more may ask than is meant. */
function askingPattern(entry: string): string {
  const pattern = `mcp__${denyingEntry(entry)
    .replace(/^mcp_+/, "")
    .replaceAll(/[_?]/g, "*")}`;
  return pattern.length > MAX_PATTERN ? EVERY_MCP_TOOL : pattern;
}

const WHOLE = "allow or deny it as a whole";
/** Max length of the tool in a rule. */
const MAX_PATTERN = 64;

function isDenied({ tool, effect }: OpencodeStatement): boolean {
  return effect === "deny" && tool !== "*";
}

/** True when it can be a tool of a server, and not a slip of the pen. */
export function isServerTool({ source }: AgentDraft, tool: string): boolean {
  const { mcpServers } = source;
  if (mcpServers === undefined) return tool.includes("_") && nearest(tool, namesOf("opencode")) === undefined;
  return mcpServers.some((server) => concernsServer(opencodeEntry(tool), server));
}

export function said({ tool, input, effect }: OpencodeStatement): string {
  return `${tool}${input === "*" ? "" : ` ${input}`}: ${effect}`;
}
