/**
 * D5: `kill -9` in the middle of a delegation. A process hands a task to an agent in another process and dies at a place; another
 * one continues its run. No prompt is sent twice, no process is left, and the sums agree.
 */

import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Usage } from "../../src/core/usage.ts";
import { openSqliteStore } from "../../src/storage/store/sqlite/store.ts";
import { checkHistory } from "../../src/testing/checker.ts";
import type { Mutation } from "../support/mutation.ts";
import type { DelegateOrder } from "./external-kill-worker.ts";
import { bundleWorker, Crew } from "./kill-process.ts";

export type ExternalKillFigure = {
  /** Places at which the process died. */
  places: number[];
  /** Of a delegation that nothing interrupts. */
  placesInAll: number;
  /** Resumed runs in which the agent was told that it was interrupted. */
  interruptions: number;
  broken: string[];
  milliseconds: number;
};

type WorkerResult = { status: string; text: string; usage: Usage; places: number };

/** How long what was started may outlive its starter. */
const MAX_LEFT_MS = 5000;
const INTERRUPTED = /^You were interrupted/;

export async function runExternalKills(options: {
  kills: number;
  mutation?: Mutation | undefined;
}): Promise<ExternalKillFigure> {
  const startedAt = performance.now();
  const worker = await bundleWorker("external-kill-worker.ts", options.mutation);
  const agentProgram = await bundleWorker("external-agent-worker.ts");
  const figure: ExternalKillFigure = { places: [], placesInAll: 0, interruptions: 0, broken: [], milliseconds: 0 };
  await using crew = new Crew(worker);
  const whole = await trial(crew, { agentProgram }, figure);
  figure.placesInAll = whole?.places ?? 0;
  for (let kill = 0; kill < options.kills; kill++) {
    const place = 1 + Math.floor((kill * figure.placesInAll) / options.kills);
    if ((await trial(crew, { agentProgram, place }, figure)) === undefined) figure.places.push(place);
  }
  figure.milliseconds = Math.round(performance.now() - startedAt);
  return figure;
}

/** The result when the first process came to its end. */
async function trial(
  crew: Crew,
  order: Omit<DelegateOrder, "folder">,
  figure: ExternalKillFigure,
): Promise<WorkerResult | undefined> {
  const folder = mkdtempSync(join(tmpdir(), "sous-external-"));
  const problem = (text: string) => void figure.broken.push(`place ${order.place}: ${text}`);
  try {
    const first = await live(crew, { ...order, folder });
    await untilGone(folder, problem);
    let last = first;
    if (first.result === undefined && first.signal === "SIGKILL" && first.runId !== undefined)
      last = await live(crew, { ...order, folder, place: undefined, runId: first.runId });
    await untilGone(folder, problem);
    // Nothing had been stored yet: there is nothing to continue.
    if (last.fault?.includes("no run") === true) return undefined;
    // It died after its end was stored.
    const isOver = last.fault?.includes("has completed") === true;
    if (last.result === undefined && !isOver) {
      problem(`no result: ${last.fault ?? last.signal}`);
      return undefined;
    }
    const result = last.result === undefined ? undefined : (JSON.parse(last.result) as WorkerResult);
    await judge(folder, first.runId ?? "", result, { problem, figure });
    return last === first ? result : undefined;
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function live(crew: Crew, order: DelegateOrder) {
  const process = await crew.take();
  process.give(order);
  return await process.ended;
}

async function judge(
  folder: string,
  runId: string,
  result: WorkerResult | undefined,
  { problem, figure }: { problem(text: string): void; figure: ExternalKillFigure },
): Promise<void> {
  if (result !== undefined && result.status !== "completed") problem(`ended as ${result.status}`);
  const texts = linesOf(folder, "prompts.log").map((line) => (JSON.parse(line) as { text: string }).text);
  const tasks = texts.filter((text) => !INTERRUPTED.test(text));
  if (texts.length > tasks.length) figure.interruptions += 1;
  if (new Set(tasks).size < tasks.length) problem(`sent twice: ${tasks.join(" | ")}`);
  const deeds = linesOf(folder, "deeds.log").filter((line) => !INTERRUPTED.test(JSON.parse(line) as string));
  if (new Set(deeds).size < deeds.length) problem(`done twice: ${deeds.join(" | ")}`);
  // Without an interruption both tasks are done, and after one at least the second.
  if (deeds.length < (texts.length > tasks.length ? 1 : 2)) problem(`not done: ${deeds.join(" | ")}`);
  await using store = await openSqliteStore(join(folder, "runs.db"));
  const events = await store.read(runId);
  for (const event of events)
    if (event.type === "run-end" && event.status !== "completed") problem(`${event.path} ended as ${event.status}`);
  for (const fault of checkHistory(events, result === undefined ? {} : { resultUsage: result.usage })) problem(fault);
}

function linesOf(folder: string, name: string): string[] {
  try {
    return readFileSync(join(folder, name), "utf8").split("\n").filter(Boolean);
  } catch {
    return [];
  }
}

/** No process names the folder: the agents have it as their argument. */
async function untilGone(folder: string, problem: (text: string) => void): Promise<void> {
  const until = performance.now() + MAX_LEFT_MS;
  let left = namingIt(folder);
  while (left.length > 0 && performance.now() < until) {
    await pause(20);
    left = namingIt(folder);
  }
  if (left.length > 0) problem(`left: ${left.join(", ")}`);
}

function namingIt(folder: string): string[] {
  return readdirSync("/proc").flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
      return command.includes(folder) ? [`${pid} ${command}`] : [];
    } catch {
      return [];
    }
  });
}
