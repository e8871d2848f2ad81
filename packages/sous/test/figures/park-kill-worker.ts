/**
 * One process on a tree that parks: begins it or resumes it with answers, and kills itself with SIGKILL at a step. A step is an
 * event that was stored and shown, or the moment before or after the effect of a tool.
 */

import { appendFileSync, readFileSync } from "node:fs";
import { agent } from "../../src/core/agent.ts";
import type { ModelRequest } from "../../src/core/model.ts";
import { type Tool, tool } from "../../src/core/tool.ts";
import { createRuntime } from "../../src/runtime.ts";
import { openSqliteStore } from "../../src/storage/store/sqlite/store.ts";
import { scriptedModel } from "../../src/testing/scripted-model.ts";
import { calls, says } from "../../src/testing/steps.ts";

const [file = "", effects = "", rootId = "", killAt = "0", isAnswering = ""] = process.argv.slice(2);

let steps = 0;
function step(): void {
  steps += 1;
  if (steps === Number(killAt)) process.kill(process.pid, "SIGKILL");
}

const note =
  (name: string) =>
  (_input: unknown, { path, callId }: { path: string; callId: string }) => {
    step();
    const line = `${path} ${name} ${callId}`;
    const isDone = name === "post" && readFileSync(effects, "utf8").includes(line);
    if (!isDone) appendFileSync(effects, `${line}\n`);
    step();
    return `${name} done`;
  };

const inputSchema = { type: "object", properties: {} } as const;
const tools = [
  // Made again after a kill, and it knows by the id of its call that it was.
  tool({
    name: "post",
    description: "Posts.",
    tier: "confirm",
    effect: "idempotent",
    inputSchema,
    execute: note("post"),
  }),
  tool({ name: "pay", description: "Pays.", tier: "confirm", effect: "unsafe", inputSchema, execute: note("pay") }),
  tool({ name: "look", description: "Looks.", effect: "read", inputSchema, execute: () => "seen" }),
] as Tool[];

const has = (request: ModelRequest, name: string) =>
  request.messages.some(
    ({ role, content }) => role === "tool" && content.some((part) => "toolName" in part && part.toolName === name),
  );

const model = scriptedModel({
  lead: (request) =>
    has(request, "parallel_subagent")
      ? says("All done.")
      : [
          calls(
            "parallel_subagent",
            { tasks: ["a", "b"].map((label) => ({ label, task_prompt: `Do ${label}.` })) },
            "fan",
          ),
          calls("pay", {}, "pay-1"),
        ],
  "lead/a": (request) => (has(request, "post") ? says("Posted.") : calls("post", {}, "post-a")),
  "lead/b": (request) => (has(request, "look") ? says("Seen.") : calls("look", {}, "look-b")),
});

await using store = await openSqliteStore(file);
const lead = agent({ name: "lead", model, delegate: true, tools });
const runtime = createRuntime({ store, approve: () => "later" });
const onEvent = (event: { seq?: number | undefined }) => {
  if (event.seq !== undefined) step();
};
const known = await store.run(rootId);
if (known?.status === "completed") {
  // Its process was killed after the last event.
  process.stdout.write(JSON.stringify({ status: known.status, text: "All done.", questions: [], steps }));
  process.exit();
}
const open = known === undefined || isAnswering === "" ? [] : await runtime.questions(rootId);
const answers = Object.fromEntries(open.map(({ id }) => [id, { allow: true } as const]));
const handle =
  known === undefined
    ? runtime.run(lead, "Do it.", { rootId, onEvent })
    : runtime.resume(rootId, { agent: lead, onEvent, answers });
const { status, questions, text } = await handle.result;
process.stdout.write(JSON.stringify({ status, text, questions: questions.map(({ path }) => path), steps }));
