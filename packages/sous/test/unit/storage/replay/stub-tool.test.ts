/** The stubs of tools in a rerun: a call ends when its recorded one did, and not before what it had waited for. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { StoredEvent } from "../../../../src/core/event.ts";
import { type ToolContext, tool } from "../../../../src/core/tool.ts";
import type { Playback } from "../../../../src/storage/replay/playback.ts";
import { stubTool } from "../../../../src/storage/replay/stub-tool.ts";
import { ticks } from "../../runtime/events/journal-fixtures.ts";

const SOURCE = tool({ name: "look", description: "Looks.", inputSchema: { type: "object" }, execute: () => "seen" });

/** One call, recorded with this result; `turns` are the steps that the rerun is asked for, in order. */
function recordedCall(result: { output: string; isError: boolean }, children: readonly object[] = []) {
  const end = { type: "tool-call-end", callId: "1", toolName: "look", seq: 9, ...result };
  const run = {
    children,
    events: [end],
    end: undefined,
    results: new Map([["1", end]]),
    asked: new Map(),
    toolAsked: new Map(),
  };
  const turns: { event: StoredEvent | undefined; come(): void }[] = [];
  const conductor = {
    turn(event: StoredEvent | undefined, signal: AbortSignal | undefined) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
      turns.push({ event, come: resolve });
      return promise;
    },
  };
  const same = (id: unknown) => id;
  const playback = {
    conductor,
    ids: { toRecorded: same, toActual: same },
    runOf: () => run,
    startedAtOnce: () => true,
    respawned: new WeakSet(),
  };
  return { stub: stubTool(SOURCE, playback as object as Playback), turns, end };
}

/** Notes how a call has ended, once it has. */
function ending(work: unknown): { said: string | undefined } {
  const noted: { said: string | undefined } = { said: undefined };
  Promise.resolve(work).then(
    (value) => {
      noted.said = JSON.stringify(value);
    },
    (error: Error) => {
      noted.said = error.message;
    },
  );
  return noted;
}

test("a call that was stopped ends where the recorded one did, and not at once", async () => {
  const { stub, turns, end } = recordedCall({ output: "The call was cancelled", isError: true });
  const stop = new AbortController();
  const context = { runId: "lead", callId: "1", signal: stop.signal } as ToolContext;
  const call = ending(stub.execute({}, context));
  stop.abort(new Error("stopped"));
  await ticks();
  assert.deepEqual([call.said, turns.map(({ event }) => event)], [undefined, [undefined, end]]);
  turns.at(-1)?.come();
  await ticks();
  assert.equal(call.said, "stopped");
});

test("a call that had waited for its child does not end before that child in the rerun", async () => {
  const child = {
    runId: "kid",
    start: { agentId: "kid", agent: "kid", label: "kid", task: { role: "user", content: [] }, call: { callId: "1" } },
    end: { seq: 8 },
  };
  const { stub, turns } = recordedCall({ output: "seen", isError: false }, [
    { ...child, start: { ...child.start, rights: { spawn: true, use: [] } } },
  ]);
  const spawned = Promise.withResolvers<void>();
  const context = { runId: "lead", callId: "1", signal: AbortSignal.any([]), spawn: () => spawned.promise };
  const call = ending(stub.execute({}, context as object as ToolContext));
  await ticks();
  assert.deepEqual([call.said, turns.length], [undefined, 0]);
  spawned.resolve();
  await ticks();
  assert.equal(turns.length, 1);
  turns[0]?.come();
  await ticks();
  assert.match(call.said ?? "", /"output":"seen"/);
});
