/** Tallies of a made-up month, always the same: what the tests of `sous stats` count. */

import type { RefusalTally, RunTally } from "../../../../src/core/totals.ts";
import { noUsage } from "../../../../src/core/usage.ts";

export const DAY_MS = 86_400_000;
export const FIRST_DAY = Date.UTC(2026, 9, 20, 23, 30);

export function runTally(more: Partial<RunTally> = {}): RunTally {
  return {
    kind: "run",
    agent: "scout",
    model: "anthropic/claude-haiku-4-5",
    depth: 1,
    startedAt: FIRST_DAY,
    turns: 2,
    usage: tokens(1000, 50),
    costUsd: 0.01,
    status: "completed",
    errorType: undefined,
    durationMs: 1500,
    project: "/home/kim/shop",
    ...more,
  };
}

export function refusal(more: Partial<RefusalTally> = {}): RefusalTally {
  return {
    kind: "refusal",
    depth: 4,
    errorType: "depth_limit",
    startedAt: FIRST_DAY,
    project: "/home/kim/shop",
    ...more,
  };
}

export function tokens(inputTokens: number, outputTokens: number): RunTally["usage"] {
  return { ...noUsage(), inputTokens, outputTokens, totalTokens: inputTokens + outputTokens };
}

/** Agents, models, folders and days of many kinds, and every ending. */
export function sampleMonth(): (RunTally | RefusalTally)[] {
  const tallies: (RunTally | RefusalTally)[] = [];
  for (let index = 0; index < 240; index++) {
    const endings = ENDINGS[index % ENDINGS.length];
    const ending: Partial<RunTally> = index % 5 === 0 ? { ...endings } : {};
    tallies.push(
      runTally({
        agent: AGENTS[(index * 7) % AGENTS.length] ?? "",
        model: MODELS[index % MODELS.length] ?? "",
        project: PROJECTS[(index * 3) % PROJECTS.length],
        depth: index % 4,
        // Some days have no runs.
        startedAt: FIRST_DAY + Math.floor(index / 17) * 2 * DAY_MS,
        usage: tokens(1000 + index * 37, 100 + index),
        costUsd: index % MODELS.length === 2 ? null : 0.013 * (1 + (index % 9)),
        ...ending,
      }),
    );
  }
  return [...tallies, refusal(), refusal(), refusal({ errorType: "quota", project: undefined })];
}

const AGENTS = Array.from({ length: 13 }, (_, index) => (index === 0 ? "lead" : `scout-${index}`));
const MODELS = ["anthropic/claude-sonnet-4-5", "anthropic/claude-haiku-4-5", "local/llama-at-home"];
const PROJECTS = [
  "/home/kim/shop",
  "/home/kim/a/very/long/path/to/a/project/that/has/many/folders/above/it/payments",
  "/srv/漢字かな",
  undefined,
];
const ENDINGS: readonly Partial<RunTally>[] = [
  { status: "failed", errorType: "model" },
  { status: "incomplete" },
  { status: "cancelled", errorType: "cancelled" },
  { status: "budget_exceeded", errorType: "quota" },
  { status: "timeout", errorType: "timeout" },
  { status: "refused", errorType: "refused" },
  { status: "interrupted" },
];
