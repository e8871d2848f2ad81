/** The usage of a run, as its events tell it. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { StoredEvent } from "../../../../src/core/event.ts";
import { RunFold } from "../../../../src/runtime/loop/run-state.ts";
import { EVERY_EVENT } from "../../../support/core/every-event.ts";

function stateAfter([start, ...events]: readonly StoredEvent[]): RunFold["state"] {
  assert.ok(start?.type === "run-start");
  const fold = new RunFold(start);
  for (const event of events) fold.add(event);
  return fold.state;
}

test("G5: the time between an end and a resume is not counted, however often a run is resumed", () => {
  const at = (seconds: number, event: StoredEvent): StoredEvent => ({ ...event, time: seconds * 1000 });
  const usedMs = (events: StoredEvent[]) => stateAfter(events).usedMs;
  const start = at(10, EVERY_EVENT["run-start"]);
  const first = [start, at(14, EVERY_EVENT["turn-start"])];
  assert.equal(usedMs(first), 4_000);
  const second = [...first, at(100, { ...EVERY_EVENT.resume, usedMs: 4_000 }), at(103, EVERY_EVENT["turn-start"])];
  assert.equal(usedMs(second), 7_000);
  const third = [...second, at(500, { ...EVERY_EVENT.resume, usedMs: 7_000 })];
  assert.equal(usedMs(third), 7_000);
  assert.equal(usedMs([...third, at(490, EVERY_EVENT["turn-start"])]), 7_000, "the clock of the machine was set back");
});

test("G5: a result that is taken from the journal has the files it had, and no empty list of them", () => {
  const filesOf = (event: StoredEvent) => {
    const call = stateAfter([EVERY_EVENT["run-start"], event]).calls.get("call_1");
    assert.ok(call?.state === "ended");
    return "files" in call.part ? call.part.files : "none";
  };
  const end = EVERY_EVENT["tool-call-end"];
  assert.deepEqual(filesOf(end), end.files);
  assert.equal(end.files?.length, 1);
  assert.equal(filesOf({ ...end, files: [] }), "none");
  const { files: _files, ...without } = end;
  assert.equal(filesOf(without), "none");
});
