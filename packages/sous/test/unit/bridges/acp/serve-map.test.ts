/** Events of a tree as updates of a session: what an editor is shown of them. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { SessionUpdate } from "@agentclientprotocol/sdk";
import { UpdateMap } from "../../../../src/bridges/acp/serve-map.ts";
import type { SousEvent } from "../../../../src/core/event.ts";
import { Story } from "../../../support/app/cli/sample-events.ts";

const CWD = "/shop";

/** The same for a model whose window is known. */
function withWindow(event: SousEvent): SousEvent {
  return event.type === "run-start" ? { ...event, contextWindow: 200_000 } : event;
}

function updatesOf(story: Story, map = new UpdateMap(CWD)): SessionUpdate[] {
  return story.events.flatMap((event) => map.updates(withWindow(event)));
}

const externalCall = {
  type: "outside-call",
  callId: "7",
  name: "Bash",
  kind: "execute",
  input: { command: "ls" },
} as const;

suite("events as updates of a session", () => {
  test("the cost is that of the whole session with its children, and the context that of the root", () => {
    const story = new Story();
    story.starts("sous", 0, "go");
    story.starts("sous/scout", 1, "look");
    story.answers("sous/scout", 2, 5000, 0.5);
    story.answers("sous", 3, 1000, 0.25);
    const map = new UpdateMap(CWD);
    const usage = updatesOf(story, map).filter(({ sessionUpdate }) => sessionUpdate === "usage_update");
    const cost = { amount: 0.75, currency: "USD" };
    assert.deepEqual(usage, [{ sessionUpdate: "usage_update", used: 1000, size: 200_000, cost }]);
    const { usage: taken, costUsd } = map.takeBill();
    assert.deepEqual([taken.totalTokens, costUsd], [6000, 0.75]);
    assert.equal(map.takeBill().usage.totalTokens, 0);
  });

  test("an unknown price makes the cost unknown, never less", () => {
    const story = new Story();
    story.starts("sous", 0, "go");
    story.answers("sous", 1, 1000, 0.25);
    story.answers("sous", 2, 1000, null);
    story.answers("sous", 3, 1000, 0.25);
    const costs = updatesOf(story).flatMap((update) => (update.sessionUpdate === "usage_update" ? [update.cost] : []));
    assert.deepEqual(costs, [{ amount: 0.25, currency: "USD" }, undefined, undefined]);
  });

  test("progress of a call is its content while it runs, and its result replaces it", () => {
    const story = new Story();
    story.starts("sous", 0, "go");
    story.calls("sous", 1, "terminal", { command: "make" });
    story.progresses("sous", 2, "terminal", { text: "cc `main`.c", done: 3, total: 10 });
    story.progresses("sous", 3, "write_file", { text: "its change stays in sight" });
    assert.deepEqual(
      updatesOf(story).flatMap((update) =>
        update.sessionUpdate === "tool_call_update" ? [[update.status, update.content]] : [],
      ),
      [["in_progress", [{ type: "content", content: { type: "text", text: "```\n3/10 cc `main`.c\n```" } }]]],
    );
  });

  test("a call of an external agent is shown below the path of its child", () => {
    const story = new Story();
    story.tell("sous/claude", 1, { ...externalCall, phase: "start", title: "ls -la" });
    story.tell("sous/claude", 2, { ...externalCall, phase: "end", title: "ls -la", output: "pay.ts", isError: true });
    const [start, end] = updatesOf(story);
    assert.deepEqual(start, {
      sessionUpdate: "tool_call",
      toolCallId: "sous/claude:7",
      title: "sous/claude · ls -la",
      kind: "execute",
      status: "in_progress",
    });
    assert.deepEqual(end, {
      sessionUpdate: "tool_call_update",
      toolCallId: "sous/claude:7",
      status: "failed",
      content: [{ type: "content", content: { type: "text", text: "```\npay.ts\n```" } }],
    });
  });

  test("results are bounded and cannot act as Markdown", () => {
    const story = new Story();
    story.calls("sous", 1, "grep", { pattern: "x" });
    story.gets("sous", 2, "grep", `\u001b[31m\`\`\`\n# Allowed${"y".repeat(100_000)}`);
    const end = updatesOf(story).at(-1);
    const text = JSON.stringify(end);
    assert.ok(text.length < 10_000, `${text.length} characters`);
    assert.match(text, /"````\\n```\\n# Allowedy/);
    assert.match(text, /more bytes are not shown here\]\\n````"/);
  });

  test("an edit is shown as a change of a file, with its absolute path", () => {
    const story = new Story();
    story.calls("sous/fixer", 1, "edit_file", { path: "src/pay.ts", old: "a", new: "b" });
    story.gets("sous/fixer", 2, "edit_file", "1 place");
    const [start, end] = updatesOf(story);
    assert.deepEqual(start && "content" in start && start.content, [
      { type: "diff", path: "/shop/src/pay.ts", oldText: "a", newText: "b" },
    ]);
    assert.equal(end && "content" in end, false);
  });
});
