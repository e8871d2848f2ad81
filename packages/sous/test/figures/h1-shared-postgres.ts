/**
 * H1 on a real Postgres server: what a shared budget costs in time beside the same tree without one, whether a wide tree on a
 * small pool holds, and whether a tree that drew on a shared budget runs again the same.
 */

import { setTimeout as pause } from "node:timers/promises";
import { agent } from "../../src/core/agent.ts";
import { messageOf } from "../../src/core/errors.ts";
import type { Model } from "../../src/core/model.ts";
import { noUsage } from "../../src/core/usage.ts";
import { rerun } from "../../src/rerun.ts";
import { createRuntime } from "../../src/runtime.ts";
import { openPostgresStore, type PostgresStore } from "../../src/storage/store/postgres/store.ts";
import { startPostgresServer } from "../support/storage/store/postgres-server.ts";
import { opened } from "../support/storage/store/shared-budget/opened.ts";
import { median } from "./median.ts";

export type SharedPostgresFigures = {
  children: number;
  /** Of the median times with and without a shared budget. */
  ratio: number;
  /** Steps of the shared budget for each model call, over all rounds. */
  stepsPerCall: number;
  /** Children of a wide tree on a small pool that did not complete. */
  notCompleted: number;
  reruns: number;
  /** The first difference of each rerun that has one. */
  different: string[];
};

export type SharedPostgresOptions = {
  children: number;
  rounds: number;
  /** Children of the wide tree on a pool of 8. */
  wide: number;
  reruns: number;
};

const CALLS_AT_ONCE = 50;

export async function measureSharedPostgres(options: SharedPostgresOptions): Promise<SharedPostgresFigures> {
  const { children, rounds, wide, reruns } = options;
  await using server = await startPostgresServer();
  const connectionString = server.connectionString();
  await using store = await openPostgresStore({ connectionString, maxConnections: 8 });
  const figures = { children, ratio: 0, stepsPerCall: 0, notCompleted: 0, reruns, different: [] as string[] };
  if (rounds > 0) Object.assign(figures, await compare(store, children, rounds));
  if (wide > 0) figures.notCompleted = wide - (await completedOf(store, wide, "wide"));
  for (let each = 0; each < reruns; each++) {
    const difference = await rerunOnce(store, each).catch((error: unknown) => messageOf(error));
    if (difference !== undefined) figures.different.push(difference);
  }
  return figures;
}

/** Interleaved rounds, so that other work on the machine slows both. */
async function compare(store: PostgresStore, children: number, rounds: number) {
  const times = { alone: [] as number[], shared: [] as number[] };
  let steps = 0;
  let calls = 0;
  for (let round = 0; round <= rounds; round++) {
    for (const kind of ["alone", "shared"] as const) {
      const startedAt = performance.now();
      const counted = await fanOut(store, children, kind === "shared" ? `round ${round}` : undefined);
      // The first round of each warms up.
      if (round === 0) continue;
      times[kind].push(performance.now() - startedAt);
      steps += counted.steps;
      calls += kind === "shared" ? counted.calls : 0;
    }
  }
  return { ratio: round2(median(times.shared) / median(times.alone)), stepsPerCall: round2(steps / calls) };
}

async function completedOf(store: PostgresStore, children: number, name: string): Promise<number> {
  return (await fanOut(store, children, name)).completed;
}

async function fanOut(store: PostgresStore, children: number, name: string | undefined) {
  const counted = { steps: 0, calls: 0, completed: 0 };
  const from = name === undefined ? undefined : opened(await store.sharedBudget(name, { tokens: children * 20_000 }));
  const counting = from && {
    ...from,
    rows: {
      ...from.rows,
      step: (step: Parameters<typeof from.rows.step>[0]) => {
        counted.steps += 1;
        return from.rows.step(step);
      },
    },
  };
  const scout = agent({ name: "scout", model: slowModel(counted), instructions: "Look." });
  const runtime = createRuntime({ store, maxConcurrentCalls: CALLS_AT_ONCE, limits: { maxConcurrent: CALLS_AT_ONCE } });
  const inputs = Array.from({ length: children }, (_, index) => `Look at ${index}.`);
  const results = await runtime.fanOut(scout, inputs, { budget: { from: counting } });
  counted.completed = results.filter(({ status }) => status === "completed").length;
  return counted;
}

/** Answers with a call of a tool four times, then with words; each takes 250 to 350 ms, in no step with the others. */
function slowModel(counted: { calls: number }): Model {
  return {
    id: "test/slow",
    async answer({ caller, mayCallTools }) {
      counted.calls += 1;
      await pause(250 + ((counted.calls * 37) % 100));
      const usage = { ...noUsage(), inputTokens: 300, outputTokens: 50, totalTokens: 350 };
      const isMore = mayCallTools && caller.turn <= 4;
      const call = { type: "tool-call", callId: `${caller.path} ${caller.turn}`, toolName: "look", input: {} } as const;
      const text = { type: "text", text: "Done." } as const;
      return {
        message: { role: "assistant", content: isMore ? [call] : [text] },
        finish: isMore ? "tool-calls" : "stop",
        usage,
      };
    },
  };
}

/** Undefined when a tree of children that start at once runs again the same. */
async function rerunOnce(store: PostgresStore, each: number): Promise<string | undefined> {
  const from = await store.sharedBudget(`rerun ${each}`, { tokens: 60_000 });
  const runtime = createRuntime({ store, limits: { maxConcurrent: 5 } });
  const lead = agent({ name: "lead", model: delegatingModel(), instructions: "Lead.", delegate: true });
  const { runId } = await runtime.run(lead, "Go.", { budget: { from } });
  // By turns from the definitions and from the recording alone.
  const { matches, firstDifference } = await rerun(runId, { store, ...(each % 2 === 0 ? { agents: [lead] } : {}) });
  return matches ? undefined : `tree ${each}: ${JSON.stringify(firstDifference)}`;
}

/** The lead starts six children with one label in one turn; they take different times. */
function delegatingModel(): Model {
  return {
    id: "test/delegating",
    async answer({ caller }) {
      await pause(caller.depth === 0 ? 1 : Math.random() * 20);
      const usage = { ...noUsage(), inputTokens: 300, outputTokens: 50, totalTokens: 350 };
      const isFirst = caller.depth === 0 && caller.turn === 1;
      const children = Array.from({ length: 6 }, (_, index) => {
        const input = { label: "scout", task_prompt: `task ${index}` };
        return { type: "tool-call", callId: `call-${index}`, toolName: "subagent", input } as const;
      });
      const text = { type: "text", text: "Done." } as const;
      return {
        message: { role: "assistant", content: isFirst ? children : [text] },
        finish: isFirst ? "tool-calls" : "stop",
        usage,
      };
    },
  };
}

function round2(number: number): number {
  return Math.round(number * 100) / 100;
}
