/** Runs a small tree on a database and writes a line to stderr behind every append that has returned, to be traced. */

import { writeSync } from "node:fs";
import { agent } from "../../src/core/agent.ts";
import { createRuntime } from "../../src/runtime.ts";
import { openSqliteStore } from "../../src/storage/store/sqlite/store.ts";
import { scriptedModel } from "../../src/testing/scripted-model.ts";
import { calls, says } from "../../src/testing/steps.ts";
import { wrapStore } from "../support/testing/faults.ts";

const [file = "", synchronous = ""] = process.argv.slice(2);
await using opened = await openSqliteStore(file, { synchronous: synchronous === "full" ? "full" : "normal" });
const store = wrapStore(opened, {
  append(rootId, events, fence) {
    opened.append(rootId, events, fence);
    writeSync(2, `acknowledged ${events.at(-1)?.seq}\n`);
  },
});
const model = scriptedModel({
  lead: ({ caller: { turn } }) =>
    turn <= 10 ? calls("subagent", { label: "child", task_prompt: `Part ${turn}.` }) : says("Done."),
  "lead/*": [says("Here.")],
});
const { status } = await createRuntime({ store }).run(
  agent({ name: "lead", model, delegate: true, maxTurns: 20 }),
  "Go.",
);
if (status !== "completed") throw new Error(`The run is ${status}`);
