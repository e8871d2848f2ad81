/** H4: the port of approval: a question from any depth reaches the person at the root, and clocks stop meanwhile. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../src/core/agent.ts";
import type { ApprovalAnswer, ApprovalRequest, Approve } from "../../../src/core/approval.ts";
import { after, calls, says } from "../../../src/testing/steps.ts";
import {
  parallelOutput,
  readBy,
  recordingTool,
  runTree,
  statuses,
  type TreePlan,
} from "../../support/requirements/run-tree.ts";
import { simpleTool } from "../../support/requirements/support.ts";

function child(label: string, more: Record<string, unknown> = {}) {
  return calls("subagent", { label, task_prompt: `Do ${label}.`, ...more });
}

/** A write at depth 3, with timeouts on the way. */
const DEEP = {
  lead: [child("a", { timeout_ms: 5000 }), says("Seen.")],
  "lead/a": [child("b", { timeout_ms: 5000 }), says("A is done.")],
  "lead/a/b": [child("c", { timeout_ms: 5000 }), says("B is done.")],
  "lead/a/b/c": [
    [after(1000), calls("write", { path: "x", text: "y" })],
    [after(1000), says("C is done.")],
  ],
};

/** A person who answers on the clock of the world. */
function person(answers: (request: ApprovalRequest) => { afterMs: number; answer: ApprovalAnswer }) {
  const asked: ApprovalRequest[] = [];
  const withdrawn: string[] = [];
  let at: (milliseconds: number, act: () => void) => void = () => {};
  const approve: Approve = (request, signal) => {
    asked.push(request);
    signal.addEventListener("abort", () => withdrawn.push(request.path), { once: true });
    const { afterMs, answer } = answers(request);
    return new Promise((resolve) => at(afterMs, () => resolve(answer)));
  };
  const during: TreePlan["during"] = (scene) => {
    at = scene.at;
  };
  return { approve, asked, withdrawn, during };
}

const YES = { allow: true } as const;

