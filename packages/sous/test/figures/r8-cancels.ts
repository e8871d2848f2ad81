/**
 * R8: a run is cancelled in every state it can be in. Soon after that no model is asked any more, and two seconds later
 * nothing runs that it has started, also when a program refuses to be asked.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { openPrograms } from "../../src/app/process/programs.ts";
import { terminalTool } from "../../src/app/tools/terminal.ts";
import { agent } from "../../src/core/agent.ts";
import type { Random } from "../../src/core/clock.ts";
import { createRuntime } from "../../src/runtime.ts";
import { scriptedModel } from "../../src/testing/scripted-model.ts";
import { calls, fails, hangs, type Script, says, streams } from "../../src/testing/steps.ts";
import { between, chance, seededRandom } from "../../src/testing/world.ts";
import { ProcessJudge } from "./process-judge.ts";

export type CancelFigure = {
  seed: number;
  trials: number;
  /** Trials in which programs were running when the run was cancelled. */
  withPrograms: number;
  /** From the cancel to the last question to a model after it; 0 when there was none. */
  lastRequestP99: number;
  slowestEndMilliseconds: number;
  /** Everything that was not as it must be. */
  broken: { trial: number; state: string; problem: string }[];
  milliseconds: number;
};

export type CancelOptions = { seed: number; trials: number; lanes?: number; openPrograms?: typeof openPrograms };

type State = {
  name: string;
  script: Script;
  isReady?: (events: readonly string[]) => boolean;
  approvals?: boolean;
  inBackground?: boolean;
};

const IGNORES = "trap '' TERM INT HUP; while :; do sleep 0.1; done";
const run = (command: string, background = false) => calls("terminal", { command, background });
const started = (events: readonly string[]) => events.includes("tool-call-start");

const STATES: readonly State[] = [
  { name: "before its first question", script: { lead: [hangs()] }, isReady: () => true },
  { name: "waiting for a model", script: { lead: [hangs()] } },
  { name: "in the middle of an answer", script: { lead: [[streams("One", "two"), hangs()]] } },
  { name: "waiting to ask again", script: { "**": Array.from({ length: 20 }, () => fails("overloaded")) } },
  { name: "in a program that ends when asked", script: { lead: [run("sleep 300"), says("Done.")] }, isReady: started },
  { name: "in a program that does not", script: { lead: [run(IGNORES), says("Done.")] }, isReady: started },
  {
    name: "in several programs",
    script: { lead: [[run("sleep 300 & sleep 300"), run(IGNORES), run("setsid sleep 300 & wait")], says("Done.")] },
    isReady: started,
  },
  {
    name: "with programs in the background",
    inBackground: true,
    script: { lead: [[run("sleep 300", true), run(IGNORES, true)], hangs()] },
    isReady: (events) => events.filter((type) => type === "tool-call-end").length === 2,
  },
  { name: "while a person is asked", script: { lead: [run("sleep 300"), says("Done.")] }, approvals: false },
  {
    name: "in the programs of its children",
    script: {
      lead: [
        calls("parallel_subagent", { tasks: ["a", "b", "c"].map((label) => ({ task_prompt: `Do ${label}.`, label })) }),
        says("Done."),
      ],
      "lead/*": [run(IGNORES), says("Done.")],
    },
    isReady: (events) => events.filter((type) => type === "tool-call-start").length >= 2,
  },
  {
    name: "between short programs",
    script: { "**": Array.from({ length: 60 }, () => run("true")) },
    isReady: started,
  },
];

