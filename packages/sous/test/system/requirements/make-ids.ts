/** A process that makes ids as a program would, when it is told to: prints those of its runs and of their children. */

import { once } from "node:events";
import { agent } from "../../../src/core/agent.ts";
import { createRuntime } from "../../../src/runtime.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { calls, says } from "../../../src/testing/steps.ts";

/** What one process has to tell. */
export type MadeIds = { roots: string[]; children: string[]; from: number; to: number };

if (import.meta.main) await makeIds();

async function makeIds(): Promise<void> {
  const model = scriptedModel({
    "*": [calls("subagent", { label: "a", task_prompt: "Look." }), says("Done.")],
    "*/*": [says("Done.")],
  });
  const lead = agent({ name: "lead", model, delegate: true });
  const runtime = createRuntime();
  process.stdout.write("ready\n");
  await once(process.stdin, "data");
  const from = Date.now();
  const handles = Array.from({ length: 40 }, () => runtime.run(lead, "Go."));
  const results = await Promise.all(handles);
  const made: MadeIds = {
    roots: handles.map(({ id }) => id),
    children: results.flatMap(({ agents }) => agents.slice(1).map(({ id }) => id)),
    from,
    to: Date.now(),
  };
  process.stdout.write(JSON.stringify(made));
  process.stdin.destroy();
}