suite("H4: a question", () => {
  test("H4: a question reaches the person from depth 3, with the path and exact input, and the action runs once allowed", async () => {
    const { approve, asked, during } = person(() => ({ afterMs: 3000, answer: YES }));
    const write = recordingTool("write", { tier: "confirm" });
    const { stage, result } = await runTree({ script: DEEP, lead: { tools: [write] }, runtime: { approve }, during });
    const [{ runId = "" } = {}] = stage.eventsOf("run-start", "lead/a/b/c");
    const [{ callId = "" } = {}] = stage.eventsOf("tool-call-start", "lead/a/b/c");
    assert.deepEqual(asked, [
      {
        runId,
        path: "lead/a/b/c",
        agent: "subagent",
        above: ["lead", "subagent", "subagent"],
        callId,
        toolName: "write",
        input: { path: "x", text: "y" },
        target: undefined,
        digest: asked[0]?.digest,
        cwd: "/",
      },
    ]);
    assert.match(asked[0]?.digest ?? "", /^[0-9a-f]{8}$/);
    assert.deepEqual(write.inputs, [{ path: "x", text: "y" }]);
    assert.deepEqual([result.status, result.denied], ["completed", []]);
    const [end] = stage.eventsOf("approval-end");
    assert.deepEqual([end?.allowed, end?.by], [true, "person"]);
  });

  test("H4: a question stops the clocks of the child and of everybody above it, however long it takes", async () => {
    const { approve, during } = person(() => ({ afterMs: 3_600_000, answer: YES }));
    const write = recordingTool("write", { tier: "confirm" });
    const { result } = await runTree({ script: DEEP, lead: { tools: [write] }, runtime: { approve }, during });
    assert.deepEqual(Object.values(statuses(result)), ["completed", "completed", "completed", "completed"]);
    assert.equal(result.durationMs, 3_602_000);
  });

  test("H4: the clocks continue after a question from where they stood", async () => {
    const { approve, during } = person(() => ({ afterMs: 3_600_000, answer: YES }));
    const write = recordingTool("write", { tier: "confirm" });
    const { result, stage } = await runTree({
      script: {
        ...DEEP,
        "lead/a/b/c": [
          [after(1000), calls("write")],
          [after(4500), says("Late.")],
        ],
      },
      lead: { tools: [write] },
      runtime: { approve },
      during,
    });
    assert.equal(statuses(result)["lead/a/b/c"], "timeout");
    assert.equal(stage.eventsOf("run-end", "lead/a/b/c")[0]?.durationMs, 3_605_000);
  });

  test("H4: a question does not stop an explicit deadline of the root, which answers it with no", async () => {
    const { approve, asked, withdrawn, during } = person(() => ({ afterMs: 3_600_000, answer: YES }));
    const write = recordingTool("write", { tier: "confirm" });
    const { result, stage } = await runTree({
      script: DEEP,
      lead: { tools: [write] },
      runtime: { approve },
      run: { budget: { durationMs: 60_000 } },
      during,
    });
    assert.deepEqual([result.status, result.durationMs], ["timeout", 60_000]);
    assert.deepEqual([asked.length, withdrawn, write.inputs], [1, ["lead/a/b/c"], []]);
    const [end] = stage.eventsOf("approval-end");
    assert.deepEqual([end?.allowed, end?.by], [false, "cancelled"]);
  });

  test("H4: a question does not stop the clock of a sibling, and two at once need two answers", async () => {
    const { approve, during } = person(({ path }) => ({ afterMs: path === "lead/a/x" ? 10_000 : 20_000, answer: YES }));
    const write = recordingTool("write", { tier: "confirm" });
    const { result } = await runTree({
      script: {
        lead: [[child("a", { timeout_ms: 3000 }), child("slow", { timeout_ms: 3000 })], says("Seen.")],
        "lead/a": [
          [child("x", { timeout_ms: 3000 }), child("y", { timeout_ms: 3000 })],
          [after(1500), says("Done.")],
        ],
        "lead/a/*": [calls("write"), [after(1000), says("Done.")]],
        "lead/slow": [[after(9000), says("Late.")]],
      },
      lead: { tools: [write] },
      runtime: { approve },
      during,
    });
    assert.deepEqual(statuses(result), {
      lead: "completed",
      "lead/a": "completed",
      "lead/slow": "timeout",
      "lead/a/x": "completed",
      "lead/a/y": "completed",
    });
    assert.equal(result.durationMs, 22_500);
  });

  test("H4: a question stops the time of all children too, unless another of them is at work", async () => {
    const { approve, during } = person(() => ({ afterMs: 600_000, answer: YES }));
    const write = recordingTool("write", { tier: "confirm" });
    const { result } = await runTree({
      script: DEEP,
      lead: { tools: [write] },
      runtime: { approve, limits: { children: { durationMs: 60_000 } } },
      during,
    });
    assert.deepEqual([result.status, statuses(result)["lead/a"]], ["completed", "completed"]);

    const slow = await runTree({
      script: {
        lead: [child("asks"), says("Seen.")],
        "lead/asks": [calls("write"), [after(61_000), says("Late.")]],
      },
      lead: { tools: [write] },
      runtime: { approve, limits: { children: { durationMs: 60_000 } } },
      during,
    });
    assert.equal(statuses(slow.result)["lead/asks"], "budget_exceeded", "it runs again after the answer");

    const busy = await runTree({
      script: {
        lead: [[child("asks"), child("works")], says("Seen.")],
        "lead/asks": [calls("write"), says("Done.")],
        "lead/works": [[after(90_000), says("Late.")]],
      },
      lead: { tools: [write] },
      runtime: { approve, limits: { children: { durationMs: 60_000 } } },
      during,
    });
    assert.deepEqual(statuses(busy.result), {
      lead: "completed",
      "lead/asks": "budget_exceeded",
      "lead/works": "budget_exceeded",
    });
  });

  test("H4: a child that asks gives its slot to another while it waits, and waits for a slot again after the answer", async () => {
    const { approve, during } = person(() => ({ afterMs: 2_000, answer: YES }));
    const write = recordingTool("write", { tier: "confirm" });
    const { stage, result } = await runTree({
      script: {
        lead: [[child("asks"), child("works")], says("Seen.")],
        "lead/asks": [calls("write"), [after(1_000), says("Done.")]],
        "lead/works": [[after(10_000), says("Done.")]],
      },
      lead: { tools: [write] },
      runtime: { approve, limits: { maxConcurrent: 1 } },
      during,
    });
    assert.deepEqual(statuses(result), { lead: "completed", "lead/asks": "completed", "lead/works": "completed" });
    const order = stage.events.flatMap(({ path, type }) =>
      type === "turn-start" || type === "run-end" ? [`${path} ${type}`] : [],
    );
    assert.deepEqual(
      order.filter((each) => each.startsWith("lead/")),
      [
        "lead/asks turn-start",
        "lead/works turn-start",
        "lead/works run-end",
        "lead/asks turn-start",
        "lead/asks run-end",
      ],
    );
  });

  test("H4: a no is a failed result the model reads, with the reason; the run is complete all the same", async () => {
    const write = recordingTool("write", { tier: "confirm" });
    const { stage, result } = await runTree({
      script: { lead: [child("a"), says("Seen.")], "lead/a": [calls("write"), says("Then not.")] },
      lead: { tools: [write] },
      runtime: { approve: () => ({ allow: false, reason: "too early" }) },
    });
    assert.deepEqual(
      stage.resultsOf("lead/a").map(({ output, isError }) => [output, isError]),
      [["The user did not allow write: too early", true]],
    );
    assert.deepEqual([result.status, result.stopReason, write.inputs, result.denied], ["completed", undefined, [], []]);
  });

  test("H4: a question is withdrawn when the child is cancelled, and a late yes runs nothing", async () => {
    const { approve, withdrawn, during } = person(() => ({ afterMs: 5000, answer: YES }));
    const write = recordingTool("write", { tier: "confirm" });
    const { result } = await runTree({
      script: { lead: [child("a"), [after(9000), says("Seen.")]], "lead/a": [calls("write")] },
      lead: { tools: [write] },
      runtime: { approve },
      during(scene) {
        during?.(scene);
        scene.at(1000, () => scene.handle.cancel("lead/a"));
      },
    });
    assert.deepEqual([withdrawn, write.inputs], [["lead/a"], []]);
    assert.deepEqual(statuses(result), { lead: "completed", "lead/a": "cancelled" });
  });

  test("H4: a question that was answered is not withdrawn when the child is cancelled later", async () => {
    const { approve, withdrawn, during } = person(() => ({ afterMs: 500, answer: YES }));
    const write = recordingTool("write", { tier: "confirm" });
    const { result } = await runTree({
      script: { lead: [child("a"), says("Seen.")], "lead/a": [calls("write"), [after(9000), says("Late.")]] },
      lead: { tools: [write] },
      runtime: { approve },
      during(scene) {
        during?.(scene);
        scene.at(1000, () => scene.handle.cancel("lead/a"));
      },
    });
    assert.deepEqual([withdrawn, write.inputs.length], [[], 1]);
    assert.deepEqual(statuses(result), { lead: "completed", "lead/a": "cancelled" });
  });
});

