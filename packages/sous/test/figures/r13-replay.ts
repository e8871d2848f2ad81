/** R13: long runs are kept in a database, and run again by another process that has no network: the same stream, no call. */

import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { StoredEvent } from "../../src/core/event.ts";
import { NO_OWNER } from "../../src/core/store.ts";
import { openSqliteStore } from "../../src/store/sqlite/store.ts";
import { recordTree } from "./r13-tree.ts";

/** What the other process is told to do. */
export type OfflineOrder = {
  file: string;
  runId: string;
  /** The real definitions, or nothing but the recording; one rerun for each. */
  from: readonly ("definitions" | "recording")[];
  /** Reaches for the network, to show that it would be noticed. */
  reach?: boolean;
};

export type OfflineResult = {
  reruns: {
    from: OfflineOrder["from"][number];
    matches: boolean;
    firstDifference: string | undefined;
    events: number;
    milliseconds: number;
  }[];
  /** Attempts to reach the network, and packages of providers that were loaded. */
  reached: string[];
  loaded: string[];
};

export type ReplayFigure = {
  seed: number;
  /** Of the longest recording. */
  events: number;
  runs: number;
  /** How often each kind of event occurs in all recordings. */
  kinds: Record<string, number>;
  reruns: number;
  /** The first difference of each rerun that has one, with its seed. */
  different: string[];
  networkCalls: number;
  providersLoaded: number;
  milliseconds: number;
};

/** Runs the trees of the seeds `seed`, `seed + 1`, … again, from their definitions and from the recording alone. */
export async function runReplays(given: { seed: number; trees: number; events: number }): Promise<ReplayFigure> {
  const { seed, trees, events } = given;
  const figure: ReplayFigure = {
    seed,
    events: 0,
    runs: 0,
    kinds: {},
    reruns: 0,
    different: [],
    networkCalls: 0,
    providersLoaded: 0,
    milliseconds: 0,
  };
  for (let each = seed; each < seed + trees; each++) {
    const recorded = await recordTree(each, events);
    figure.events = Math.max(figure.events, recorded.length);
    for (const { type } of recorded) figure.kinds[type] = (figure.kinds[type] ?? 0) + 1;
    figure.runs += recorded.filter(({ type }) => type === "run-start").length;
    const { reruns, reached, loaded } = await rerunOffline(recorded, { from: ["definitions", "recording"] });
    figure.networkCalls += reached.length;
    figure.providersLoaded += loaded.length;
    for (const { from, matches, firstDifference, milliseconds } of reruns) {
      figure.reruns += 1;
      figure.milliseconds += milliseconds;
      if (!matches) figure.different.push(`seed ${each}, from the ${from}: ${firstDifference}`);
    }
  }
  return figure;
}

/** Keeps the events in a database and has them run again by a process without network. */
export async function rerunOffline(
  recorded: readonly StoredEvent[],
  { from, reach = false }: Pick<OfflineOrder, "from" | "reach">,
): Promise<OfflineResult> {
  const folder = mkdtempSync(join(tmpdir(), "sous-r13-"));
  try {
    const file = join(folder, "runs.db");
    const runId = recorded[0]?.runId ?? "";
    {
      await using store = await openSqliteStore(file);
      await store.append(runId, recorded, NO_OWNER);
    }
    const order: OfflineOrder = { file, runId, from, reach };
    const program = new URL("r13-worker.ts", import.meta.url).pathname;
    const parameters = ["--conditions=sous-source", program, JSON.stringify(order)];
    const env = { ...process.env, NODE_OPTIONS: "", NODE_V8_COVERAGE: "" };
    const { stdout } = await promisify(execFile)(process.execPath, parameters, { env, maxBuffer: 2 ** 26 });
    return JSON.parse(stdout) as OfflineResult;
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
