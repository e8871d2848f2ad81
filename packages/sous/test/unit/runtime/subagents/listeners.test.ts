/** Calls of the callbacks and stores of a child, event by event. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { StoredEvent } from "../../../../src/core/event.ts";
import type { Message } from "../../../../src/core/message.ts";
import { type SubagentError, trackSubagents } from "../../../../src/runtime/subagents/callbacks.ts";
import { storingHooks } from "../../../../src/runtime/subagents/child-stores.ts";
import { trackProgress } from "../../../../src/runtime/subagents/progress.ts";
import { after, calls, refuses, says } from "../../../../src/testing/steps.ts";
import { EVERY_EVENT } from "../../../support/core/every-event.ts";
import { externalTree } from "../../../support/external-tree.ts";
import { openStage, simpleTool } from "../../../support/requirements/support.ts";

suite("D2: callbacks", () => {
  test("callbacks of a model that refuses are told so, by the kind of the error and by its words", async () => {
    const errors: SubagentError[] = [];
    const stage = openStage({
      lead: [calls("subagent", { label: "no", task_prompt: "Look." }), says("Done.")],
      "lead/no": [refuses()],
    });
    const onEvent = trackSubagents({ onSubagentError: (_id, error) => void errors.push(error) });
    await stage.run(stage.lead(), "Go.", { onEvent });
    assert.equal(errors.length, 1);
    const [{ type, message } = { type: "", message: "" }] = errors;
    assert.deepEqual([type, message], ["refused", "The model refused the task"]);
  });

  test("callbacks of a child that began in another process are told its label, without the number in its path", () => {
    const described = (path: string) => {
      const labels: string[] = [];
      const listener = trackSubagents({ onSubagentStart: ({ description }) => void labels.push(description) });
      listener({ ...EVERY_EVENT.resume, parentId: "parent", path });
      return labels;
    };
    assert.deepEqual([described("lead/scout"), described("lead/deep/scout#2")], [["scout"], ["scout"]]);
  });
});

suite("D5: of an external agent", () => {
  test("callbacks of an external agent are told that it is delegated, and what it does by itself", () => {
    const told: unknown[] = [];
    const onEvent = trackSubagents({
      onSubagentStart: ({ mode, description }) => void told.push([description, mode]),
      onSubagentToolCallStart: (id, call) => void told.push([id, call]),
      onSubagentToolCallEnd: (id, result) => void told.push([id, result]),
      onSubagentComplete: (id, { text }) => void told.push([id, text]),
    });
    for (const event of externalTree().events) onEvent(event);
    assert.deepEqual(told, [
      ["claude", "delegate"],
      ["claude", { callId: "t1", toolName: "Bash", input: { command: "npm test" } }],
      ["claude", { callId: "t1", toolName: "Bash", output: "3 failed", isError: true, durationMs: 1 }],
      ["claude", { callId: "t2", toolName: "edit", input: { path: "src/a.ts" } }],
      ["claude", { callId: "t2", toolName: "edit", output: "edited", isError: false, durationMs: 3 }],
      ["claude", "It works now."],
    ]);
  });

  test("progress of an external agent shows its calls, and counts those of models only", () => {
    const steps: unknown[] = [];
    const onEvent = trackProgress(({ step, toolName, toolContext, toolSuccess, toolCount }) => {
      if (step.startsWith("tool")) steps.push([step, toolName, toolContext, toolSuccess, toolCount]);
    });
    for (const event of externalTree().events) onEvent(event);
    assert.deepEqual(steps, [
      ["tool-start", "Bash", "npm test", undefined, 0],
      ["tool-end", "Bash", "npm test", false, 0],
      ["tool-start", "edit", "src/a.ts", undefined, 0],
      ["tool-end", "edit", "src/a.ts", true, 0],
    ]);
  });
});

suite("Stores of a child's own", () => {
  test("stores of a child's own get the messages of the child, also what was said to it meanwhile", async () => {
    const messages: Message[] = [];
    const hooks = storingHooks({ messages: () => ({ add: (message) => void messages.push(message) }) }, undefined);
    const stage = openStage({ lead: [calls("look"), says("Done.")] });
    const handle = stage.start(
      stage.lead({ tools: [simpleTool("look", () => void handle.steer("lead", "Hurry."))], hooks }),
      "Go.",
    );
    await stage.end(handle);
    const texts = messages.flatMap(({ role, content }) =>
      content.map((part) => [role, part.type === "text" ? part.text : part.type]),
    );
    assert.deepEqual(texts, [
      ["user", "Go."],
      ["assistant", "tool-call"],
      ["tool", "tool-result"],
      ["user", "Hurry."],
      ["assistant", "Done."],
    ]);
  });

  test("callbacks that throw or reject harm neither the run nor each other", async () => {
    const events: StoredEvent[] = [];
    const unhandled: unknown[] = [];
    const note = (error: unknown) => void unhandled.push(error);
    process.on("unhandledRejection", note);
    const hooks = storingHooks(
      {
        messages: () => ({ add: () => Promise.reject(new Error("late")) as unknown as undefined }),
        state: () => {
          throw new Error("at once");
        },
        events: () => ({ add: (event) => void events.push(event) }),
      },
      undefined,
    );
    const stage = openStage({ lead: [says("Done.")] });
    const { status } = await stage.run(stage.lead({ hooks }));
    await new Promise((nextTurn) => setImmediate(nextTurn));
    process.off("unhandledRejection", note);
    assert.deepEqual([status, unhandled], ["completed", []]);
    assert.equal(events.at(-1)?.type, "run-end");
  });
});

test("an empty message to a child is refused, and the child does not hear of it", async () => {
  const stage = openStage({ lead: [calls("crew"), says("Done.")], "lead/mate": [[after(10), says("Here.")]] });
  let reply: unknown;
  const crew = simpleTool("crew", async (_input, { spawn, children }) => {
    const spawned = await spawn({ label: "mate", task: "Help.", options: { background: true } });
    const id = "child" in spawned ? spawned.child.agentId : "";
    reply = await children.send(id, " \n");
  });
  await stage.run(stage.lead({ tools: [crew] }));
  assert.deepEqual(reply, { kind: "refused", errorType: "invalid_input", message: "message cannot be empty" });
  assert.equal(stage.eventsOf("steer").length, 0);
});
