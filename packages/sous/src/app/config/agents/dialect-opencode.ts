/** Agent files of opencode, below `.opencode/agent` and `.opencode/agents`. Without a name an agent is called by its path. */

import { matchesGlob } from "../../../core/glob.ts";
import { nearest } from "../../../core/nearest.ts";
import { isRecord } from "../../../core/schema.ts";
import { TOOL_ROWS } from "../../../core/words/tools.ts";
import type { Path } from "../yaml/value.ts";
import { readEffort, readTemperature, setEffort } from "./asking.ts";
import { type AgentDraft, isEffect, type KeyReader, type KeyReaders, warnOfAllow } from "./draft.ts";
import { hasNoEffect, isIgnored, readDescription, readMaxTurns, readModel, readName } from "./fields.ts";
import { decideServers, isServerTool, type OpencodeStatement, said } from "./opencode-servers.ts";
import { rulePatterns } from "./tool-list.ts";
import { ASKING_TOOLS, meaningOf, namesOf } from "./tools.ts";

const readMode: KeyReader = (draft, key) => {
  const mode = draft.settings[key];
  if (["subagent", "all", "primary", null].includes(mode as string | null)) return;
  draft.refuse("SOUS-A003", [key], "mode is primary, subagent or all", "write `mode: subagent`");
};

const readDisable: KeyReader = (draft, key) => {
  const value = draft.settings[key];
  if (typeof value !== "boolean" && value !== null)
    draft.refuse("SOUS-A003", [key], `${key} is true or false`, `write \`${key}: true\``);
};

/** Agents that are switched off, and those that are not meant to be called by others. */
export function withholdOpencode(draft: AgentDraft): void {
  const { mode, disable, disabled } = draft.settings;
  if (disable === true || disabled === true) {
    const key = disable === true ? "disable" : "disabled";
    draft.withhold("SOUS-A008", [key], "the agent is switched off, so it is not loaded", `remove ${key}`);
  } else if (mode === "primary") draft.forPeople();
}

const refusePrompt: KeyReader = (draft, key) => {
  const message = "the instructions are read from the text below the front matter only";
  draft.refuse("SOUS-A003", [key], message, `move ${key} there`, "key");
};

/** People write it, and opencode hands it to the provider as an option. What it restricts is meant. */
const readPlural: KeyReader = (draft, key) => {
  if (Object.hasOwn(draft.settings, "permission"))
    draft.refuse("SOUS-A004", [key], "there is permission and permissions", "keep permission", "key");
  else draft.warn("SOUS-A005", [key], "permissions is read as permission", "write permission: opencode knows no other");
};

/** The effort is the only option of a provider that sous has, too. */
const readOptions: KeyReader = (draft, key) => {
  const options = draft.settings[key];
  const { reasoningEffort, ...others } = isRecord(options) ? options : { [key]: options };
  if (reasoningEffort !== undefined) setEffort(draft, reasoningEffort, [key, "reasoningEffort"]);
  if (Object.keys(others).length > 0) hasNoEffect("options of the provider are not passed on")(draft, key);
};

/** `tools` and `permission` are read together, below. */
export const OPENCODE_KEYS: KeyReaders = {
  name: readName,
  description: readDescription,
  mode: readMode,
  model: readModel,
  tools: isIgnored,
  permission: isIgnored,
  permissions: readPlural,
  steps: readMaxTurns,
  maxSteps: readMaxTurns,
  disable: readDisable,
  disabled: readDisable,
  prompt: refusePrompt,
  color: isIgnored,
  hidden: isIgnored,
  options: readOptions,
  reasoningEffort: readEffort,
  temperature: readTemperature,
  textVerbosity: hasNoEffect("options of the provider are not passed on"),
  thinking: hasNoEffect("options of the provider are not passed on"),
  top_p: hasNoEffect("the provider's own value is used"),
  variant: readEffort,
};

/** The tools that opencode asks about as one thing, and ours that do the same: all that edit are one. */
const GROUPS = [
  ...Map.groupBy(TOOL_ROWS, ([name, { category }]) => (category === "edit" ? category : name)).values(),
].map((rows) => ({
  names: rows.flatMap(([, { names }]) => names.opencode),
  tools: rows.map(([name]) => name),
}));

