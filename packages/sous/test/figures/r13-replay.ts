/** R13: long runs are kept in a database, and run again by another process that has no network: the same stream, no call. */

import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { StoredEvent } from "../../src/core/event.ts";
import { NO_OWNER } from "../../src/core/store.ts";
import { openSqliteStore } from "../../src/storage/store/sqlite/store.ts";
import { recordTree } from "./r13-tree.ts";

/** What the other process is told to do. */
export type OfflineOrder = {
  file: string;
  /** The recorded trees; each is run again from the real definitions, and from nothing but the recording. */
  runIds: readonly string[];
};

export type OfflineResult = {
  reruns: {
    runId: string;
    from: "definitions" | "recording";
    matches: boolean;
    firstDifference: string | undefined;
    milliseconds: number;
    /** Attempts to reach the network, and packages of providers that were loaded. */
    reached: string[];
    loaded: string[];
  }[];
  /** What is noticed when the process does reach for the network, after all reruns. */
  control: string[];
};

export type ReplayFigure = {
  seed: number;
  events: number;
  runs: number;
  /** How often each kind of event occurs. */
  kinds: Record<string, number>;
  reruns: number;
  /** The first difference of each rerun that has one, with its seed. */
  different: string[];
  networkCalls: number;
  providersLoaded: number;
  milliseconds: number;
};

/** Each tree that is recorded has at least so many events. */
export type ReplayedTree = { readonly seed: number; readonly events: number };

/** One figure for each tree, and what is noticed of a process that does reach for the network. */
export async function runReplays(
  trees: readonly ReplayedTree[],
): Promise<{ figures: ReplayFigure[]; control: string[] }> {
  const recordings: (readonly StoredEvent[])[] = [];
  for (const { seed, events } of trees) recordings.push(await recordTree(seed, events));
  const { reruns, control } = await rerunOffline(recordings);
  const figures = trees.map(({ seed }, index) => {
    const recorded = recordings[index] ?? [];
    const own = reruns.filter(({ runId }) => runId === recorded[0]?.runId);
    const figure: ReplayFigure = {
      seed,
      events: recorded.length,
      runs: recorded.filter(({ type }) => type === "run-start").length,
      kinds: {},
      reruns: own.length,
      different: [],
      networkCalls: own.flatMap(({ reached }) => reached).length,
      providersLoaded: own.flatMap(({ loaded }) => loaded).length,
      milliseconds: own.reduce((sum, { milliseconds }) => sum + milliseconds, 0),
    };
    for (const { type } of recorded) figure.kinds[type] = (figure.kinds[type] ?? 0) + 1;
    for (const { from, matches, firstDifference } of own)
      if (!matches) figure.different.push(`seed ${seed}, from the ${from}: ${firstDifference}`);
    return figure;
  });
  return { figures, control };
}

/** Keeps the events in a database and has them run again by a process without network. */
async function rerunOffline(recordings: readonly (readonly StoredEvent[])[]): Promise<OfflineResult> {
  const folder = mkdtempSync(join(tmpdir(), "sous-r13-"));
  try {
    const file = join(folder, "runs.db");
    const runIds = recordings.map(([first]) => first?.runId ?? "");
    if (new Set(runIds).size < runIds.length) throw new Error("Two recordings are one tree");
    {
      await using store = await openSqliteStore(file);
      for (const recorded of recordings) await store.append(recorded[0]?.runId ?? "", recorded, NO_OWNER);
    }
    const order: OfflineOrder = { file, runIds };
    const program = new URL("r13-worker.ts", import.meta.url).pathname;
    const parameters = ["--conditions=sous-source", program, JSON.stringify(order)];
    const env = { ...process.env, NODE_OPTIONS: "", NODE_V8_COVERAGE: "" };
    const { stdout } = await promisify(execFile)(process.execPath, parameters, { env, maxBuffer: 2 ** 26 });
    return JSON.parse(stdout) as OfflineResult;
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
