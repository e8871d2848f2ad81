/** Reading standard input leaves nothing behind; signals stop commands. */

import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { PassThrough, Readable } from "node:stream";
import { test } from "node:test";
import { MAX_STDIN_BYTES, readStdin } from "../../../../src/app/cli/run/request.ts";
import { catchInterrupts, openUnlessStopped } from "../../../../src/app/cli/terminal/interrupts.ts";

test("J1: the pipe of standard input is closed when it was read or refused, and nothing listens or waits any longer", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const inputs = [
    Readable.from([Buffer.from("x")]),
    Readable.from([Buffer.alloc(MAX_STDIN_BYTES + 1)]),
    Readable.from([]),
  ];
  for (const stream of inputs) {
    const { signal } = new AbortController();
    const onSilence = t.mock.fn();
    await readStdin({ signal, stream, onSilence }).catch(() => {});
    t.mock.timers.tick(60_000);
    assert.deepEqual(
      [stream.destroyed, getEventListeners(signal, "abort").length, onSilence.mock.callCount()],
      [true, 0, 0],
    );
  }
});

test("J1: standard input that stays silent is told of after three seconds, once, and is waited for all the same", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const stream = new PassThrough();
  const onSilence = t.mock.fn();
  const reading = readStdin({ signal: new AbortController().signal, stream, onSilence });
  t.mock.timers.tick(2999);
  assert.equal(onSilence.mock.callCount(), 0);
  t.mock.timers.tick(60_000);
  assert.equal(onSilence.mock.callCount(), 1);
  stream.end("at last");
  assert.equal(await reading, "at last");
});

test("R8: a command that was opened in time is no longer waited for", async () => {
  const { signal } = new AbortController();
  await using _opened = await openUnlessStopped(Promise.resolve({ [Symbol.asyncDispose]: async () => {} }), signal);
  await assert.rejects(openUnlessStopped(Promise.reject(new Error("broken")), signal), /broken/);
  assert.deepEqual(getEventListeners(signal, "abort"), []);
});

test("R8: a command that is opened after a stop is closed again, and the stop is what is told", async () => {
  const stopping = new AbortController();
  const late = Promise.withResolvers<AsyncDisposable>();
  const closed = Promise.withResolvers<string>();
  const opening = openUnlessStopped(late.promise, stopping.signal);
  stopping.abort(new Error("stopped"));
  await assert.rejects(opening, /^Error: stopped$/);
  assert.deepEqual(getEventListeners(stopping.signal, "abort"), []);
  late.resolve({ [Symbol.asyncDispose]: async () => closed.resolve("closed") });
  assert.equal(await closed.promise, "closed");
  await assert.rejects(openUnlessStopped(new Promise<AsyncDisposable>(() => {}), stopping.signal), /stopped/);
});

test("R8: each signal has its exit code and its name; with last words the first interrupt only asks for an end", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    const before = process.listenerCount(name);
    using interrupts = catchInterrupts();
    assert.deepEqual([interrupts.signal.aborted, interrupts.reason(), interrupts.exitCode()], [false, undefined, 130]);
    process.emit(name);
    assert.deepEqual([interrupts.signal.aborted, interrupts.wrapUp.aborted], [true, false]);
    assert.deepEqual([interrupts.reason(), interrupts.exitCode()], [name, CODES[name]]);
    assert.equal(process.listenerCount(name), before, "the next signal has its usual effect");
    interrupts.stop(1, "late");
    assert.deepEqual([interrupts.reason(), interrupts.exitCode()], [name, CODES[name]]);
  }
  const states = ({ wrapUp, signal }: ReturnType<typeof catchInterrupts>) => [wrapUp.aborted, signal.aborted];
  {
    using twice = catchInterrupts({ wrapsUp: true });
    process.emit("SIGINT");
    assert.deepEqual(states(twice), [true, false]);
    process.emit("SIGINT");
    assert.deepEqual(states(twice), [true, true]);
  }
  {
    using waited = catchInterrupts({ wrapsUp: true, earlier: () => ["SIGINT"] });
    assert.deepEqual(states(waited), [true, false]);
    t.mock.timers.tick(4999);
    assert.deepEqual(states(waited), [true, false]);
    t.mock.timers.tick(1);
    assert.deepEqual(states(waited), [true, true]);
  }
  {
    using ended = catchInterrupts({ wrapsUp: true });
    process.emit("SIGTERM");
    assert.deepEqual([...states(ended), ended.exitCode()], [false, true, 143]);
  }
  const before = process.listenerCount("SIGINT");
  const forgotten = catchInterrupts({ wrapsUp: true, earlier: () => ["SIGINT"] });
  forgotten[Symbol.dispose]();
  t.mock.timers.tick(60_000);
  assert.deepEqual([...states(forgotten), process.listenerCount("SIGINT")], [true, false, before]);
  using stopped = catchInterrupts();
  stopped.stop(4, "the pipe is closed");
  assert.deepEqual([stopped.signal.aborted, stopped.exitCode(), stopped.reason()], [true, 4, "the pipe is closed"]);
});
