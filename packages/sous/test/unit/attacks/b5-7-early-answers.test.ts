/** A yes that was meant for something else: what is typed before a question was there to be read does not answer it. */

import assert from "node:assert/strict";
import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import { suite, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import * as z from "zod";
import { LineAnswers } from "../../../src/app/cli/chat/plain-chat.ts";
import { MIN_SHOWN_MS, Questions } from "../../../src/app/cli/chat/questions.ts";
import type { ApprovalAnswer } from "../../../src/core/approval.ts";
import { type Tool, tool } from "../../../src/core/tool.ts";
import { calls, hangs, says } from "../../../src/testing/steps.ts";
import { openStage, type Stage } from "../../support/app/cli/chat-stage.ts";
import { requestFor } from "../../support/runtime/rights/requests.ts";

const ESCAPE = "\u001b";
const CTRL_C = "\u0003";
const TOO_EARLY = "only just appeared";

function terminal(ran: string[]): Tool<{ command: string }> {
  return tool({
    name: "terminal",
    description: "Runs a command.",
    tier: "confirm",
    inputSchema: z.object({ command: z.string() }),
    execute: ({ command }) => void ran.push(command),
  });
}

/** Two children ask at once: the question of the second waits behind that of the first. */
async function twoQuestions(ran: string[]): Promise<Stage> {
  const tasks = [
    { label: "first", task_prompt: "Say hello" },
    { label: "second", task_prompt: "Make a file" },
  ];
  const stage = openStage(
    {
      sous: [[calls("parallel_subagent", { tasks })], [says("Finished.")]],
      "sous/first": [[calls("terminal", { command: "echo harmless" })], [hangs()]],
      "sous/second": [[calls("terminal", { command: "touch marker" })], [says("Made.")]],
    },
    { tools: [terminal(ran)], isTimeStopped: true },
  );
  stage.type("go\r");
  await stage.screen.until("(1 of 2)");
  return stage;
}

/** Which of the two is first is not ours to choose. */
function namesOf({ screen }: Stage): { first: string; second: string } {
  const isHarmlessFirst = /wants to use terminal[^\n]*\n {2}echo harmless/.test(screen.text());
  return isHarmlessFirst ? { first: "first", second: "second" } : { first: "second", second: "first" };
}

/** The first question is withdrawn at a moment that no key brought, and the second takes its place on the screen. */
async function withdrawFirst(stage: Stage): Promise<void> {
  const { first, second } = namesOf(stage);
  stage.pause();
  stage.chat.chat.cancel(`sous/${first}`, "stop");
  await stage.screen.until((text) => text.includes(`${second} wants to use terminal`) && !text.includes("(1 of 2)"));
}

suite("B5.7: a key before a question could be read is no answer", { concurrency: 4 }, () => {
  const early: [what: string, keys: string[], after: number][] = [
    ["y at once", ["y"], 0],
    ["y almost in time", ["y"], MIN_SHOWN_MS - 100],
    ["a at once, which would hold for always", ["a"], 0],
    ["Esc and y at once", [ESCAPE, "y"], 0],
    ["y after another key", ["\u001b[B", "y"], 100],
  ];
  for (const [what, keys, after] of early) {
    test(`B5.7: the question before was withdrawn, and ${what} does not allow the one in its place`, async () => {
      const ran: string[] = [];
      await using stage = await twoQuestions(ran);
      await withdrawFirst(stage);
      stage.pause(after);
      for (const key of keys) stage.type(key);
      await stage.screen.until(TOO_EARLY);
      assert.deepEqual([ran, stage.remembered], [[], []]);
      assert.doesNotMatch(stage.screen.text(), /^> [ya]/m, "the key is not typed into the line");
    });
  }

  test("B5.7: a no at once does not answer the question in its place either, and Ctrl-C does, since it lets nothing through", async () => {
    const ran: string[] = [];
    await using stage = await twoQuestions(ran);
    await withdrawFirst(stage);
    stage.type("n");
    await stage.screen.until(TOO_EARLY);
    assert.match(stage.screen.text(), /wants to use terminal/);
    stage.type(CTRL_C);
    await stage.screen.until("not allowed: terminal");
    assert.deepEqual(ran, []);
  });

  test("B5.7: a y that is struck twice allows one action", async () => {
    const ran: string[] = [];
    await using stage = await twoQuestions(ran);
    stage.pause();
    stage.type("y");
    await stage.screen.until((text) => text.includes("wants to use terminal") && !text.includes("(1 of 2)"));
    stage.type("y");
    await stage.screen.until(TOO_EARLY);
    assert.equal(ran.length, 1);
  });

  test("B5.7: a y that is held down for three seconds allows one action", async () => {
    const ran: string[] = [];
    await using stage = await twoQuestions(ran);
    stage.pause();
    for (let time = 0; time < 3000; time += 30) {
      stage.type("y");
      stage.pause(30);
      if (time % 600 === 0) await stage.screen.until("wants to use terminal");
    }
    await stage.screen.until(TOO_EARLY);
    assert.equal(ran.length, 1);
  });

  test("B5.7: a question that was never drawn cannot be answered, however long it waits", async () => {
    const questions = new Questions(
      () => ({ title: "?", lines: [], why: [], rule: undefined }),
      () => {},
    );
    const asked = questions.ask(requestFor("terminal", { command: "touch marker" }), new AbortController().signal);
    assert.equal(questions.answering(1e9, true), undefined);
    questions.shown(1e9, true);
    questions.hidden();
    assert.equal(questions.answering(2e9, true), undefined);
    questions.refuse();
    assert.deepEqual(await asked, { allow: false });
  });

  test("B5.7: after the terminal was given away, the question must be in sight again", async () => {
    const ran: string[] = [];
    await using stage = await twoQuestions(ran);
    stage.chat.clear();
    stage.pause();
    stage.type("y");
    await stage.screen.until(TOO_EARLY);
    assert.deepEqual(ran, []);
  });

  test("B5.7: the rest of a reason does not answer the question that comes in between", async () => {
    const ran: string[] = [];
    await using stage = await twoQuestions(ran);
    const { first } = namesOf(stage);
    stage.pause();
    stage.type("r");
    await stage.screen.until("why not>");
    stage.type("Not toda");
    stage.chat.chat.cancel(`sous/${first}`, "stop");
    await stage.screen.until((text) => !text.includes("why not>") && !text.includes("(1 of 2)"));
    stage.type("y");
    stage.type("\r");
    await stage.screen.until("wants to use terminal");
    assert.deepEqual(ran, []);
  });

  test("a question that has been in sight for long enough is answered by one key", async () => {
    const ran: string[] = [];
    await using stage = await twoQuestions(ran);
    await withdrawFirst(stage);
    stage.pause(MIN_SHOWN_MS);
    stage.type("y");
    await stage.screen.until("allowed once");
    await stage.screen.until((text) => !text.includes("wants to use"));
    assert.equal(ran.length, 1);
  });
});

/** A chat in plain lines whose clock is set by hand. */
function lineStage() {
  let now = 0;
  const input = new PassThrough();
  const reader = createInterface({ input, terminal: false });
  const told: string[] = [];
  const clock = { monotonic: () => now };
  const lines = new LineAnswers({
    reader,
    clock,
    tell: (text) => told.push(text),
    tellWhole: (rows) => told.push(rows.join("\n")),
  });
  const questions = new Questions(
    ({ input: asked }) => ({ title: "asks", lines: [JSON.stringify(asked)], why: [], rule: undefined }),
    () => void lines.answer(questions),
  );
  const ask = (command: string, signal = new AbortController().signal): Promise<ApprovalAnswer> =>
    Promise.resolve(questions.ask(requestFor("terminal", { command }), signal));
  return {
    told,
    ask,
    lines,
    wait(milliseconds: number): void {
      now += milliseconds;
    },
    end: () => void input.end(),
    async type(text: string): Promise<void> {
      input.write(text);
      // The line passes through streams, and each of them takes its turn.
      for (let turn = 0; turn < 5; turn++) await setImmediate();
    },
    [Symbol.dispose]: () => reader.close(),
  };
}

const STILL_OPEN = "still open";

async function stateOf(answer: Promise<ApprovalAnswer>): Promise<ApprovalAnswer | typeof STILL_OPEN> {
  for (let turn = 0; turn < 5; turn++) await setImmediate();
  return Promise.race([answer, Promise.resolve(STILL_OPEN as typeof STILL_OPEN)]);
}

suite("B5.7: a line before a question could be read is no answer", () => {
  test("B5.7: a line that was typed ahead stays a message", async () => {
    using stage = lineStage();
    await stage.type("y\nyes\n");
    stage.wait(5000);
    const answer = stage.ask("touch marker");
    assert.equal(await stateOf(answer), STILL_OPEN);
    stage.wait(MIN_SHOWN_MS);
    await stage.type("n\n");
    assert.deepEqual(await stateOf(answer), { allow: false, reason: undefined });
    const messages = stage.lines[Symbol.asyncIterator]();
    assert.deepEqual([(await messages.next()).value, (await messages.next()).value], ["y", "yes"]);
  });

  test("B5.7: a line right after the question is dropped, and the next one answers", async () => {
    using stage = lineStage();
    const answer = stage.ask("touch marker");
    stage.wait(MIN_SHOWN_MS - 1);
    await stage.type("y\n");
    assert.equal(await stateOf(answer), STILL_OPEN);
    assert.match(stage.told.at(-1) ?? "", /only just appeared.*It was ignored: y$/);
    stage.wait(1);
    await stage.type("y\n");
    assert.deepEqual(await stateOf(answer), { allow: true });
  });

  test("B5.7: a yes for a question that was withdrawn does not answer the one in its place", async () => {
    using stage = lineStage();
    const first = new AbortController();
    const withdrawn = stage.ask("echo harmless", first.signal);
    const second = stage.ask("touch marker");
    stage.wait(5000);
    first.abort();
    await stage.type("y\n");
    assert.deepEqual(await stateOf(withdrawn), { allow: false });
    assert.equal(await stateOf(second), STILL_OPEN);
    assert.ok(
      stage.told.some((text) => text.includes("touch marker")),
      "the one in its place is shown at once",
    );
  });

  test("B5.7: a line for a question that was withdrawn is ignored, and says so", async () => {
    using stage = lineStage();
    const controller = new AbortController();
    const withdrawn = stage.ask("echo harmless", controller.signal);
    stage.wait(5000);
    controller.abort();
    await stage.type("y\n");
    assert.deepEqual(await stateOf(withdrawn), { allow: false });
    assert.equal(stage.told.at(-1), "The question was withdrawn. It was ignored: y");
    await stage.type("a message\n");
    assert.deepEqual(await stage.lines[Symbol.asyncIterator]().next(), { value: "a message" });
  });

  test("B5.7: a question that was stopped before it could be asked is not asked", async () => {
    using stage = lineStage();
    assert.deepEqual(await stateOf(stage.ask("touch marker", AbortSignal.abort())), { allow: false });
    assert.deepEqual(stage.told, []);
  });

  test("B5.7: two lines at once answer one question", async () => {
    using stage = lineStage();
    const answers = [stage.ask("echo one"), stage.ask("echo two")];
    stage.wait(5000);
    await stage.type("y\ny\n");
    assert.deepEqual(await Promise.all(answers.map(stateOf)), [{ allow: true }, STILL_OPEN]);
  });

  test("B5.7: the end of input is a no to every question", async () => {
    using stage = lineStage();
    const answers = [stage.ask("echo one"), stage.ask("echo two")];
    stage.end();
    assert.deepEqual(await Promise.all(answers), [{ allow: false }, { allow: false }]);
  });
});
