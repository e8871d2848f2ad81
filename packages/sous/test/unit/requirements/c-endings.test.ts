/** C6: every ending is told apart, wherever it is read: by the parent's model, by code, in a fan-out and at the root. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { type AgentOptions, agent } from "../../../src/core/agent.ts";
import type { NamedAgentResult } from "../../../src/runtime/subagents/named-agent.ts";
import { openMemoryStore } from "../../../src/storage/store/memory.ts";
import {
  after,
  calls,
  fails,
  hangs,
  refuses,
  type ScriptTurn,
  says,
  streams,
  uses,
} from "../../../src/testing/steps.ts";
import {
  parallelOutput,
  readBy,
  recordingTool,
  runTree,
  statuses,
  type TreePlan,
} from "../../support/requirements/run-tree.ts";
import { wrapStore } from "../../support/testing/faults.ts";

type Case = {
  turns: readonly ScriptTurn[];
  child?: Partial<AgentOptions>;
  /** Stops the agent at this path from outside. */
  during?: (path: string) => TreePlan["during"];
  /** What every reader is told. */
  status: string;
  stopReason?: "turns" | "consent";
  success: boolean;
  text: string;
  /** What the parent's model reads, without the trailing id. */
  report: string;
  errorDetails?: string;
  failedTool?: string;
  error?: { type: string; message: string };
};

const BOOM = new TypeError("boom");

const CASES: Record<string, Case> = {
  completed: { turns: [says("Whole.")], status: "completed", success: true, text: "Whole.", report: "Whole." },
  "out of turns": {
    turns: [[says("Half."), calls("look")]],
    child: { maxTurns: 1 },
    status: "incomplete",
    stopReason: "turns",
    success: true,
    text: "Half.",
    report: "[Notice: the subagent ran out of turns after 1; the result is incomplete]\nHalf.",
  },
  "timed out": {
    turns: [[streams("Ha", "lf."), hangs()]],
    child: { timeoutMs: 1500 },
    status: "timeout",
    success: false,
    text: "Half.",
    report: "Subagent timed out after 1500 ms (scout)\nPartial result:\nHalf.",
    errorDetails: "Subagent timed out after 1500 ms (scout)",
    error: { type: "timeout", message: "Subagent timed out after 1500 ms" },
  },
  cancelled: {
    turns: [[says("Half."), hangs()]],
    during:
      (path) =>
      ({ handle, at }) =>
        at(700, () => handle.cancel(path)),
    status: "cancelled",
    success: false,
    text: "Half.",
    report: "Subagent cancelled (scout)\nPartial result:\nHalf.",
    errorDetails: "Subagent cancelled (scout)",
    error: { type: "cancelled", message: "Subagent cancelled" },
  },
  "refused by the model": {
    turns: [[says("I will not."), refuses()]],
    status: "refused",
    success: false,
    text: "I will not.",
    report: "The subagent's model refused the task\nPartial result:\nI will not.",
    errorDetails: "The subagent's model refused the task: I will not.",
    error: { type: "refused", message: "The model refused the task" },
  },
  "approval no one can give": {
    turns: [calls("write", { to: "/etc" }), says("I wrote it!")],
    status: "incomplete",
    stopReason: "consent",
    success: true,
    text: "I wrote it!",
    report: "[Notice: an action needed approval and no one could be asked; the result is incomplete]\nI wrote it!",
    failedTool: "write",
  },
  "model error": {
    turns: [[says("Half."), fails("invalid_request", { message: "no such model" })]],
    status: "failed",
    success: false,
    text: "Half.",
    report: "Subagent failed: no such model\nPartial result:\nHalf.",
    errorDetails: "Subagent failed: no such model",
    error: { type: "model", message: "no such model" },
  },
  "crash in the provider": {
    turns: [fails(BOOM)],
    status: "failed",
    success: false,
    text: "",
    report: "Subagent failed: The model failed: boom",
    errorDetails: "Subagent failed: The model failed: boom",
    error: { type: "model", message: "The model failed: boom" },
  },
  "crash in a tool": {
    turns: [calls("crash"), says("It crashed, I went on.")],
    status: "completed",
    success: true,
    text: "It crashed, I went on.",
    report: "It crashed, I went on.",
  },
  "budget spent, with last words": {
    turns: [
      [says("Half."), calls("look"), uses({ input: 500, output: 100 })],
      [says("Last words."), uses({ input: 650, output: 20 })],
    ],
    child: { budget: { tokens: 2000 } },
    status: "budget_exceeded",
    success: false,
    text: "Last words.",
    report: "Token limit exceeded: N/2000\nPartial result:\nLast words.",
    errorDetails: "Token limit exceeded: N/2000",
    error: { type: "quota", message: "Token limit exceeded: N/2000" },
  },
  "budget spent, down to the last words": {
    turns: [[says("Half."), calls("look"), uses({ input: 1900, output: 100 })]],
    child: { budget: { tokens: 2000 } },
    status: "budget_exceeded",
    success: false,
    text: "Half.",
    report: "Token limit exceeded: N/2000\nPartial result:\nHalf.",
    errorDetails: "Token limit exceeded: N/2000",
    error: { type: "quota", message: "Token limit exceeded: N/2000" },
  },
};

const COMPLETION = { completed: "complete" } as const;

