/** The names of the runtime's own tools for children, and sentences that belong to them. */

export function isSubagentToolName(name: string): boolean {
  return name === "subagent" || name === "parallel_subagent" || name.startsWith("subagent_");
}

/** What a child is asked after its work when the call does not say. Text a model reads. */
export const SUMMARY_PROMPT = "Summarize your findings concisely";

/** Tools for children that start none. */
const LOOKING_AFTER: ReadonlySet<string> = new Set([
  "subagent_send",
  "subagent_report",
  "subagent_wait",
  "subagent_cancel",
  "subagent_list",
]);

/**
 * The labels of the children that a call asks for, from an input that was not checked; the name of the tool stands for
 * one that is missing.
 */
export function askedLabels(toolName: string, input: unknown): string[] {
  if (LOOKING_AFTER.has(toolName)) return [];
  const { label, description, tasks } = fieldsOf(input);
  if (toolName === "subagent") return [labelOr(toolName, label)];
  if (toolName === "subagent_spawn" || toolName === "subagent_delegate") return [labelOr(toolName, description)];
  if (toolName !== "parallel_subagent") return [toolName.replace(/^subagent_/, "")];
  const asked = Array.isArray(tasks) ? tasks : [];
  return asked.length === 0 ? [toolName] : asked.map((task) => labelOr(toolName, fieldsOf(task).label));
}

function fieldsOf(input: unknown): Record<string, unknown> {
  return typeof input === "object" && input !== null ? { ...input } : {};
}

function labelOr(toolName: string, label: unknown): string {
  return typeof label === "string" && label.trim() !== "" ? label : toolName;
}

/** Relied on by people and tests. */
export function depthMessage(maxDepth: number, depth: number): string {
  return `Maximum subagent recursion depth (${maxDepth}) exceeded. Current depth: ${depth}. Do this part of the work yourself.`;
}
