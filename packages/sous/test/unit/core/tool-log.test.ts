/** The log of the tools of a run, without pictures. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { FilePart } from "../../../src/core/message.ts";
import { type ToolLogEntry, toLogEntry } from "../../../src/core/tool-log.ts";

const call = { type: "tool-call", callId: "1", toolName: "look", input: { at: 1 } } as const;
const result = { type: "tool-result", callId: "1", toolName: "look", output: "A view.", isError: false } as const;
const nothing = { displayName: undefined, counts: undefined };
const entry = { toolName: "look", input: { at: 1 }, output: "A view.", success: true, durationMs: 7, ...nothing };

test("C4: each entry has its own call, its time and whether it was denied, behind what was done before a restart", () => {
  const earlier = { ...entry, output: "Before.", isDenied: false };
  const known = { displayName: "Look around", counts: { lines: 3 } };
  const log: ToolLogEntry[] = [earlier];
  const second = { ...call, callId: "2", input: {} };
  log.push(
    toLogEntry(call, { ...result, output: "No.", isError: true }, { durationMs: 0, isDenied: true, ...nothing }),
    toLogEntry(second, { ...result, callId: "2" }, { durationMs: 7, isDenied: false, ...known }),
  );
  const denied = { ...entry, output: "No.", success: false, isDenied: true, durationMs: 0 };
  const expected = [earlier, denied, { ...entry, input: {}, isDenied: false, ...known }];
  assert.deepEqual(log, expected);
});

test("C4: a picture that the conversation has dropped is not kept by the log", async () => {
  const log: ToolLogEntry[] = [];
  const picture = addPicture(log);
  await setImmediate();
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  assert.equal(picture.deref(), undefined);
  assert.deepEqual(log, [{ ...entry, isDenied: false }]);
});

function addPicture(log: ToolLogEntry[]): WeakRef<FilePart> {
  const picture: FilePart = { type: "file", mediaType: "image/png", data: "aGk=" };
  log.push(toLogEntry(call, { ...result, files: [picture] }, { durationMs: 7, isDenied: false, ...nothing }));
  return new WeakRef(picture);
}