suite("C6: every ending is told apart", () => {
  for (const [name, given] of Object.entries(CASES)) {
    const { turns, child, during, status, stopReason, success, text, report } = given;
    const tools = () => [
      recordingTool("look"),
      recordingTool("write", { tier: "confirm" }),
      recordingTool("crash", { execute: () => Promise.reject(new Error("out of order")) }),
    ];

    test(`C6: ${name} is told apart in the report, in NamedAgentResult and in the tree`, async () => {
      const { stage, result, returned } = await runTree({
        script: { lead: [calls("subagent_scout", { task: "Look." }), says("I see.")], "lead/scout": turns },
        lead: { subagents: [agent({ name: "scout", tools: tools(), ...child })] },
        runtime: { limits: { summary: "never" } },
        during: during?.("lead/scout"),
      });
      const [end] = stage.eventsOf("run-end", "lead/scout");
      const id = `(subagent_id: ${end?.agentId})`;
      assert.deepEqual(readBy(stage, "subagent_scout").map(withoutNumbers), [`${report}\n${id}`]);
      assert.deepEqual(
        [
          end?.status,
          end?.stopReason,
          end?.text,
          end?.fault && { type: end.fault.type, message: withoutNumbers(end.fault.message) },
        ],
        [status, stopReason, text, given.error],
      );
      const data = returned[0]?.result.data as NamedAgentResult;
      assert.deepEqual(
        {
          success: data.success,
          finalResponse: data.finalResponse,
          errorDetails: data.errorDetails && withoutNumbers(data.errorDetails),
          failedTool: data.failedTool,
        },
        { success, finalResponse: text, errorDetails: given.errorDetails, failedTool: given.failedTool },
      );
      assert.equal(returned[0]?.result.success, success);
      assert.equal(returned[0]?.result.metadata?.completion_status, completion(status));
      assert.equal(returned[0]?.result.metadata?.max_turns_reached, stopReason === "turns");
      assert.equal(statuses(result)["lead/scout"], status);
      // A child's ending is data for its parent; only a missing approval reaches up.
      assert.deepEqual(
        [result.status, result.stopReason, result.text],
        stopReason === "consent" ? ["incomplete", "consent", "I see."] : ["completed", undefined, "I see."],
      );
    });

    test(`C6: ${name} is told apart as one of several in parallel`, async () => {
      const { stage } = await runTree({
        script: {
          lead: [
            calls("parallel_subagent", {
              tasks: [
                { label: "odd", task_prompt: "Look.", agent: "scout" },
                { label: "even", task_prompt: "Look.", agent: "scout" },
              ],
            }),
            says("I see."),
          ],
          "lead/odd": turns,
          "lead/even": [[after(100), says("Fine.")]],
        },
        lead: { delegate: true, subagents: [agent({ name: "scout", tools: tools(), ...child })] },
        runtime: { limits: { summary: "never" } },
        during: during?.("lead/odd"),
      });
      const { results, successful, failed } = parallelOutput(stage);
      const [odd, even] = results;
      // By its label; the words of a refusal are its output.
      const sentence = given.errorDetails?.replace("(scout)", "(odd)").replace(": I will not.", "");
      assert.deepEqual(
        [
          odd?.label,
          odd?.success,
          odd?.completion_status,
          odd?.max_turns_reached,
          odd?.error && withoutNumbers(odd.error),
        ],
        ["odd", success, completion(status), stopReason === "turns", sentence],
      );
      assert.equal(odd?.output, success ? report : text);
      assert.deepEqual([even?.label, even?.success, even?.output], ["even", true, "Fine."]);
      assert.deepEqual([successful, failed], success ? [2, 0] : [1, 1]);
    });

    test(`C6: ${name} is told apart at the root`, async () => {
      const { result } = await runTree({
        script: { lead: turns },
        lead: { delegate: false, tools: tools(), ...child },
        during: during?.("lead"),
      });
      assert.deepEqual(
        [result.status, result.stopReason, result.text, result.error?.type],
        [status, stopReason, text, given.error?.type],
      );
      assert.deepEqual(
        result.denied,
        stopReason === "consent" ? [{ path: "lead", toolName: "write", input: { to: "/etc" } }] : [],
      );
    });
  }
});

test("C6: a store that breaks ends the run as failed, with its own word and the child with it", async () => {
  const inner = openMemoryStore();
  let kept = 0;
  const store = wrapStore(inner, {
    append(rootId, events) {
      kept += events.length;
      if (kept > 8) throw new Error("No space is left");
      return inner.append(rootId, events);
    },
  });
  const { result } = await runTree({
    script: {
      lead: [calls("subagent", { label: "a", task_prompt: "Look." }), says("Unreached.")],
      "lead/a": [calls("look"), says("Unreached.")],
    },
    lead: { tools: [recordingTool("look")] },
    runtime: { store, requireStore: true },
  });
  assert.deepEqual(statuses(result), { lead: "failed", "lead/a": "failed" });
  assert.equal(result.error?.type, "store");
  assert.match(result.error?.message ?? "", /^The store failed 4 times to keep event \d+: No space is left$/);
});

function completion(status: string): string {
  return COMPLETION[status as keyof typeof COMPLETION] ?? status;
}

/** How much was asked for depends on estimates; the limit does not. */
function withoutNumbers(text: string): string {
  return text.replace(/\d+\/2000 \(spent \d+, reserved \d+, asked \d+: the call was not made\)/, "N/2000");
}