suite("H4: without a person to ask", () => {
  test("H4: a question without a person is a failed result, and incomplete for want of approval up to the root", async () => {
    const write = recordingTool("write", { tier: "confirm" });
    const { stage, result } = await runTree({ script: DEEP, lead: { tools: [write] } });
    assert.deepEqual(
      stage.resultsOf("lead/a/b/c").map(({ output, isError }) => [output, isError]),
      [["write needs approval, and no one can be asked. Continue without it.", true]],
    );
    assert.deepEqual(write.inputs, []);
    assert.deepEqual(
      stage.eventsOf("run-end").map(({ path, status, stopReason }) => [path, status, stopReason]),
      ["lead/a/b/c", "lead/a/b", "lead/a", "lead"].map((path) => [path, "incomplete", "consent"]),
    );
    assert.deepEqual([result.status, result.stopReason, result.text], ["incomplete", "consent", "Seen."]);
    assert.deepEqual(result.denied, [{ path: "lead/a/b/c", toolName: "write", input: { path: "x", text: "y" } }]);
    assert.match(readBy(stage, "subagent")[0] ?? "", /^\[Notice: an action needed approval and no one could be asked/);
    const [end] = stage.eventsOf("approval-end");
    assert.deepEqual([end?.allowed, end?.by], [false, "nobody"]);
  });

  test("H4: a question whose approver throws is a failed result, and incomplete for want of approval", async () => {
    for (const approve of [
      () => {
        throw new Error("no terminal");
      },
      () => Promise.reject(new Error("no terminal")),
    ]) {
      const write = recordingTool("write", { tier: "confirm" });
      const { result, stage } = await runTree({
        script: { lead: [child("a"), says("Seen.")], "lead/a": [calls("write", { to: 1 }), says("Wrote.")] },
        lead: { tools: [write] },
        runtime: { approve },
      });
      assert.match(
        stage.resultsOf("lead/a")[0]?.output ?? "",
        /^write was not allowed: the question failed: .*no terminal/,
      );
      assert.deepEqual([result.status, result.stopReason, write.inputs], ["incomplete", "consent", []]);
      assert.deepEqual(result.denied, [{ path: "lead/a", toolName: "write", input: { to: 1 } }]);
    }
  });

  test("H4: a question without a person in a fan-out is a result like any other, and in the background too", async () => {
    const write = recordingTool("write", { tier: "confirm" });
    const { result, stage } = await runTree({
      script: {
        lead: [
          child("late", { background: true }),
          calls("parallel_subagent", { tasks: [{ label: "p", task_prompt: "Do p." }] }),
          says("Wait."),
          says("Seen."),
        ],
        "lead/p": [says("Fine.")],
        "lead/late": [[after(1000), calls("write")], says("Wrote.")],
      },
      lead: { tools: [write] },
    });
    assert.deepEqual([result.status, result.stopReason], ["incomplete", "consent"]);
    assert.deepEqual(statuses(result), { lead: "incomplete", "lead/late": "incomplete", "lead/p": "completed" });
    assert.equal(parallelOutput(stage).results[0]?.completion_status, "complete");
  });

  test("H4: an action that asks first does not ask when its input is wrong or its rights are missing", async () => {
    const asked: string[] = [];
    const strict = simpleTool("strict", undefined, {
      tier: "confirm",
      inputSchema: { type: "object", required: ["to"], properties: { to: { type: "string" } } },
    });
    const { stage } = await runTree({
      script: {
        lead: [calls("strict", {}), child("a", { allowed_tools: [] }), says("Seen.")],
        "lead/a": [calls("strict", { to: "x" }), says("Done.")],
      },
      lead: { tools: [strict], subagents: [agent({ name: "x" })] },
      runtime: {
        approve({ toolName }) {
          asked.push(toolName);
          return YES;
        },
      },
    });
    assert.deepEqual(asked, []);
    assert.equal(stage.eventsOf("approval-request").length, 0);
  });
});
