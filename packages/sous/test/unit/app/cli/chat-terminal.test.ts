/** The terminal of a chat is given back as it was, once. */

import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import type { Key } from "../../../../src/app/cli/chat/keys.ts";
import { openTerminal } from "../../../../src/app/cli/chat/terminal.ts";
import { systemClock } from "../../../../src/machine/host.ts";
import { VirtualClock } from "../../../../src/testing/world.ts";

test("K1: a terminal that is given back twice is changed once, and nothing listens to it or to signals", () => {
  const modes: boolean[] = [];
  const input = Object.assign(new PassThrough(), { setRawMode: (mode: boolean) => modes.push(mode) });
  const output = new PassThrough();
  const listeners = () => [
    ...["data", "end", "error"].map((name) => input.listenerCount(name)),
    ...["resize", "error"].map((name) => output.listenerCount(name)),
    ...["exit", "SIGINT", "SIGTERM", "SIGHUP", "SIGCONT"].map((name) => process.listenerCount(name)),
  ];
  const before = listeners();
  const handlers = { onKey: () => {}, onResize: () => {}, onSuspend: () => {}, onEnd: () => {} };
  const terminal = openTerminal(input as never, output as never, systemClock, handlers);
  const opened = String(output.read());
  assert.notDeepEqual(listeners(), before);
  terminal[Symbol.dispose]();
  const closed = String(output.read());
  terminal[Symbol.dispose]();
  assert.deepEqual([opened, closed, output.read()], ["\u001b[?2004h", "\u001b[?2004l\u001b[?25h", null]);
  assert.deepEqual([modes, listeners()], [[true, false], before]);
});

test("K1: a terminal that was suspended is taken again as it was, by whatever wakes the process, once", (t) => {
  const signals: unknown[] = [];
  t.mock.method(process, "kill", (...given: unknown[]) => signals.push(given));
  const modes: boolean[] = [];
  const input = Object.assign(new PassThrough(), { setRawMode: (mode: boolean) => modes.push(mode) });
  const output = new PassThrough();
  const clock = new VirtualClock(0);
  const told: string[] = [];
  const handlers = {
    onKey: () => told.push("key"),
    onResize: () => told.push("drawn"),
    onSuspend: () => told.push("cleared"),
    onEnd: () => told.push("end"),
  };
  using _terminal = openTerminal(input as never, output as never, clock, handlers);
  const before = process.listenerCount("SIGCONT");
  for (const wake of [() => process.emit("SIGCONT"), () => clock.fireNext(() => 0)]) {
    output.read();
    modes.length = 0;
    told.length = 0;
    input.emit("data", Buffer.from("\u001a"));
    assert.deepEqual([String(output.read()), modes, told], ["\u001b[?2004l\u001b[?25h", [false], ["cleared"]]);
    wake();
    assert.deepEqual([String(output.read()), modes, told], ["\u001b[?2004h", [false, true], ["cleared", "drawn"]]);
    assert.deepEqual([process.listenerCount("SIGCONT"), clock.liveTimers], [before, 0]);
  }
  assert.deepEqual(signals, [
    [0, "SIGTSTP"],
    [0, "SIGTSTP"],
  ]);
});

test("K1: an escape byte waits for the rest of its sequence, and is a key of its own when nothing comes", () => {
  const input = Object.assign(new PassThrough(), { setRawMode: () => {} });
  const clock = new VirtualClock(0);
  const keys: Key[] = [];
  const handlers = { onKey: (key: Key) => keys.push(key), onResize: () => {}, onSuspend: () => {}, onEnd: () => {} };
  using _terminal = openTerminal(input as never, new PassThrough() as never, clock, handlers);
  const feed = (text: string): void => void input.emit("data", Buffer.from(text));
  feed("\u001b");
  assert.deepEqual([keys, clock.liveTimers], [[], 1]);
  feed("[A");
  assert.deepEqual([keys, clock.liveTimers], [[{ type: "key", name: "up" }], 0]);
  feed("\u001b");
  clock.fireNext(() => 0);
  assert.deepEqual(keys.at(-1), { type: "key", name: "escape" });
  assert.deepEqual([keys.length, clock.liveTimers, clock.monotonic()], [2, 0, 40]);
});

test("K1: a half sequence is forgotten with the terminal", () => {
  const input = Object.assign(new PassThrough(), { setRawMode: () => {} });
  const clock = new VirtualClock(0);
  const handlers = { onKey: () => assert.fail("a key"), onResize: () => {}, onSuspend: () => {}, onEnd: () => {} };
  {
    using _terminal = openTerminal(input as never, new PassThrough() as never, clock, handlers);
    input.emit("data", Buffer.from("\u001b"));
  }
  assert.equal(
    clock.fireNext(() => 0),
    false,
  );
});

test("K1: signals, the end of the input and a terminal that is gone are told apart", () => {
  const input = Object.assign(new PassThrough(), { setRawMode: () => {} });
  const output = new PassThrough();
  const told: unknown[] = [];
  const handlers = {
    onKey: (key: Key) => told.push(key),
    onResize: () => told.push("drawn"),
    onSuspend: () => {},
    onEnd: (why: string) => told.push(why),
  };
  using _terminal = openTerminal(input as never, output as never, systemClock, handlers);
  // Only its own listener hears of it: others would end this process.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.listeners(signal).at(-1)?.(signal);
  output.emit("resize");
  output.emit("error", new Error("gone"));
  input.emit("end");
  input.emit("error", new Error("gone"));
  const interrupt = { type: "key", name: "interrupt" };
  assert.deepEqual(told, [interrupt, "SIGTERM", "SIGHUP", "drawn", "SIGHUP", "end", "end"]);
});
