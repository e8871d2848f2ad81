/** Tries one external agent in a tree of ours. */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ApprovalRequest } from "../../packages/sous/src/core/approval.ts";
import type { SousEvent } from "../../packages/sous/src/core/event.ts";
import type { RunOptions, RunResult } from "../../packages/sous/src/core/runtime.ts";
import type { Look } from "./look.ts";
import { EDITED, type ExternalName, type Mock, type Turn, WORDS } from "./mock.ts";
import type { Place } from "./place.ts";
import { agentOf, delegate, NATIVE, nextMinute, openStage, type Stage, sumsAgree } from "./stage.ts";

type Looked = { mock: Mock; place: Place; look: Look; name: ExternalName };

/** How long each agent needs until it works, on a busy machine with two cores. */
const START_MS: Record<ExternalName, number> = { claude: 12_000, opencode: 32_000, codex: 6000, gemini: 15_000 };

const MAX_COST_USD = 0.5;

/**
 * What each may report for two calls of 900 + 40 and 990 + 12 tokens. Claude may add the call for a title, 940; opencode tells
 * the last call only, and codex nothing.
 */
const REPORTED: Record<ExternalName, readonly number[]> = {
  claude: [1942, 2882],
  opencode: [1002],
  codex: [],
  gemini: [1942],
};

export async function lookAtAgent(looked: Looked): Promise<void> {
  const { look, name } = looked;
  await look.during(`${name}: edit`, () => editWithApproval(looked));
  await look.during(`${name}: refusal`, () => refusal(looked));
  await look.during(`${name}: cancel`, () => cancel(looked));
  await look.during(`${name}: timeout`, () => timeout(looked));
  await look.during(`${name}: follow-up`, () => followUp(looked));
  await look.during(`${name}: budget`, () => budgetHit(looked));
  await look.during(`${name}: money`, () => moneyLimit(looked));
  const remains = await looked.place.remains();
  look.at(`${name}: no process is left`, remains.length === 0, remains);
}

type AttemptOptions = {
  /** What the person says. */
  answer?: (request: ApprovalRequest) => boolean;
  /** Of its entry. */
  limits?: { timeoutMs?: number; maxCostUsd?: number };
  run?: RunOptions;
};
type Tried = { result: RunResult; stage: Stage };

async function attempt(
  { mock, place, name }: Looked,
  task: string,
  turns: readonly Turn[],
  options: AttemptOptions = {},
): Promise<Tried> {
  mock.script(task, turns);
  const server = { ...place.entry(name), ...options.limits };
  const { answer } = options;
  await using stage = openStage({ mock, place, servers: { [name]: server }, ...(answer && { answer }) });
  return { stage, result: await stage.run(task, options.run).result };
}

async function editWithApproval(looked: Looked): Promise<void> {
  const { place, look, name } = looked;
  const file = join(place.cwd, `${name}-edit.txt`);
  const turns: Turn[] = [() => [delegate(name, `${WORDS.edit} ${file}`), NATIVE], "Done."];
  const { result, stage } = await attempt(looked, `${name} edits`, turns);
  const child = agentOf(result, name);
  look.at(`${name}: it edited a file after a person allowed it`, isEdited(file), [result.error, child]);
  const questions = stage.asked.map(({ path, toolName, input }) => ({ path, toolName, input }));
  const about = stage.asked.find(({ toolName, input }) => toolName !== "subagent_delegate" && isAbout(input, file));
  look.at(`${name}: the person was asked with the path and the action`, about !== undefined, questions);
  look.at(`${name}: its question is one that rules know`, !about?.toolName.startsWith("outside_"), questions);
  look.at(`${name}: the person was asked before it was started`, stage.asked[0]?.toolName === "subagent_delegate");
  const statuses = result.agents.map(({ label, status }) => `${label} ${status}`);
  const isComplete = statuses.length === 3 && statuses.every((status) => status.endsWith(" completed"));
  look.at(`${name}: a lead, a native child and ${name} completed in one tree`, isComplete, statuses);
  look.at(`${name}: its call is shown with its end`, hasCall(stage.events), externalCalls(stage.events));
  look.at(`${name}: its session was recorded before it was prompted`, isSessionFirst(stage.events));
  const billed = child?.usage.totalTokens ?? 0;
  const isBilled = REPORTED[name].length === 0 ? billed > 0 : REPORTED[name].includes(billed);
  look.at(`${name}: ${billed} tokens were billed, and the sums agree`, isBilled && sumsAgree(result), child);
}

