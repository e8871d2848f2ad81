/** A program that used sous has no timers, listeners or rejections left. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { agent } from "../../../src/core/agent.ts";
import { createRuntime } from "../../../src/runtime.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { hangs, says } from "../../../src/testing/steps.ts";

test("a careless program ends by itself, and no rejection goes unheard", async () => {
  const program = fileURLToPath(import.meta.resolve("./leaves-nothing.ts"));
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [program], { timeout: 60_000 });
  assert.deepEqual([stdout, stderr], ["completed cancelled cancelled cancelled cancelled\n0 timers\n", ""]);
});

test("400 runs on one signal leave no listener on it, one after another, at once and stopped together", async () => {
  const { signal, abort } = stopper();
  const runtime = createRuntime();
  const warnings: string[] = [];
  const onWarning = (warning: Error) => void warnings.push(warning.message);
  process.on("warning", onWarning);
  const quick = agent({ name: "quick", model: scriptedModel({ "**": () => says("Done.") }) });
  for (let count = 0; count < 200; count++) await runtime.run(quick, "Go.", { signal });
  await Promise.all(Array.from({ length: 200 }, () => runtime.run(quick, "Go.", { signal })));
  assert.equal(getEventListeners(signal, "abort").length, 0);
  const silent = agent({ name: "silent", model: scriptedModel({ "**": () => hangs() }) });
  const stopped = Array.from({ length: 100 }, () => runtime.run(silent, "Go.", { signal }));
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(getEventListeners(signal, "abort").length, 100);
  abort();
  assert.deepEqual(new Set((await Promise.all(stopped)).map(({ status }) => status)), new Set(["cancelled"]));
  assert.equal(getEventListeners(signal, "abort").length, 0);
  process.off("warning", onWarning);
  assert.deepEqual(warnings, []);
});

function stopper(): { signal: AbortSignal; abort: () => void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}
