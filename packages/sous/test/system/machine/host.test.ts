import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { systemHost } from "../../../src/machine/host.ts";

test("the time of many small events is read once in a turn of the event loop", async () => {
  const { clock } = systemHost();
  const lately = () => clock.lately?.() ?? Number.NaN;
  const before = lately();
  spin(5);
  assert.equal(lately(), before);
  const now = clock.now();
  assert.ok(now > before);
  assert.ok(lately() >= now, "what comes after an event is not older than the event");
  // Not a timer: on a busy machine one may be due before this turn is over.
  await new Promise((nextTurn) => setImmediate(nextTurn));
  spin(20);
  assert.ok(lately() >= now + 10, "the next turn has a time of its own");
});

function spin(milliseconds: number): void {
  const until = performance.now() + milliseconds;
  while (performance.now() < until);
}

test("a quiet timer does not keep the process alive", () => {
  const host = JSON.stringify(import.meta.resolve("../../../src/machine/host.ts"));
  const script = `const { systemHost } = await import(${host}); systemHost().clock.timer(600_000, () => {}, true);`;
  const env = { ...process.env, NODE_OPTIONS: "", NODE_V8_COVERAGE: "" };
  execFileSync(process.execPath, ["--input-type=module", "-e", script], { env, timeout: 20_000 });
});
