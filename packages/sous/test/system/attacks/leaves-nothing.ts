/** A program that uses sous carelessly, on the real clock: it must end by itself, and nothing may be rejected unheard. */

import { agent } from "../../../src/core/agent.ts";
import { ModelError } from "../../../src/core/errors.ts";
import type { Model } from "../../../src/core/model.ts";
import { tool } from "../../../src/core/tool.ts";
import { fanOut, run } from "../../../src/runtime.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { calls, fails, hangs, says } from "../../../src/testing/steps.ts";

process.on("unhandledRejection", (error) => {
  console.log("unheard", error);
  process.exitCode = 1;
});

const LONG = 2 ** 31 * 10;
const silent = agent({ name: "silent", model: scriptedModel([says("Half of it"), hangs()]) });
const held: Model = {
  id: "native/held",
  answer: async () => {
    throw new ModelError("rate_limit", "tomorrow", { retryAfterMs: 300_000 });
  },
};
const stubborn = tool({
  name: "stubborn",
  description: "Fails long after it was left behind.",
  inputSchema: {},
  execute: () =>
    new Promise((_, reject) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      failed = promise;
      setTimeout(() => {
        reject(new Error("late"));
        resolve();
      }, 50);
    }),
});
/** Over when the tool has failed, if it ever began. */
let failed: Promise<void> = Promise.resolve();

// Nobody waits for these, and they fail.
run(agent({ name: "nameless" }), "Go.");
run(agent({ name: "locked", model: scriptedModel(fails("auth")) }), "Go.");
run(silent, "Go.", { signal: AbortSignal.abort() });
void fanOut(agent({ name: "nameless" }), ["one", "two"]);

// These are stopped while they hold timers far in the future.
const lead = scriptedModel({
  lead: [calls("subagent", { label: "scout", task_prompt: "Look.", timeout_ms: LONG }), says("Done.")],
  "lead/scout": [says("Seen.")],
});
const results = await Promise.all([
  run(agent({ name: "lead", model: lead, delegate: true, timeoutMs: LONG }), "Go.", {
    budget: { durationMs: LONG },
    limits: { children: { durationMs: LONG } },
  }),
  stoppedSoon(run(agent({ name: "held", model: held }), "Go.", { budget: { tokens: 50_000 } })),
  stoppedSoon(run(silent.with({ timeoutMs: LONG }), "Go.")),
  stoppedSoon(run(agent({ name: "calls", tools: [stubborn], model: scriptedModel(calls("stubborn")) }), "Go.")),
]);

// A reader that leaves early.
const left = run(silent, "Go.", { signal: AbortSignal.timeout(40) });
for await (const event of left) if (event.type === "text-delta") break;
results.push(await left);

await failed;

console.log(results.map(({ status }) => status).join(" "));
console.log(process.getActiveResourcesInfo().filter((name) => name === "Timeout").length, "timers");

function stoppedSoon<Handle extends { cancel(): boolean }>(handle: Handle): Handle {
  setTimeout(() => handle.cancel(), 20);
  return handle;
}
