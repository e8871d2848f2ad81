/** Events about limits for scripts: the two live events in `stream-json`, with their keys in snake_case. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { eventJson, messageJson } from "../../../../src/app/cli/stored/run-json.ts";
import { agent } from "../../../../src/core/agent.ts";
import type { SousEvent } from "../../../../src/core/event.ts";
import { run } from "../../../../src/runtime.ts";
import { scriptedModel } from "../../../../src/testing/scripted-model.ts";
import { after, calls, says, uses } from "../../../../src/testing/steps.ts";
import { START, Story } from "../../../support/app/cli/sample-events.ts";

suite("J1: limits in stream-json", () => {
  test("a limit has its owner, its unit and three numbers, and no number of the event", () => {
    const events: SousEvent[] = [];
    const story = new Story((event) => events.push(event));
    const limit = { of: "children", unit: "costUsd", limit: 1, spent: 0.8, reserved: 0.1 } as const;
    story.limit("lead/scout", 2, "budget-near", limit);
    const head = { run_id: "lead/scout", agent_id: "lead/scout", parent_id: "lead", path: "lead/scout", depth: 1 };
    assert.deepEqual(events.map(eventJson), [
      {
        seq: undefined,
        ts: new Date(START + 2000).toISOString(),
        ...head,
        type: "budget-near",
        limit: { of: "children", unit: "cost_usd", limit: 1, spent: 0.8, reserved: 0.1 },
      },
    ]);
  });

  test("a child that waits to start is told before its start, and a limit that is near once", async () => {
    const tasks = ["one", "two", "three"].map((label) => ({ label, task_prompt: `Do ${label}.` }));
    const lead = agent({
      name: "lead",
      model: scriptedModel({
        lead: [calls("parallel_subagent", { tasks }), says("Done.")],
        "lead/*": [[after(5), says("Seen."), uses({ input: 2000, output: 1000 })]],
      }),
      delegate: true,
    });
    const told: string[] = [];
    const onEvent = (event: SousEvent): void => {
      const { type, path } = eventJson(event);
      if (/^(?:budget-|run-start)/.test(String(type))) told.push(`${path} ${type}`);
    };
    await run(lead, "Go.", { limits: { children: { tokens: 10_000 } }, onEvent });
    assert.ok(told.indexOf("lead/three budget-wait") < told.indexOf("lead/three run-start"), told.join("\n"));
    assert.ok(told.includes("lead/three budget-wait"));
    assert.equal(told.filter((each) => each.endsWith("budget-near")).length, 1);
  });
});

test("J1: files in a message, in a result and beside it have the keys of the reference", () => {
  const story = new Story();
  const file = { type: "file", mediaType: "image/png", data: "iVBOR" } as const;
  const body = { callId: "1", toolName: "look", output: "a picture", isError: false } as const;
  story.tell("lead", 1, { type: "tool-call-end", ...body, durationMs: 5, metadata: undefined, files: [file] });
  const message = { role: "tool", content: [{ type: "tool-result", ...body, files: [file] }] } as const;
  const shown = { type: "file", media_type: "image/png", filename: null, data: "iVBOR" };
  assert.deepEqual(
    story.events.map((event) => eventJson(event).files),
    [[shown]],
  );
  assert.deepEqual(messageJson(message, 3), {
    n: 3,
    role: "tool",
    content: [
      { type: "tool-result", call_id: "1", tool_name: "look", output: "a picture", is_error: false, files: [shown] },
    ],
  });
  const named = { ...file, filename: "a.png" };
  assert.deepEqual(messageJson({ role: "user", content: [named] }, 1).content, [{ ...shown, filename: "a.png" }]);
});
