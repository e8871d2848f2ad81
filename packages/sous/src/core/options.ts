/**
 * Options are checked where they enter: one that a function does not have would be ignored if it was misspelled, and one of another
 * kind would fail much later, in words that do not name it.
 */

import { UserError } from "./errors.ts";
import { nearest } from "./nearest.ts";
import type { AnyKind } from "./option-kinds.ts";

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

/**
 * Throws a `UserError` for the first option that is given and not known, with the one that was probably meant, or not of its kind.
 * An option that is undefined counts as not given.
 */
export function checkOptions(where: string, given: object, known: Readonly<Record<string, AnyKind>>): void {
  if (typeof given !== "object" || given === null)
    throw new UserError(`${where} takes its options as an object; found ${String(given)}`);
  const values = given as Readonly<Record<string, unknown>>;
  for (const name of Object.keys(values)) {
    const value = values[name];
    if (value === undefined) continue;
    const kind = known[name];
    // Every object has a `constructor` and the like: they are no options, and take nothing.
    if (kind?.takes?.(value)) continue;
    const isKnown = kind !== undefined && Object.hasOwn(known, name);
    throw isKnown ? wrongKind(where, name, kind, values) : unknownOption(where, name, known);
  }
}

function unknownOption(where: string, name: string, known: object): UserError {
  const names = Object.keys(known);
  const elsewhere = Object.hasOwn(ELSEWHERE, name) ? ELSEWHERE[name] : undefined;
  const meant =
    elsewhere?.find((each) => Object.hasOwn(known, each)) ?? sameLetters(name, names) ?? nearest(name, names);
  const hint =
    meant === undefined
      ? `it has ${names.filter((each) => !HIDDEN.includes(each)).join(", ")}`
      : `did you mean ${meant}?`;
  return new UserError(`${where} has no option ${JSON.stringify(name.slice(0, 60))}: ${hint}`);
}

function wrongKind(
  where: string,
  name: string,
  { wants, found }: AnyKind,
  values: Readonly<Record<string, unknown>>,
): UserError {
  // `budget`, or `agent x: budget`: an option of an option.
  const isPath = !/[ ()]/.test(where.slice(where.lastIndexOf(":") + 1).trim());
  const option = isPath ? `${where}.${name}` : `${whose(where, values)}: ${name}`;
  return new UserError(`${option} must be ${wants}; found ${found(values[name])}`);
}

/** `agent x` for one that says its name, `agent()` for one that does not. */
function whose(where: string, { name }: Readonly<Record<string, unknown>>): string {
  const isNamed = where.endsWith("()") && typeof name === "string" && /^[\w-]{1,64}$/.test(name);
  return isNamed ? `${where.slice(0, -2)} ${name}` : where;
}

/** Fields of a definition that are accepted because a spread has them. */
const HIDDEN: readonly string[] = ["with", "~output"];

/** `max_turns` and `maxturns` are `maxTurns`. */
function sameLetters(given: string, names: readonly string[]): string | undefined {
  const letters = (name: string) => name.replaceAll(/[^A-Za-z0-9]/g, "").toLowerCase();
  return names.find((name) => letters(name) === letters(given));
}
