/** The external agent of a rerun does what was recorded, each thing in its turn, and starts nothing. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { NO_AMOUNT } from "../../../../src/core/amount.ts";
import type { StoredBody, StoredEvent } from "../../../../src/core/event.ts";
import type { ExternalAgent, ExternalHost, SessionRequest } from "../../../../src/core/external-agent.ts";
import { SessionLost } from "../../../../src/core/external-agent.ts";
import type { RunOutcome } from "../../../../src/core/outcome.ts";
import { Scope } from "../../../../src/core/scope.ts";
import { toCassette } from "../../../../src/storage/replay/cassette.ts";
import { recordedExternalAgent, recordedExternalModel } from "../../../../src/storage/replay/recorded-external.ts";
import { recordedLedger } from "../../../../src/storage/replay/recorded-ledger.ts";
import { RecordedOrder } from "../../../../src/storage/replay/recorded-order.ts";
import { foldRecording, type Recording, type RunRecording } from "../../../../src/storage/replay/recording.ts";
import { sampleTree } from "../../../../src/testing/sample-tree.ts";
import {
  ANSWER,
  APPROVAL,
  EDIT_END,
  EDIT_START,
  EXTERNAL_USAGE,
  externalTree,
  QUESTION,
  SESSION,
  TEST_END,
  TEST_START,
  TURN,
  WORK,
} from "../../../support/external-tree.ts";
import { compareRuns } from "../../../support/rerun/compare-runs.ts";

function recorded(work: readonly StoredBody[], end: Partial<RunOutcome> = {}): { run: RunRecording; all: Recording } {
  const tree = sampleTree("claude");
  tree.start("claude", { details: { model: "external/claude-code" } });
  for (const body of work) tree.add("claude", body);
  tree.end("claude", { usage: EXTERNAL_USAGE, costUsd: 0.02, ...end });
  const all = foldRecording(tree.events);
  const run = all?.runs.get("claude");
  assert.ok(all !== undefined && run !== undefined);
  return { run, all };
}

/** Whose turn was waited for, and what the agent did then. */
class Stage {
  readonly log: string[] = [];
  readonly closing = new AbortController();
  readonly agent: ExternalAgent;
  readonly host: ExternalHost = {
    onText: (text) => void this.log.push(`says ${text}`),
    onThought: (text) => void this.log.push(`thinks ${text}`),
    onPlan: () => void this.log.push("plans"),
    onCall: ({ phase, callId }) => void this.log.push(`${phase} ${callId}`),
    onUsage: ({ tokens, costUsd }) => {
      this.log.push(`used ${tokens} ${costUsd}`);
      this.onUsage?.();
    },
    approve: async ({ callId, toolName, input }) => {
      this.log.push(`asks ${callId} ${toolName} ${JSON.stringify(input)}`);
      return true;
    },
    callTool: async () => assert.fail("a recorded agent uses no tools"),
  };
  onUsage: (() => void) | undefined;

  constructor(run: RunRecording) {
    const turn = (event: StoredEvent | undefined, signal: AbortSignal | undefined): Promise<void> => {
      this.log.push(`turn of ${event?.type ?? "nothing"}`);
      if (event !== undefined) return Promise.resolve();
      if (signal?.aborted) return Promise.reject(signal.reason);
      return new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
    };
    const conductor = { turn, closing: this.closing.signal };
    this.agent = recordedExternalAgent(run, { conductor, ids: { toActual: (value) => value } });
  }

  open(sessionId?: string) {
    const none = undefined;
    const allowance = { depth: 1, maxDepth: 3, tokens: none, costUsd: none, durationMs: none };
    const request: SessionRequest = { cwd: "/srv", sessionId, allowance, signal: new AbortController().signal };
    return this.agent.open(request, this.host);
  }
}

const never = new AbortController().signal;