export async function runCancels(options: CancelOptions): Promise<CancelFigure> {
  const { seed, trials, lanes = 4 } = options;
  const startedAt = performance.now();
  const figure: CancelFigure = {
    seed,
    trials: 0,
    withPrograms: 0,
    lastRequestP99: 0,
    slowestEndMilliseconds: 0,
    broken: [],
    milliseconds: 0,
  };
  const lastRequests: number[] = [];
  let next = 0;
  const work = async () => {
    while (next < trials) {
      const trial = next++;
      lastRequests.push(await cancelOnce(seededRandom(seed, `trial ${trial}`), trial, options, figure));
    }
  };
  await Promise.all(Array.from({ length: lanes }, work));
  lastRequests.sort((a, b) => a - b);
  figure.lastRequestP99 = Math.round(lastRequests[Math.ceil(lastRequests.length * 0.99) - 1] ?? 0);
  figure.slowestEndMilliseconds = Math.round(figure.slowestEndMilliseconds);
  figure.milliseconds = Math.round(performance.now() - startedAt);
  return figure;
}

/** How long after the cancel the last model was asked. */
async function cancelOnce(
  random: Random,
  trial: number,
  options: CancelOptions,
  figure: CancelFigure,
): Promise<number> {
  // Every state in turn, so that few trials show all of them.
  const state = STATES[trial % STATES.length] ?? STATES[0];
  if (state === undefined) throw new Error("There is no state to cancel in");
  const judge = new ProcessJudge();
  const folder = mkdtempSync(join(tmpdir(), "sous-r8-"));
  const environment = { ...process.env, ...judge.environment };
  const programs = (options.openPrograms ?? openPrograms)({ environment });
  let cancelledAt = Number.POSITIVE_INFINITY;
  let lastRequest = 0;
  const onRequest = () => {
    lastRequest = Math.max(lastRequest, performance.now() - cancelledAt);
  };
  const model = scriptedModel(state.script, { onRequest });
  const never = () => new Promise<never>(() => {});
  const runtime = createRuntime({
    approve: state.approvals === false ? never : () => ({ allow: true }),
    host: { cwd: folder },
  });
  const controller = new AbortController();
  const events: string[] = [];
  const lead = agent({ name: "lead", model, delegate: true, tools: [terminalTool({ programs, timeoutMs: 60_000 })] });
  const ready = Promise.withResolvers<void>();
  const isReady = state.isReady ?? ((types) => types.length > 1);
  const handle = runtime.run(lead, "Work.", {
    signal: controller.signal,
    onEvent({ type }) {
      events.push(type);
      if (isReady(events)) ready.resolve();
    },
  });
  if (isReady(events)) ready.resolve();
  const result = handle.catch((error: unknown) => ({ status: `rejected: ${error}` }));
  await ready.promise;
  const hasPrograms = () => judge.left().some(({ pid, group }) => pid === group);
  const mayWait = state.inBackground === true || (state.isReady === started && state.approvals !== false);
  // In every other round the programs are there for certain, however busy the machine is; the others may be about to start.
  if (mayWait && Math.floor(trial / STATES.length) % 2 === 0) await atMost(60_000, hasPrograms);
  await pause(between(random, 0, 150));
  figure.withPrograms += hasPrograms() ? 1 : 0;
  cancelledAt = performance.now();
  if (chance(random, 0.5)) handle.cancel();
  else controller.abort(new Error("enough"));
  // Half of them as a command does it on a signal: everything at once. The others as a chat, which goes on: only the run is
  // cancelled, and what it had in the foreground must end by that alone.
  const goesOn = state.inBackground !== true && chance(random, 0.5);
  if (!goesOn) void programs[Symbol.asyncDispose]();
  const gone = judge.untilGone(2_000, goesOn);
  const { status } = await result;
  figure.slowestEndMilliseconds = Math.max(figure.slowestEndMilliseconds, performance.now() - cancelledAt);
  const { left } = await gone;
  await programs[Symbol.asyncDispose]();
  figure.trials += 1;
  if (status !== "cancelled") figure.broken.push({ trial, state: state.name, problem: `It ended as ${status}` });
  if (left.length > 0) figure.broken.push({ trial, state: state.name, problem: `Still there: ${left.join("; ")}` });
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  return lastRequest;
}

async function atMost(milliseconds: number, isSo: () => boolean): Promise<void> {
  for (const until = performance.now() + milliseconds; !isSo() && performance.now() < until; ) await pause(25);
}
