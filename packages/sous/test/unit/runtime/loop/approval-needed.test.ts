/** `ApprovalNeeded`: a tool that asks by itself, before it does anything, whatever the rules allow. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../../src/core/agent.ts";
import type { ApprovalPolicy, ApprovalRequest, RuleAnswer } from "../../../../src/core/approval.ts";
import { ApprovalNeeded } from "../../../../src/core/errors.ts";
import type { EventOf, SousEvent } from "../../../../src/core/event.ts";
import { NO_OWNER } from "../../../../src/core/store.ts";
import type { Tool, ToolTier } from "../../../../src/core/tool.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { checkHistory } from "../../../../src/testing/checker.ts";
import { calls, says } from "../../../../src/testing/steps.ts";
import { readBy } from "../../../support/requirements/run-tree.ts";
import { openStage, type Stage, simpleTool } from "../../../support/requirements/support.ts";
import { rerunBothWays } from "../../../support/rerun/support.ts";
import { openTown, type Parking, resultsIn } from "../../../support/runtime/tree/restore/parking.ts";

const REASON = 'The description of post has changed: "Posts." is now "Posts, and mails a copy."';

/** What a server offers, and what was agreed to; shared by all processes of a test. */
type Pins = { offered: string; approved: string; ran: number; isSlow?: boolean };

function postTool(pins: Pins, tier: ToolTier = "confirm"): Tool {
  const ask = (): void => {
    const { offered } = pins;
    if (offered !== pins.approved)
      throw new ApprovalNeeded(offered, () => void Object.assign(pins, { approved: offered }));
  };
  const post = (): string => {
    ask();
    pins.ran += 1;
    return "posted";
  };
  return simpleTool("post", pins.isSlow === true ? async () => post() : post, { tier, effect: "unsafe" });
}

function changed(): Pins {
  return { offered: REASON, approved: "Posts.", ran: 0 };
}

type Asked = Pick<ApprovalRequest, "reason" | "isFromTool">;

type Case = { pins?: Pins; tier?: ToolTier; approve?: Parameters<typeof openStage>[1] };

async function runOnce({ pins = changed(), tier = "observe", approve }: Case) {
  const stage: Stage = openStage({ lead: [calls("post", { text: "hi" }, "p1"), says("Done.")] }, approve);
  const lead = stage.lead({ tools: [postTool(pins, tier)] });
  const result = await stage.run(lead);
  return { stage, lead, result, pins, told: stage.resultsOf("lead")[0] };
}

function asking(answer: (asked: ApprovalRequest) => ReturnType<NonNullable<ApprovalPolicy["ask"]>>) {
  const asked: Asked[] = [];
  const approve = (request: ApprovalRequest) => {
    asked.push({ reason: request.reason, isFromTool: request.isFromTool });
    return answer(request);
  };
  return { asked, approve: { runtime: { approve } } };
}

function approvalOf(events: readonly SousEvent[]): unknown[] {
  return events.flatMap((event): unknown[] => {
    if (event.type === "approval-request") return [["asked", event.toolReason]];
    return event.type === "approval-end" ? [[event.allowed, event.by]] : [];
  });
}