suite("D5: the external agent of a rerun", () => {
  test("the agent does what was recorded, in the recorded order, and answers with the recorded bill", async () => {
    const stage = new Stage(recorded(WORK).run);
    assert.deepEqual(
      [stage.agent.serverName, stage.agent.maxCostUsd, stage.agent.timeoutMs],
      ["Claude Code", 0.5, undefined],
    );
    const session = await stage.open();
    assert.equal(session.id, "session-1");
    assert.deepEqual(await session.prompt("Look around.", never), {
      stop: "done",
      usage: EXTERNAL_USAGE,
      costUsd: 0.02,
    });
    await session.close();
    assert.deepEqual(stage.log, [
      "turn of outside-session",
      "turn of outside-call",
      "start t1",
      "turn of outside-call",
      "end t1",
      "turn of outside-call",
      "start t2",
      "turn of approval-request",
      'asks t2 write_file {"path":"src/a.ts"}',
      "turn of outside-call",
      "end t2",
      "turn of message-end",
      "says It works now.",
    ]);
  });

  test("the agent answers each prompt of a run with its own answer", async () => {
    const second = { ...ANSWER, turn: 2, message: { role: "assistant", content: [{ type: "text", text: "Again." }] } };
    const stage = new Stage(recorded([SESSION, TURN, TEST_START, TEST_END, ANSWER, TURN, second as StoredBody]).run);
    const session = await stage.open();
    await session.prompt("One.", never);
    stage.log.length = 0;
    await session.prompt("Two.", never);
    assert.deepEqual(stage.log, ["turn of message-end", "says Again."]);
  });

  for (const [finish, stop] of [
    ["stop", "done"],
    ["length", "length"],
    ["content-filter", "refused"],
    ["other", "cancelled"],
  ] as const) {
    test(`the agent stops as ${stop} where ${finish} was recorded`, async () => {
      const stage = new Stage(recorded([SESSION, TURN, { ...ANSWER, finish } as StoredBody]).run);
      assert.equal((await (await stage.open()).prompt("Go.", never)).stop, stop);
    });
  }

  test("the agent fails in the recorded words, with the recorded estimate", async () => {
    const estimated = { ...ANSWER, finish: "other", usage: { ...EXTERNAL_USAGE, estimated: true } } as StoredBody;
    const fault = { type: "model", message: "claude died" } as const;
    const stage = new Stage(recorded([SESSION, TURN, estimated], { status: "failed", fault }).run);
    const session = await stage.open();
    await assert.rejects(session.prompt("Go.", never), { name: "ModelError", message: "claude died" });
    assert.deepEqual(stage.log.slice(1), ["turn of message-end", "says It works now.", "used 940 0.02"]);
  });

  test("an agent that could not be started fails again, in the recorded words", async () => {
    const fault = { type: "model", message: "claude could not be started" } as const;
    const stage = new Stage(recorded([], { status: "failed", fault }).run);
    await assert.rejects(stage.open(), { name: "ModelError", message: fault.message });
    assert.deepEqual(stage.log, ["turn of run-end"]);
    assert.equal(stage.agent.serverName, "claude-code");
  });

  test("an agent that went over its budget reports it, is stopped, and has its answer", async () => {
    const work = [SESSION, TURN, ANSWER, { type: "budget-warning", message: "Token limit exceeded: 940/500" }] as const;
    const stage = new Stage(recorded(work, { status: "budget_exceeded" }).run);
    const stop = new AbortController();
    stage.onUsage = () => stop.abort(new Error("too much"));
    const answer = await (await stage.open()).prompt("Go.", stop.signal);
    assert.deepEqual([answer.usage, answer.costUsd], [EXTERNAL_USAGE, 0.02]);
    assert.deepEqual(stage.log.slice(1), ["used 940 0.02", "turn of message-end", "says It works now."]);
  });

  test("an agent that was interrupted waits until it is stopped", async () => {
    const stage = new Stage(recorded([SESSION, TURN, TEST_START]).run);
    const stop = new AbortController();
    const answering = (await stage.open()).prompt("Go.", stop.signal);
    stop.abort(new Error("stopped"));
    await assert.rejects(answering, { message: "stopped" });
  });

  test("the agent continues its recorded session, and has lost every other", async () => {
    const stage = new Stage(recorded(WORK).run);
    assert.equal((await stage.open("session-1")).id, "session-1");
    await assert.rejects(stage.open("session-0"), SessionLost);
  });

  test("the agent is the model of its run, and of no other", () => {
    const playback = {
      conductor: { turn: async () => {}, closing: never },
      ids: { toActual: <T>(value: T) => value },
    };
    const recording = foldRecording(externalTree().events);
    const modelOf = (runId: string) => {
      const run = recording?.runs.get(runId);
      return run && recordedExternalModel(run, playback);
    };
    assert.equal(modelOf("lead"), undefined);
    assert.equal(modelOf("claude")?.id, "external/claude-code");
    assert.equal(modelOf("claude")?.external?.serverName, "Claude Code");
  });
});

