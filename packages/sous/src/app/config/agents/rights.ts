/** The rights that an agent of a file really has among the tools there are, and where each comes from. */

import type { McpServer, PermissionEffect } from "../../../core/configuration.ts";
import { METERED_OUTPUT } from "../../../core/limits.ts";
import type { AgentFields, AgentFile, AgentProblem, FieldOrigin } from "./file.ts";
import { concernsServer, covers, mayDeny, serverEntry } from "./mcp-entries.ts";

type EffectiveTool = {
  readonly tool: string;
  readonly isAllowed: boolean;
  /** `file:line (what it says)`, or `inherited`. */
  readonly from: string;
};

/** `only`: nothing else of this tool. */
type EffectiveRule = {
  readonly effect: PermissionEffect | "only";
  readonly pattern: string;
  readonly from: string;
};

type EffectiveLimit = { readonly value: number | undefined; readonly from: string };

export type EffectiveRights = {
  readonly tools: readonly EffectiveTool[];
  readonly rules: readonly EffectiveRule[];
  readonly delegate: { readonly isAllowed: boolean; readonly from: string };
  readonly model: { readonly name: string; readonly from: string };
  readonly maxTurns: EffectiveLimit;
  readonly timeoutMs: EffectiveLimit;
  readonly maxOutputTokens: EffectiveLimit;
  /** Every other key of the file, most about how its model is asked; of `provider_options` only the providers they are for. */
  readonly asking: readonly { readonly key: string; readonly value: string; readonly from: string }[];
  /** `isRead`: it reads the notes of the project. */
  readonly notes: { readonly isRead: boolean; readonly from: string };
  /** The size of the instructions. */
  readonly promptBytes: number;
};

const INHERITED = "inherited";
const UNSET = "default";

/** `available` is what its parent could pass on; deny wins. Tools of `servers` are told by entries: which there are is not known here. */
export function toEffectiveRights(
  agent: AgentFile,
  available: readonly string[],
  servers: readonly Pick<McpServer, "name" | "agents" | "isDisabled">[] = [],
): EffectiveRights {
  const { fields } = agent.origins;
  return {
    tools: [
      ...available.map((tool) => effectiveTool(agent, tool)),
      ...servers
        .filter(({ isDisabled, agents }) => !isDisabled && (agents?.includes(agent.name) ?? true))
        .flatMap(({ name }) => effectiveEntries(agent, name)),
    ],
    rules: [
      ...agent.only.map(({ pattern, origin }) => ({ effect: "only" as const, pattern, from: origin })),
      ...agent.rules.map(({ effect, pattern, origin }) => ({ effect, pattern, from: origin })),
    ],
    delegate: { isAllowed: agent.delegate, from: lineOf(agent, fields.delegate) ?? UNSET },
    model: { name: agent.model ?? "inherit", from: lineOf(agent, fields.model) ?? INHERITED },
    maxTurns: { value: agent.maxTurns, from: lineOf(agent, fields.maxTurns) ?? UNSET },
    timeoutMs: { value: agent.timeoutMs, from: lineOf(agent, fields.timeoutMs) ?? UNSET },
    maxOutputTokens: { value: agent.maxOutputTokens, from: lineOf(agent, fields.maxOutputTokens) ?? UNSET },
    asking: otherFields(agent),
    notes: { isRead: agent.notes, from: lineOf(agent, fields.notes) ?? UNSET },
    promptBytes: Buffer.byteLength(agent.instructions),
  };
}

/** The fields that have a place of their own in `EffectiveRights`, or say nothing about what the agent may do. */
const TOLD_ELSEWHERE: ReadonlySet<string> = new Set([
  ...["name", "nickname", "description", "outputSchema", "tools", "delegate", "model", "notes"],
  ...["maxTurns", "timeoutMs", "maxOutputTokens"],
]);

/** An object is told in the text of its line, which holds no secret. */
function otherFields(agent: AgentFile): EffectiveRights["asking"] {
  const others = Object.entries(agent.origins.fields).filter(([field]) => !TOLD_ELSEWHERE.has(field));
  return others.map(([field, origin]) => {
    const value = agent[field as keyof AgentFields];
    const told = typeof value === "object" ? origin.text : String(value);
    return {
      key: field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value: field === "providerOptions" ? `for ${told}` : told,
      from: lineOf(agent, origin) ?? UNSET,
    };
  });
}

function effectiveTool(agent: AgentFile, tool: string): EffectiveTool {
  const { tools, deny, fields } = agent.origins;
  const denied = agent.deny.find((entry) => mayDeny(entry, tool));
  if (denied !== undefined) return { tool, isAllowed: false, from: lineOf(agent, deny[denied]) ?? UNSET };
  if (agent.tools === undefined) return { tool, isAllowed: true, from: INHERITED };
  const listed = agent.tools.find((entry) => covers(entry, tool));
  const origin = listed === undefined ? fields.tools : tools[listed];
  return { tool, isAllowed: listed !== undefined, from: lineOf(agent, origin) ?? UNSET };
}

/** The entries of the file for one server: each that it grants, and each that it denies. */
function effectiveEntries(agent: AgentFile, server: string): EffectiveTool[] {
  const whole = serverEntry(server);
  const isAbout = (entry: string): boolean => concernsServer(entry, server);
  const granted = agent.tools === undefined ? [whole] : agent.tools.filter(isAbout);
  const denied = agent.deny.filter((entry) => isAbout(entry) && !covers(entry, whole));
  const shown = granted.length === 0 ? [whole] : granted;
  return [
    ...shown.map((entry) => effectiveTool(agent, entry)),
    ...denied.filter((entry) => !shown.includes(entry)).map((entry) => effectiveTool(agent, entry)),
  ];
}

function lineOf({ file }: AgentFile, origin: FieldOrigin | undefined): string | undefined {
  if (origin === undefined) return undefined;
  return origin.line === 0 ? origin.text : `${file}:${origin.line} (${origin.text})`;
}

/** One call should leave room for three others. */
const MIN_CALLS_AT_ONCE = 4;

/** `maxTotalTokens` is the setting `agent.subagent.max_total_tokens`. Undefined when one call takes at most a quarter of it. */
export function checkCallSize(agent: AgentFile, maxTotalTokens: number | undefined): AgentProblem | undefined {
  const { maxOutputTokens = METERED_OUTPUT, file, origins } = agent;
  if (maxTotalTokens === undefined || maxOutputTokens * MIN_CALLS_AT_ONCE <= maxTotalTokens) return undefined;
  const most = Math.floor(maxTotalTokens / MIN_CALLS_AT_ONCE);
  const smaller = most < 1 ? "" : `write \`max_output_tokens: ${most}\` or less, or `;
  return {
    code: "SOUS-A010",
    file,
    severity: "warning",
    line: origins.fields.maxOutputTokens?.line ?? 1,
    column: 1,
    message: `one call reserves ${maxOutputTokens} tokens for its answer, more than a quarter of agent.subagent.max_total_tokens (${maxTotalTokens}): few children can ask at once, and the others wait`,
    fix: `${smaller}raise agent.subagent.max_total_tokens to ${maxOutputTokens * MIN_CALLS_AT_ONCE} or more`,
  };
}