suite("a tool that asks by itself", () => {
  for (const isSlow of [false, true])
    test(`a tool that asks by itself is called once more when the person agrees (${isSlow ? "thrown later" : "thrown at once"})`, async () => {
      const { asked, approve } = asking(() => ({ allow: true }));
      const { stage, result, pins, told, lead } = await runOnce({ pins: { ...changed(), isSlow }, approve });
      assert.deepEqual(asked, [{ reason: REASON, isFromTool: true }]);
      assert.deepEqual([pins.ran, pins.approved, told?.output, result.status], [1, REASON, "posted", "completed"]);
      assert.deepEqual(approvalOf(stage.events), [
        ["asked", REASON],
        [true, "person"],
      ]);
      await rerunBothWays(stage, result.runId, [lead]);
      assert.equal(pins.ran, 1, "a rerun calls nothing");
    });

  test("a tool that asks by itself asks after the question of its tier, and each is answered by itself", async () => {
    const { asked, approve } = asking(() => ({ allow: true }));
    const { stage, result, pins, lead } = await runOnce({ tier: "confirm", approve });
    assert.deepEqual(asked, [
      { reason: undefined, isFromTool: undefined },
      { reason: REASON, isFromTool: true },
    ]);
    assert.equal(pins.ran, 1);
    await rerunBothWays(stage, result.runId, [lead]);
  });

  test("a tool that asks by itself is not called when the person says no, and nothing is approved", async () => {
    const { approve } = asking(({ isFromTool }) =>
      isFromTool ? { allow: false, reason: "not this" } : { allow: true },
    );
    const { stage, result, pins, told, lead } = await runOnce({ tier: "confirm", approve });
    assert.deepEqual([pins.ran, pins.approved], [0, "Posts."]);
    assert.deepEqual([told?.output, told?.isError], ["The user did not allow post: not this", true]);
    assert.equal(result.status, "completed");
    await rerunBothWays(stage, result.runId, [lead]);
  });

  test("a tool that asks by itself without a person to ask is refused for lack of approval, and the model does not read its reason", async () => {
    const { stage, result, pins, told, lead } = await runOnce({});
    assert.deepEqual([result.status, result.stopReason], ["incomplete", "consent"]);
    assert.deepEqual([pins.ran, pins.approved], [0, "Posts."]);
    assert.equal(told?.output, "post needs approval, and no one can be asked. Continue without it.");
    assert.deepEqual(result.denied, [{ path: "lead", toolName: "post", input: { text: "hi" }, toolReason: REASON }]);
    assert.deepEqual(approvalOf(stage.events), [
      ["asked", REASON],
      [false, "nobody"],
    ]);
    assert.ok(!JSON.stringify(stage.requestsOf("lead")).includes("mails a copy"));
    await rerunBothWays(stage, result.runId, [lead]);
  });

  test("a rule that allows does not answer the tool, and one that denies has denied before", async () => {
    const policy = (effect: "allow" | "deny", ask?: ApprovalPolicy["ask"]) => {
      const rule: RuleAnswer = effect === "allow" ? { effect } : { effect, reason: "deny post" };
      return { runtime: { approve: { decide: () => rule, ask, asksAgain: true } } };
    };
    const alone = await runOnce({ tier: "confirm", approve: policy("allow") });
    assert.deepEqual([alone.result.stopReason, alone.pins.ran], ["consent", 0]);
    const asked: unknown[] = [];
    const ask: ApprovalPolicy["ask"] = ({ isFromTool }) => {
      asked.push(isFromTool);
      return { allow: true };
    };
    const watched = await runOnce({ tier: "confirm", approve: policy("allow", ask) });
    assert.deepEqual([asked, watched.pins.ran], [[true], 1]);
    await rerunBothWays(watched.stage, watched.result.runId, [watched.lead]);
    const denied = await runOnce({ tier: "confirm", approve: policy("deny", ask) });
    assert.deepEqual([asked.length, denied.pins.ran], [1, 0]);
    assert.match(denied.told?.output ?? "", /^A rule of the user does not allow this call of post/);
  });

  test("a tool that asks by itself a second time has failed, and its words do not reach the model", async () => {
    const { asked, approve } = asking(() => ({ allow: true }));
    const pins = changed();
    Object.defineProperty(pins, "approved", { get: () => "never enough", set: () => {} });
    const { told, stage } = await runOnce({ pins, approve });
    assert.equal(asked.length, 1);
    assert.equal(told?.output, "post asked for approval again after it was given. The call was not made.");
    assert.ok(!JSON.stringify(stage.requestsOf("lead")).includes("mails a copy"));
  });

  test("a tool that asks by itself and cannot keep the answer has failed without being called", async () => {
    const stage: Stage = openStage(
      { lead: [calls("post", {}), says("Done.")] },
      { runtime: { approve: () => ({ allow: true }) } },
    );
    let called = 0;
    const post = simpleTool("post", () => {
      called += 1;
      throw new ApprovalNeeded("It changed.", () => Promise.reject(new Error("the disk is full")));
    });
    await stage.run(stage.lead({ tools: [post] }));
    assert.deepEqual([called, stage.resultsOf("lead")[0]?.output], [1, "the disk is full"]);
  });

  test("a tool that asks by itself is not called when its run is cancelled while the person thinks", async () => {
    const approve = { runtime: { approve: () => new Promise<never>(() => {}) } };
    const stage: Stage = openStage({ lead: [calls("post", {}, "p1"), says("Done.")] }, approve);
    const pins = changed();
    const handle = stage.start(stage.lead({ tools: [postTool(pins, "observe")] }));
    stage.when(
      ({ type }) => type === "approval-request",
      () => void handle.cancel(),
    );
    const result = await stage.end(handle);
    assert.deepEqual([result.status, pins.ran, pins.approved], ["cancelled", 0, "Posts."]);
    assert.deepEqual(approvalOf(stage.events), [
      ["asked", REASON],
      [false, "cancelled"],
    ]);
    await rerunBothWays(stage, result.runId, [stage.lead({ tools: [postTool(pins, "observe")] })]);
  });

  test("the reason of a tool that asks by itself has no codes of terminals and no secrets, and is shown whole or refused", async () => {
    const { asked, approve } = asking(() => ({ allow: true }));
    const secret = "s3cr3t-value-of-a-token";
    const pins = { ...changed(), offered: `\u001b[31m${secret}\u001b[0m ${"x".repeat(100_000)}` };
    const environment = { MY_TOKEN: secret };
    const { stage } = await runOnce({ pins, approve: { runtime: { ...approve.runtime, host: { environment } } } });
    const [request] = stage.eventsOf("approval-request");
    assert.equal(asked[0]?.reason, request?.toolReason);
    assert.equal(asked[0]?.reason, `[redacted: MY_TOKEN] ${"x".repeat(100_000)}`);
    const long = { ...changed(), offered: "x".repeat(256 * 1024) };
    const { stage: refused } = await runOnce({ pins: long, approve });
    assert.deepEqual([refused.eventsOf("approval-request"), long.ran, asked.length], [[], 0, 1]);
    assert.match(readBy(refused, "post")[0] ?? "", /too long for a person to read \(over 256 kB\)/);
  });

  test("a tool that asks by itself leaves the hook after a call alone when it was refused, and is followed by it when it ran", async () => {
    for (const allow of [true, false]) {
      const after: string[] = [];
      const stage: Stage = openStage(
        { lead: [calls("post", {}), says("Done.")] },
        { runtime: { approve: () => ({ allow }) } },
      );
      const hooks = { afterToolCall: (_: unknown, { output }: { output: string }) => void after.push(output) };
      await stage.run(stage.lead({ tools: [postTool(changed(), "observe")], hooks }));
      assert.deepEqual(after, allow ? ["posted"] : []);
    }
  });

  test("a tool in a child that asks by itself asks the person at the root", async () => {
    const { asked, approve } = asking(() => ({ allow: true }));
    const pins = changed();
    const stage: Stage = openStage(
      {
        lead: [calls("subagent_scout", { task: "Post it." }), says("Done.")],
        "lead/scout": [calls("post", {}), says("Posted.")],
      },
      approve,
    );
    const scout = agent({ name: "scout", description: "Posts.", tools: [postTool(pins, "observe")] });
    const lead = stage.lead({ subagents: [scout] });
    const { runId } = await stage.run(lead);
    assert.deepEqual([asked, pins.ran], [[{ reason: REASON, isFromTool: true }], 1]);
    await rerunBothWays(stage, runId, [lead, scout]);
  });
});