suite("D5: the recording of an external agent", () => {
  test("the recording is played act by act: none of them follows from another", () => {
    const { run, all } = recorded(WORK);
    const order = new RecordedOrder(all);
    const acts = run.events.filter(({ type }) => /^outside|^approval/.test(type));
    assert.equal(acts.length, 7);
    for (const act of acts) assert.equal(order.lastConsequence(act), act);
  });

  test("the recording is the same with another number of restarts, and differs in another result", () => {
    const restart: StoredBody[] = [
      { type: "resume", usedMs: 5 },
      { type: "notice", reason: "interrupted", text: "You were interrupted." },
      { type: "outside-session", server: "Claude Code", sessionId: "session-1", continued: true },
      TURN,
    ];
    const [whole, resumed] = [
      [SESSION, TURN, TEST_START, TEST_END, ANSWER],
      [SESSION, TURN, TEST_START, TEST_END, ...restart, ANSWER],
    ].map((work) => recorded(work).all.events);
    assert.deepEqual(compareRuns(resumed ?? [], whole ?? []), { matches: true, firstDifference: undefined });
    const other = recorded([SESSION, TURN, TEST_START, { ...TEST_END, output: "3 passed" } as StoredBody, ANSWER]);
    const { firstDifference } = compareRuns(whole ?? [], other.all.events);
    assert.equal(
      firstDifference?.sentence,
      'claude, turn 1, the end of its own Bash (output): expected "3 failed", found "3 passed"',
    );
  });

  test("the recording grants what was granted, and refuses in the middle of its work what was refused", async () => {
    const grants = async (work: readonly StoredBody[], end: Partial<RunOutcome> = {}) => {
      const progress = { hasCome: () => false, isNext: () => false, turn: async () => {} };
      const ledger = recordedLedger(recorded(work, end).all, {}, progress);
      const holding = ledger.enter("claude");
      const need = { promptTokens: 10, outputCap: 1, minOutput: 0, price: undefined };
      const ask = { need, lastWords: NO_AMOUNT, closing: undefined, onWait: () => {} };
      const reserve = async () => (await holding.reserve(ask, new Scope())).outputCap;
      return [
        await reserve(),
        await reserve().catch(({ message }) => message),
        await reserve().catch(({ message }) => message),
      ];
    };
    const warning: StoredBody = { type: "budget-warning", message: "Token limit exceeded: 5000/4106" };
    assert.deepEqual(await grants([SESSION, TURN, ANSWER]), [4096, Infinity, Infinity]);
    assert.deepEqual(await grants([SESSION, TURN, ANSWER, warning], { status: "budget_exceeded" }), [
      4096,
      warning.message,
      warning.message,
    ]);
    assert.deepEqual((await grants([], { status: "failed" }))[0], Infinity);
  });

  test("the recording of an external agent cannot be a cassette", () => {
    const recording = foldRecording(
      externalTree([SESSION, TURN, EDIT_START, QUESTION, APPROVAL, EDIT_END, ANSWER]).events,
    );
    assert.ok(recording !== undefined);
    assert.throws(() => toCassette(recording, "lead"), {
      name: "UserError",
      message:
        "The run lead cannot be saved as a cassette: lead/claude was the work of external/claude-code, and a cassette has answers of models only. Play the stored run with sous replay --rerun",
    });
  });
});
