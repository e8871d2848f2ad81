/** Options that a function does not have are refused: a misspelled one would be ignored otherwise. */

import { UserError } from "./errors.ts";
import { nearest } from "./nearest.ts";

/** Every option of a type. The compiler holds it to the type: none may be missing and none be added. */
export type OptionNames<Options> = { readonly [Name in keyof Required<Options>]: true };

/** Names that other libraries have for an option, with the names here. */
const ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  maxSteps: ["maxTurns"],
  maxIterations: ["maxTurns"],
  stopWhen: ["maxTurns"],
  steps: ["maxTurns"],
  maxTokens: ["maxOutputTokens"],
  max_tokens: ["maxOutputTokens"],
  system: ["instructions"],
  systemPrompt: ["instructions"],
  prompt: ["instructions"],
  schema: ["outputSchema", "inputSchema"],
  output: ["outputSchema"],
  outputType: ["outputSchema"],
  responseFormat: ["outputSchema"],
  parameters: ["inputSchema"],
  input: ["inputSchema"],
  handler: ["execute"],
  run: ["execute"],
  needsApproval: ["tier"],
  reasoning: ["effort"],
  reasoningEffort: ["effort"],
  thinking: ["effort"],
  modelSettings: ["temperature"],
  handoffs: ["subagents"],
  agents: ["subagents"],
  timeout: ["timeoutMs", "durationMs"],
  seconds: ["durationMs", "timeoutMs"],
  abortSignal: ["signal"],
  onStep: ["onEvent"],
  onStepFinish: ["onEvent"],
  maxConcurrency: ["concurrency", "maxConcurrentCalls"],
  maxConcurrent: ["concurrency", "maxConcurrentCalls"],
  concurrency: ["maxConcurrentCalls"],
  limit: ["concurrency"],
  atTurn: ["afterTurn"],
  usd: ["costUsd"],
  dollars: ["costUsd"],
  maxBudgetUsd: ["costUsd"],
  folder: ["root"],
  cwd: ["root"],
  workspace: ["root"],
};

/** Throws a `UserError` for the first option that is given and not known, with the one that was probably meant. */
export function checkOptions(where: string, given: object, known: Readonly<Record<string, unknown>>): void {
  if (typeof given !== "object" || given === null)
    throw new UserError(`${where} takes its options as an object; found ${String(given)}`);
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(known, name) || (given as Readonly<Record<string, unknown>>)[name] === undefined) continue;
    const names = Object.keys(known);
    const elsewhere = Object.hasOwn(ELSEWHERE, name) ? ELSEWHERE[name] : undefined;
    const meant =
      elsewhere?.find((each) => Object.hasOwn(known, each)) ?? sameLetters(name, names) ?? nearest(name, names);
    const hint =
      meant === undefined
        ? `it has ${names.filter((each) => !HIDDEN.includes(each)).join(", ")}`
        : `did you mean ${meant}?`;
    throw new UserError(`${where} has no option ${JSON.stringify(name.slice(0, 60))}: ${hint}`);
  }
}

/** Fields of a definition that are accepted because a spread has them. */
const HIDDEN: readonly string[] = ["with", "~output"];

/** `max_turns` and `maxturns` are `maxTurns`. */
function sameLetters(given: string, names: readonly string[]): string | undefined {
  const letters = (name: string) => name.replaceAll(/[^A-Za-z0-9]/g, "").toLowerCase();
  return names.find((name) => letters(name) === letters(given));
}
