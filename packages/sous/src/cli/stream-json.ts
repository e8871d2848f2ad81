/** `stream-json`: what happens in a run, one JSON object a line; `init` first, `result` last. */

import { visibleJson } from "../core/clean-text.ts";
import type { SousEvent } from "../core/event.ts";
import type { RunResult } from "../core/runtime.ts";
import { eventJson } from "./event-json.ts";
import { resultJson, timestamp } from "./run-json.ts";

/** What the first line tells. */
export type StreamStart = {
  readonly runId: string;
  /** The path of the root: its name. */
  readonly path: string;
  readonly version: string;
  readonly model: string | null;
  readonly cwd: string;
  readonly tools: readonly string[];
  /** Named agents that can be called. */
  readonly agents: readonly string[];
};

/** Every promise resolves when the reader has taken the line: whoever waits for it holds nothing back in memory. */
export type StreamJson = {
  init(start: StreamStart): Promise<void>;
  event(event: SousEvent): Promise<void>;
  /** The last line, whether or not there was a first one. */
  result(result: RunResult): Promise<void>;
};

export function openStreamJson(write: (text: string) => Promise<void>, now: () => number): StreamJson {
  let n = 0;
  let root: Pick<StreamStart, "runId" | "path"> | undefined;
  const print = (line: Record<string, unknown>): Promise<void> => {
    n += 1;
    return write(`${visibleJson(JSON.stringify({ n, ...line }))}\n`);
  };
  /** Our own lines are the root's; before there is a run they are nobody's. */
  const head = (type: string): Record<string, unknown> => {
    const { runId = null, path = null } = root ?? {};
    return { ts: timestamp(now()), run_id: runId, agent_id: runId, parent_id: null, path, depth: 0, type };
  };
  return {
    init({ runId, path, ...facts }) {
      root = { runId, path };
      return print({ ...head("init"), schema: "sous.stream.v1", ...facts });
    },
    event: (event) => print(eventJson(event)),
    result: (result) => print({ ...head("result"), ...resultJson(result), run_id: root?.runId ?? null }),
  };
}
