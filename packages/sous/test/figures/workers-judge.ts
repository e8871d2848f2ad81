/** Compares what a tree over several workers has kept with what its provider and its tools have seen of it. */

import type { StoredEvent } from "../../src/core/event.ts";
import { readWholeTree } from "../../src/core/read-tree.ts";
import type { RunResult } from "../../src/core/runtime.ts";
import { rerun } from "../../src/rerun.ts";
import { checkHistory } from "../../src/testing/checker.ts";
import { finalText, runsOf, type Shape } from "./workers-script.ts";
import type { WorkersStage } from "./workers-stage.ts";

export type Verdict = {
  problems: string[];
  /** Calls that were made again because nobody had kept their outcome. */
  modelCallsAgain: number;
  toolCallsAgain: number;
  runs: number;
  events: number;
};

/** `isPlayed`: it is also run again from its recording. */
export type Judged = { readonly name: string; readonly shape: Shape; readonly isPlayed?: boolean };

/** What is said of a tree when it has ended. `result` is what the one that submitted it was told. */
export async function judge(
  stage: WorkersStage,
  { name, shape, isPlayed = true }: Judged,
  result: RunResult,
): Promise<Verdict> {
  const problems: string[] = [];
  const { status, text, runId } = result;
  if (status !== "completed" || text !== finalText(name, shape))
    problems.push(`The result is ${status}: ${text} ${result.error?.message ?? ""}`);
  const records = await stage.store.tree(runId);
  if (records.length !== runsOf(shape)) problems.push(`${records.length} runs of ${runsOf(shape)}`);
  const paths = new Set(records.map(({ path }) => path));
  if (paths.size !== records.length) problems.push("Two runs have one path");
  for (const record of records) if (record.status !== "completed") problems.push(`${record.path} is ${record.status}`);
  for (const { journalId, path } of records) {
    const numbers = (await stage.store.read(journalId)).map(({ seq }) => seq);
    if (numbers.some((seq, index) => seq !== index + 1))
      problems.push(`The journal of ${path} has the numbers ${numbers}`);
  }
  const events = await readWholeTree(stage.store, runId);
  problems.push(...checkHistory(events, { resultUsage: result.usage }));
  if (isPlayed) problems.push(...(await playAgain(stage, runId)));
  const modelCallsAgain = judgeModelCalls(stage, name, events, problems);
  const toolCallsAgain = judgeToolCalls(stage, events, problems);
  problems.push(...(await leftBehind(stage)));
  return { problems, modelCallsAgain, toolCallsAgain, runs: records.length, events: events.length };
}

async function playAgain({ store }: WorkersStage, runId: string): Promise<string[]> {
  const { matches, firstDifference } = await rerun(runId, { store });
  return matches ? [] : [`Run again, it differs: ${JSON.stringify(firstDifference)}`];
}

/** A request that came after the one whose answer was kept repeats a finished call. */
function judgeModelCalls(
  stage: WorkersStage,
  name: string,
  events: readonly StoredEvent[],
  problems: string[],
): number {
  const asked = stage.provider.requests.filter(({ part }) => part === name || part.startsWith(`${name}.`));
  const bySerial = new Map(asked.map((each) => [each.serial, each]));
  const kept = new Map<string, number>();
  for (const event of events) {
    if (event.type !== "message-end") continue;
    const request = bySerial.get(event.usage.inputTokens);
    if (request === undefined) problems.push(`${event.path} has an answer that nobody gave`);
    else if (kept.has(request.hash)) problems.push(`${event.path} has two answers to one request`);
    else kept.set(request.hash, request.serial);
  }
  for (const { serial, hash, part } of asked) {
    const answer = kept.get(hash);
    if (answer === undefined) problems.push(`${part} asked what nobody has an answer to`);
    else if (serial > answer) problems.push(`${part} asked again what was answered`);
  }
  return asked.length - kept.size;
}

/** The same for tools; one that must not be repeated has run at most once. */
function judgeToolCalls(stage: WorkersStage, events: readonly StoredEvent[], problems: string[]): number {
  const runs = new Set(events.map(({ runId }) => runId));
  const ran = stage.tools().filter(({ runId }) => runs.has(runId));
  const tokens = new Map<string, string>();
  for (const event of events) {
    if (event.type !== "tool-call-end" || event.toolName.startsWith("subagent")) continue;
    const token = / done (\w+)/.exec(event.output)?.[1];
    const key = `${event.runId} ${event.callId}`;
    if (tokens.has(key)) problems.push(`${event.path} has two results of ${event.callId}`);
    if (token !== undefined) tokens.set(key, token);
    else if (event.toolName !== "pay" || !/outcome of this call is unknown/.test(event.output))
      problems.push(`${event.path} has ${event.toolName} as ${event.output}`);
  }
  const seen = new Map<string, number>();
  const finished = new Set<string>();
  for (const { name, runId, callId, token } of ran) {
    const key = `${runId} ${callId}`;
    const times = (seen.get(key) ?? 0) + 1;
    seen.set(key, times);
    if (name === "pay" && times > 1) problems.push(`${key} was paid ${times} times`);
    if (finished.has(key)) problems.push(`${name} ${key} ran again, and its result was kept`);
    if (tokens.get(key) === token) finished.add(key);
  }
  for (const key of tokens.keys()) if (!finished.has(key)) problems.push(`The result of ${key} comes from nowhere`);
  return ran.length - seen.size;
}

/** Owners, mail and open journals of a store whose trees have all ended. */
async function leftBehind(stage: WorkersStage): Promise<string[]> {
  const [left] = await stage.rows<Record<string, number>>(
    `select (select count(*)::integer from sous.trees where owner is not null) as owners,
       (select count(*)::integer from sous.trees where is_open) as open, (select count(*)::integer from sous.mail) as mail`,
  );
  return Object.entries(left ?? {}).flatMap(([what, count]) => (count === 0 ? [] : [`${count} ${what} are left`]));
}