export function readOpencodeRights(draft: AgentDraft): void {
  const statements = [...readTools(draft), ...readPermission(draft)];
  const general = statements.findLast(({ tool, input }) => tool === "*" && input === "*");
  if (general?.effect === "deny") draft.limitTools(general.path, '"*": deny');
  for (const group of GROUPS) {
    const own = statements.filter(({ tool }) => group.names.some((name) => matchesGlob(tool, name)));
    decide(draft, group.tools, own);
  }
  decideChildren(draft, statements);
  decideServers(draft, statements);
}

function decide(draft: AgentDraft, tools: readonly string[], own: readonly OpencodeStatement[]): void {
  const isWhole = ({ input }: OpencodeStatement) => input === "*";
  // A name that is denied stays denied, whatever a sibling of its group says later.
  const denied = own.find((each) => each.effect === "deny" && isWhole(each) && !each.tool.includes("*"));
  const isRefined = own.some((each) => !isWhole(each) && each.tool === denied?.tool);
  const baseIndex = own.findLastIndex(isWhole);
  const base = denied !== undefined && !isRefined ? denied : own[baseIndex];
  // Exceptions stand behind the last statement about every call; of those before it only what restricts is kept.
  const exceptions = own.filter((each, index) => !isWhole(each) && (index > baseIndex || each.effect !== "allow"));
  for (const tool of tools) {
    if (base?.effect === "deny") openParts(draft, tool, base, exceptions);
    else closeParts(draft, tool, base, exceptions);
  }
  const isUnheard = base?.effect === "allow" && draft.source.scope === "project";
  if (isUnheard && tools.some((tool) => ASKING_TOOLS.includes(tool))) warnOfAllow(draft, base.path);
}

/** Everything is denied but what the exceptions open. */
function openParts(
  draft: AgentDraft,
  tool: string,
  base: OpencodeStatement,
  exceptions: readonly OpencodeStatement[],
): void {
  const openings = exceptions.filter(({ effect }) => effect !== "deny");
  const patterns = openings.flatMap((opening) =>
    (rulePatterns(tool, opening.input, "allow") ?? [])
      .filter((pattern) => isReadable(draft, pattern))
      .map((pattern) => ({ pattern, opening })),
  );
  const [first] = patterns;
  if (first === undefined) {
    draft.deny(tool, base.path, said(base));
    const [lost] = openings;
    if (lost !== undefined) warnOfPattern(draft, tool, lost);
    return;
  }
  draft.grant(tool, first.opening.path, said(first.opening));
  for (const { pattern, opening } of patterns) {
    draft.only(pattern, opening.path);
    // A call that a project allows still asks.
    const isHeard = opening.effect === "ask" || draft.source.scope === "user";
    if (isHeard) draft.rule(opening.effect, pattern, opening.path);
  }
  for (const exception of exceptions) if (exception.effect === "deny") closePart(draft, tool, exception);
}

/** The tool may be used, but for what the exceptions say. */
function closeParts(
  draft: AgentDraft,
  tool: string,
  base: OpencodeStatement | undefined,
  exceptions: readonly OpencodeStatement[],
): void {
  if (base !== undefined) draft.grant(tool, base.path, said(base));
  const isHeard = base?.effect === "ask" || draft.source.scope === "user";
  if (base !== undefined && isHeard) draft.rule(base.effect, tool, base.path);
  for (const exception of exceptions) if (exception.effect !== "allow") closePart(draft, tool, exception);
}

function closePart(draft: AgentDraft, tool: string, exception: OpencodeStatement): void {
  const { effect, input, path } = exception;
  const patterns = rulePatterns(tool, input, "deny");
  if (patterns?.every((pattern) => isReadable(draft, pattern)))
    for (const pattern of patterns) draft.rule(effect, pattern, path);
  else if (effect === "ask") draft.rule("ask", tool, path);
  else {
    draft.deny(tool, path, said(exception));
    warnOfPattern(draft, tool, exception);
  }
}