suite("a tool that asks by itself, with an answer that comes later", () => {
  function townOf(pins: Pins, tier: ToolTier, approve?: Parking["approve"]) {
    const script: Parking["script"] = {
      lead: (request) => {
        const [result] = resultsIn(request, "post");
        return result === undefined ? calls("post", { text: "hi" }, "p1") : says(`Result: ${result}`);
      },
    };
    return openTown({ script, tools: () => [postTool(pins, tier)], ...(approve && { approve }) });
  }

  /** The first question is answered at once, the one of the tool later. */
  const laterForTool: Parking["approve"] = ({ isFromTool }) => (isFromTool ? "later" : { allow: true });

  test("a call parks, says why, and is made after `resume` though its effect is unsafe", async () => {
    const pins = changed();
    const town = townOf(pins, "confirm", laterForTool);
    const { handle, result } = await town.process().run();
    assert.deepEqual([result.status, result.stopReason, pins.ran], ["incomplete", "consent", 0]);
    const [question] = result.questions;
    assert.equal(question?.action, `lead wants to use post: text: hi · asked because ${REASON}`);
    const answers = { [question?.id ?? ""]: { allow: true } } as const;
    const never = () => assert.fail("it was asked again");
    const { result: end } = await town.process({ approve: never }).resume(handle.id, { answers });
    assert.deepEqual([end.text, pins.ran, pins.approved], ["Result: posted", 1, REASON]);
    const events = await town.events(handle.id);
    assert.deepEqual(checkHistory(events, { resultUsage: end.usage }), []);
    assert.deepEqual(approvalOf(events), [
      ["asked", undefined],
      [true, "person"],
      ["asked", REASON],
      [true, "person"],
    ]);
    await rerunBothWays(town, handle.id, [town.process().lead]);
  });

  test("a tool that asks by itself is not called when the later answer is no", async () => {
    const pins = changed();
    const town = townOf(pins, "observe", laterForTool);
    const { handle, result } = await town.process().run();
    const answers = { [result.questions[0]?.id ?? ""]: { allow: false, reason: "no" } } as const;
    const { result: end } = await town.process().resume(handle.id, { answers });
    assert.deepEqual([end.text, pins.ran, pins.approved], ["Result: The user did not allow post: no", 0, "Posts."]);
    await rerunBothWays(town, handle.id, [town.process().lead]);
  });

  test("a tool that asks by itself asks again when its reason is another one by then: no one has agreed to that", async () => {
    const pins = changed();
    const town = townOf(pins, "observe", laterForTool);
    const { handle, result } = await town.process().run();
    pins.offered = "Now it is something else.";
    const answers = { [result.questions[0]?.id ?? ""]: { allow: true } } as const;
    const again = await town.process().resume(handle.id, { answers });
    assert.equal(pins.ran, 0);
    assert.equal(again.result.stopReason, "consent");
    assert.match(again.result.questions[0]?.action ?? "", /asked because Now it is something else\.$/);
    assert.notEqual(again.result.questions[0]?.id, result.questions[0]?.id);
  });

  test("an answer to the question of the tier is none to the question of the tool", async () => {
    const pins = changed();
    const town = townOf(pins, "confirm");
    const { handle, result } = await town.process().run();
    assert.equal(result.questions[0]?.action, "lead wants to use post: text: hi");
    const answers = { [result.questions[0]?.id ?? ""]: { allow: true } } as const;
    const again = await town.process().resume(handle.id, { answers });
    assert.equal(pins.ran, 0);
    const [question] = again.result.questions;
    assert.match(question?.action ?? "", /asked because The description/);
    const last = await town.process().resume(handle.id, { answers: { [question?.id ?? ""]: { allow: true } } });
    assert.deepEqual([last.result.text, pins.ran], ["Result: posted", 1]);
    await rerunBothWays(town, handle.id, [town.process().lead]);
  });

  test("a call that is resumed without an answer asks the same question again, and a rerun sees one", async () => {
    const pins = changed();
    const town = townOf(pins, "confirm", laterForTool);
    const { handle, result } = await town.process().run();
    const again = await town.process().resume(handle.id);
    assert.deepEqual(again.result.questions, result.questions);
    const last = await town.process({ approve: () => ({ allow: true }) }).resume(handle.id);
    assert.deepEqual([last.result.text, pins.ran], ["Result: posted", 1]);
    await rerunBothWays(town, handle.id, [town.process().lead]);
  });

  test("rules that ask again after a restart ask about the call too, and a rerun sees each once", async () => {
    const pins = changed();
    const policy = (ask: ApprovalPolicy["ask"]) => ({
      approve: { decide: () => undefined, ask, asksAgain: true },
    });
    const town = townOf(pins, "confirm");
    const first = await town.process({ runtime: policy(laterForTool) }).run();
    const asked: unknown[] = [];
    const yes: ApprovalPolicy["ask"] = ({ isFromTool }) => {
      asked.push(isFromTool);
      return { allow: true };
    };
    const { result } = await town.process({ runtime: policy(yes) }).resume(first.handle.id);
    assert.deepEqual([asked, result.text, pins.ran], [[undefined, true], "Result: posted", 1]);
    await rerunBothWays(town, first.handle.id, [town.process().lead]);
  });
});

test("a call whose tool was allowed to continue may have had its effect: after a crash it is not made again", async () => {
  const pins = changed();
  const { approve } = asking(() => ({ allow: true }));
  const { stage, result, lead } = await runOnce({ pins, approve });
  const events = await stage.store.read(result.runId);
  const cut = events.findIndex(({ type }) => type === "approval-end");
  const store = openMemoryStore();
  store.append(result.runId, structuredClone(events.slice(0, cut + 1)), NO_OWNER);
  const other: Stage = openStage({ lead: [says("Done.")] }, { runtime: { store } });
  pins.ran = 0;
  const handle = other.runtime.resume(result.runId, { agent: lead.with({ model: other.model }) });
  await other.world.run(() => handle.result);
  assert.equal(pins.ran, 0);
  const end = (await store.read(result.runId)).find((event): event is EventOf<"tool-call-end"> => {
    return event.type === "tool-call-end";
  });
  assert.equal(end?.metadata?.error_type, "unknown_outcome");
});