async function refusal(looked: Looked): Promise<void> {
  const { place, look, name } = looked;
  const file = join(place.cwd, `${name}-refused.txt`);
  const answer = ({ toolName }: ApprovalRequest) => toolName === "subagent_delegate";
  const turns: Turn[] = [() => [delegate(name, `${WORDS.edit} ${file}`), NATIVE], "Done."];
  const { result, stage } = await attempt(looked, `${name} is refused`, turns, { answer });
  look.at(`${name}: what a person refused did not happen`, stage.asked.length > 1 && !existsSync(file), stage.asked);
  const child = agentOf(result, name);
  const isEnded = result.status === "completed" && child !== undefined && child.status !== "running";
  look.at(`${name}: a refusal ends nothing but the call (${child?.status})`, isEnded, [result.error, child]);
}

async function cancel(looked: Looked): Promise<void> {
  const { look, name } = looked;
  const stop = new AbortController();
  let stoppedAt = 0;
  const onEvent = (event: SousEvent) => {
    if (stop.signal.aborted || event.type !== "text-delta" || !event.path.startsWith(`lead/${name}`)) return;
    stoppedAt = performance.now();
    stop.abort();
  };
  const turns: Turn[] = [() => [delegate(name, WORDS.slow), NATIVE], "Done."];
  const run = { signal: stop.signal, onEvent };
  const { result, stage } = await attempt(looked, `${name} is cancelled`, turns, { run });
  const seconds = (performance.now() - stoppedAt) / 1000;
  const child = agentOf(result, name);
  const isCancelled = stoppedAt > 0 && result.status === "cancelled" && child?.status === "cancelled";
  look.at(`${name}: cancelled at its work (ended ${seconds.toFixed(1)} s later)`, isCancelled, [result.status, child]);
  look.at(`${name}: what a cancelled prompt used is not zero`, (child?.usage.totalTokens ?? 0) > 0, child?.usage);
  look.at(`${name}: what it had said is kept`, saidBy(stage.events).includes("word0"), saidBy(stage.events));
}

async function timeout(looked: Looked): Promise<void> {
  const { look, name } = looked;
  const turns: Turn[] = [() => [delegate(name, WORDS.slow), NATIVE], "Done."];
  const { result, stage } = await attempt(looked, `${name} is slow`, turns, {
    limits: { timeoutMs: START_MS[name] },
  });
  const child = agentOf(result, name);
  const isPrompted = stage.events.some(({ type, path }) => type === "turn-start" && path.startsWith(`lead/${name}`));
  const isOver = child?.status === "timeout" && isPrompted;
  look.at(`${name}: stopped at its work when its time was over`, isOver, [child, isPrompted]);
  const native = agentOf(result, "native")?.status;
  look.at(
    `${name}: the rest of the tree continues`,
    result.status === "completed" && native === "completed",
    result.error,
  );
}

async function followUp(looked: Looked): Promise<void> {
  const { mock, place, look, name } = looked;
  const task = `${name} is asked twice`;
  const again = `${WORDS.say} the second time to ${name}`;
  mock.script(task, [
    () => [delegate(name, `${WORDS.say} the first time to ${name}`), NATIVE],
    "Done.",
    ({ messages }) => {
      const results = messages.filter(({ role }) => role === "tool").map(({ content }) => JSON.stringify(content));
      const id = /subagent_id: (\w+)/.exec(results[0] ?? "")?.[1] ?? "unknown";
      return [{ name: "subagent_send", input: { subagent_id: id, message: again } }];
    },
    "Done again.",
  ]);
  await using stage = openStage({ mock, place, servers: { [name]: place.entry(name) } });
  const first = await stage.run(task).result;
  // It destroys a session that is loaded in the minute in which it began.
  if (name === "gemini") await nextMinute();
  const result = await stage.resume(first.runId, "And again.");
  const sessions = stage.events.flatMap((event) => (event.type === "outside-session" ? [event] : []));
  const isSame = sessions.length === 2 && sessions[0]?.sessionId === sessions[1]?.sessionId && sessions[1]?.continued;
  look.at(`${name}: a follow-up continues the same session`, isSame === true, [sessions, result.error, result.text]);
  const heard = mock.heardBy(name).findLast((texts) => texts.some((text) => text.includes(again))) ?? [];
  const times = [`${WORDS.say} the first time to ${name}`, again].map(
    (sought) => heard.filter((text) => text.includes(sought)).length,
  );
  look.at(
    `${name}: its model knows both messages, each once`,
    times.join() === "1,1",
    heard.map((text) => text.slice(0, 200)),
  );
  look.at(
    `${name}: the second answer is not the first again`,
    saidBy(stage.events) === "Hello back.",
    saidBy(stage.events),
  );
}

