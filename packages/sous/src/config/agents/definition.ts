/** An agent of a file as a definition. */

import { type AgentDefinition, agent } from "../../core/agent.ts";
import { oneLine, shortened } from "../../core/clean-text.ts";
import type { ToolChoice } from "../../core/model-options.ts";
import type { Tool } from "../../core/tool.ts";
import type { AgentFile } from "./file.ts";
import { deniedNames, denies, grants } from "./mcp-entries.ts";

/** What the file cannot know. */
export type Passed = {
  /** Those that a file may name. */
  readonly tools: readonly Tool[];
  /** Whether agents may have children at all. */
  readonly delegates: boolean;
  /** What they read besides their instructions: `whole` with the notes of the project. */
  readonly notes?: { readonly whole: string; readonly facts: string } | undefined;
  /** For files whose rules nothing else enforces. */
  readonly rules?: AgentDefinition["rules"];
};

export function toDefinition(file: AgentFile, { tools, delegates, notes, rules }: Passed): AgentDefinition {
  return agent({
    ...described(file, notes),
    model: file.model === "inherit" ? undefined : file.model,
    tools: file.tools === undefined ? undefined : tools.filter(({ name }) => grants(file, name)),
    deny: deniedNames(
      file,
      tools.map(({ name }) => name),
    ),
    delegate: file.delegate && delegates,
    maxTurns: file.maxTurns,
    toolChoice: choiceAmong(file, tools),
    rules,
  });
}

/** Of one agent in a request: its author may be a stranger, and some write a page. */
const MAX_DESCRIPTION = 1000;

/** What a file says of its agent, wherever it stands in the tree. */
export function described(file: AgentFile, notes: Passed["notes"]) {
  return {
    name: file.name,
    nickname: file.nickname,
    description: shortened(oneLine(file.description), MAX_DESCRIPTION) || undefined,
    instructions: file.instructions === "" ? undefined : file.instructions,
    notes: file.notes ? notes?.whole : notes?.facts,
    timeoutMs: file.timeoutMs,
    maxOutputTokens: file.maxOutputTokens,
    outputSchema: file.outputSchema,
    temperature: file.temperature,
    effort: file.effort,
    providerOptions: file.providerOptions,
  };
}

/** Undefined where it would force a tool that the agent does not have here: options of a command may take tools away. */
export function choiceAmong(file: AgentFile, tools: readonly Tool[]): ToolChoice | undefined {
  const { toolChoice } = file;
  const left = tools.filter(({ name }) => grants(file, name) && !denies(file, name));
  if (toolChoice === "required") return left.length > 0 || file.delegate ? toolChoice : undefined;
  if (typeof toolChoice !== "object") return toolChoice;
  return left.some(({ name }) => name === toolChoice.tool) ? toolChoice : undefined;
}