/** A pattern such as `curl * | sh` is none of a command: what it would close is closed with the whole tool. */
function isReadable({ source }: AgentDraft, pattern: string): boolean {
  return source.checkRule?.(pattern) === undefined;
}

function warnOfPattern(draft: AgentDraft, tool: string, { path, input }: OpencodeStatement): void {
  const what = rulePatterns(tool, input, "deny") === undefined ? "a pattern" : JSON.stringify(input.slice(0, 60));
  const message = `${tool} cannot be limited by ${what} here: it is left out`;
  draft.warn("SOUS-A006", path, message, "allow or deny it as a whole");
}

/** Only what is said of `task` itself gives it; any restriction of it takes it away. */
function decideChildren(draft: AgentDraft, statements: readonly OpencodeStatement[]): void {
  const own = statements.filter(({ tool }) => tool === "task");
  const denied = own.find(({ effect }) => effect === "deny");
  const [first] = own;
  if (denied === undefined && first !== undefined) draft.children(true, first.path, `task: ${first.effect}`);
  if (denied === undefined) return;
  draft.children(false, denied.path, "task: deny");
  if (own.every(({ effect }) => effect === "deny")) return;
  const message = "sous cannot limit which agents it calls, so it calls none";
  draft.warn("SOUS-A007", denied.path, message, "write `task: allow`");
}

function readTools(draft: AgentDraft): OpencodeStatement[] {
  const { tools } = draft.settings;
  if (tools === undefined || tools === null) return [];
  if (!isRecord(tools)) {
    const fix = "write `tools:` and below it `  bash: false`";
    draft.refuse("SOUS-A003", ["tools"], "tools is a map of names to true or false", fix);
    return [];
  }
  return Object.entries(tools).flatMap(([tool, isOn]) => {
    const path = ["tools", tool];
    if (typeof isOn !== "boolean")
      draft.refuse("SOUS-A003", path, `${tool} is true or false`, `write \`${tool}: false\``);
    return checkTool(draft, { tool, input: "*", effect: isOn === true ? "allow" : "deny", path });
  });
}

function readPermission(draft: AgentDraft): OpencodeStatement[] {
  const key = Object.hasOwn(draft.settings, "permission") ? "permission" : "permissions";
  const permission = draft.settings[key];
  if (permission === undefined || permission === null) return [];
  const whole = isRecord(permission) ? permission : { "*": permission };
  return Object.entries(whole).flatMap(([tool, rights]) => {
    const path = isRecord(permission) ? [key, tool] : [key];
    if (!isRecord(rights)) return toStatement(draft, tool, "*", rights, path);
    return Object.entries(rights).flatMap(([input, effect]) =>
      toStatement(draft, tool, input, effect, [...path, input]),
    );
  });
}

function toStatement(draft: AgentDraft, tool: string, input: string, effect: unknown, path: Path): OpencodeStatement[] {
  if (isEffect(effect)) return checkTool(draft, { tool, input: input === "**" ? "*" : input, effect, path });
  const message = `${tool}: found ${JSON.stringify(effect)?.slice(0, 60)} instead of a permission`;
  draft.refuse("SOUS-A003", path, message, "write allow, ask or deny");
  return [];
}

/** An unknown name is harmless when it allows; when it restricts it may be meant for a tool we have. */
function checkTool(draft: AgentDraft, statement: OpencodeStatement): OpencodeStatement[] {
  const { tool, effect, path } = statement;
  if (/[*?]/.test(tool) || meaningOf(tool, "opencode") !== "unknown" || isServerTool(draft, tool)) return [statement];
  const meant = nearest(tool, namesOf("opencode"));
  const fix = meant === undefined ? "remove it, or leave it for the other program" : `did you mean ${meant}?`;
  if (effect === "allow" || meant === undefined)
    draft.warn("SOUS-A006", path, `sous has no tool ${tool}: it is left out`, fix);
  else draft.refuse("SOUS-A006", path, `there is no tool ${tool} that could be restricted`, fix, "key");
  return [];
}