async function budgetHit(looked: Looked): Promise<void> {
  const { look, name } = looked;
  const run = { budget: { tokens: 20_000 } };
  const turns: Turn[] = [() => [delegate(name, WORDS.dear), NATIVE], () => [NATIVE], "Done."];
  const { result, stage } = await attempt(looked, `${name} is dear`, turns, { run });
  const child = agentOf(result, name);
  const seen = [result.status, result.stopReason, result.error, result.text, child, result.agents.length];
  if (REPORTED[name].length === 0) {
    look.at(
      `${name}: reports no tokens, and is billed for what was reserved`,
      (child?.usage.totalTokens ?? 0) > 4000,
      seen,
    );
  } else {
    const isStopped = result.status === "budget_exceeded";
    look.at(
      `${name}: over the budget of the tree nothing more is begun`,
      isStopped && result.agents.length === 3,
      seen,
    );
  }
  look.at(`${name}: the sums agree over the budget`, sumsAgree(result), seen);
  look.at(`${name}: its calls were not tool calls of ours`, !stage.events.some(isToolCallExternal), undefined);
}

async function moneyLimit(looked: Looked): Promise<void> {
  const { look, name } = looked;
  const turns: Turn[] = [() => [delegate(name, WORDS.say), NATIVE], "Done."];
  const run = { budget: { costUsd: 1 } };
  const without = await attempt(looked, `${name} has no price`, turns, { run });
  const isRefused = !without.stage.events.some(({ type }) => type === "outside-session");
  look.at(`${name}: under a limit of money it does not start without max_cost`, isRefused, without.result.agents);
  const { result } = await attempt(looked, `${name} has a price`, turns, { run, limits: { maxCostUsd: MAX_COST_USD } });
  const child = agentOf(result, name);
  const cost = child?.costUsd ?? 0;
  // Only Claude Code says what it costs; the others are billed what they may cost at most.
  const isBilled = name === "claude" ? cost > 0 && cost < MAX_COST_USD : cost === MAX_COST_USD;
  const isWithin = child?.status === "completed" && isBilled && (result.costUsd ?? 2) < 1;
  look.at(`${name}: with max_cost it runs and is billed $${cost}`, isWithin, [result.costUsd, result.error, child]);
}

function isEdited(file: string): boolean {
  return existsSync(file) && readFileSync(file, "utf8") === EDITED;
}

function isAbout(input: unknown, file: string): boolean {
  return JSON.stringify(input).includes(file);
}

function externalCalls(events: readonly SousEvent[]) {
  return events.flatMap((event) => (event.type === "outside-call" ? [event] : []));
}

/** One call that began and ended without an error. */
function hasCall(events: readonly SousEvent[]): boolean {
  const calls = externalCalls(events);
  return calls.some(
    ({ callId, phase, isError }) =>
      phase === "end" && isError !== true && calls.some((each) => each.phase === "start" && each.callId === callId),
  );
}

function isSessionFirst(events: readonly SousEvent[]): boolean {
  const session = events.findIndex(({ type }) => type === "outside-session");
  const path = events[session]?.path;
  return session >= 0 && session < events.findIndex((event) => event.type === "turn-start" && event.path === path);
}

function isToolCallExternal(event: SousEvent): boolean {
  return event.type === "tool-call-start" && event.depth > 0;
}

/** The last answer that an external agent has given. */
function saidBy(events: readonly SousEvent[]): string {
  const paths = new Set(events.filter(({ type }) => type === "outside-session").map(({ path }) => path));
  const last = events.findLast((event) => event.type === "message-end" && paths.has(event.path));
  if (last?.type !== "message-end") return "";
  return last.message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
}
