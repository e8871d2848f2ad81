/** Children that are chosen with the arrows, and the keys that then are for them. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import * as z from "zod";
import { textOf } from "../../../../src/core/message.ts";
import { tool } from "../../../../src/core/tool.ts";
import { calls, hangs, says } from "../../../../src/testing/steps.ts";
import { openStage, type Stage } from "../../../support/app/cli/chat-stage.ts";

const UP = "\u001b[A";
const DOWN = "\u001b[B";
const ESCAPE = "\u001b";
const INTERRUPT = "\u0003";
const child = (label: string): object => ({ label, task_prompt: `Do ${label}.` });
const HINT = "s steer · w wrap up · x stop";

/** Three children that work until they are told to end. */
async function threeAtWork(): Promise<Stage> {
  const stage = openStage({
    sous: [[calls("parallel_subagent", { tasks: ["one", "two", "three"].map(child) })], [says("All ended.")]],
    "sous/*": [[hangs()], [says("So far.")]],
  });
  stage.type("go\r");
  await stage.screen.until(/[◐◓◑◒] three/);
  return stage;
}

const isChosen = (stage: Stage, name: string): Promise<string> => stage.screen.until(`sous/${name}: ${HINT}`);
const noneIsChosen = (stage: Stage): Promise<string> => stage.screen.until((text) => !text.includes(HINT));

suite("the children of a chat", () => {
  test("the children of a chat are chosen from the last up and from the first down, and none is chosen beyond the ends", async () => {
    await using stage = await threeAtWork();
    for (const name of ["three", "two", "one"]) {
      stage.type(UP);
      await isChosen(stage, name);
    }
    stage.type(UP);
    await noneIsChosen(stage);
    for (const name of ["one", "two", "three"]) {
      stage.type(DOWN);
      await isChosen(stage, name);
    }
    stage.type(DOWN);
    await noneIsChosen(stage);
  });

  test("the children of a chat can be left alone again: Escape chooses none, and any other text is text", async () => {
    await using stage = await threeAtWork();
    stage.type(DOWN);
    await isChosen(stage, "one");
    stage.type(ESCAPE);
    await noneIsChosen(stage);
    stage.type("w");
    await stage.screen.until(/^> w$/m);
    stage.type(INTERRUPT + DOWN);
    await isChosen(stage, "one");
    stage.type("hello");
    await stage.screen.until(/^> hello$/m);
    await noneIsChosen(stage);
    assert.equal(stage.chat.chat.conversation.isLive, true);
    assert.doesNotMatch(stage.screen.text(), /wraps up|is stopped|is told/);
  });

  test("a chosen child wraps up with w: its next turn is its last", async () => {
    const { promise: isOpen, resolve: open } = Promise.withResolvers<string>();
    const gate = tool({ name: "gate", description: "Waits.", inputSchema: z.object({}), execute: () => isOpen });
    await using stage = openStage(
      {
        sous: [[calls("parallel_subagent", { tasks: ["one", "two"].map(child) })], [says("All ended.")]],
        "sous/*": [[calls("gate")], [says("So far."), calls("gate")], [says("To the end.")]],
      },
      { tools: [gate] },
    );
    stage.type("go\r");
    await stage.screen.until(/one .*gate[\s\S]*two .*gate/);
    stage.type(`${DOWN}${DOWN}`);
    await isChosen(stage, "two");
    stage.type("w");
    await stage.screen.until("sous/two wraps up.");
    await noneIsChosen(stage);
    open("open");
    await stage.screen.until("All ended.");
    const turnsOf = (path: string): number => stage.model.requests.filter((each) => each.path === path).length;
    assert.deepEqual([turnsOf("sous/one"), turnsOf("sous/two")], [3, 2]);
    assert.match(stage.screen.text(), /- two .*cancelled: Subagent cancelled after wrapping up/);
  });

  for (const [name, key] of [
    ["Escape", ESCAPE],
    ["Ctrl-C", INTERRUPT],
  ]) {
    test(`a chosen child is not steered when ${name} takes the line back, and what was typed for it is gone`, async () => {
      await using stage = await threeAtWork();
      stage.type(`${DOWN}s`);
      await stage.screen.until("sous/one>");
      stage.type("Only src");
      await stage.screen.until("sous/one> Only src");
      stage.type(key ?? "");
      await stage.screen.until((text) => /^>$/m.test(text) && !text.includes("sous/one>"));
      stage.type("hello\r");
      await stage.screen.until("> hello");
      assert.doesNotMatch(stage.screen.text(), /is told|Wrapping up|Only src/);
      assert.equal(stage.chat.chat.conversation.isLive, true);
    });
  }
});

suite("Ctrl-C where nothing runs", () => {
  test("Ctrl-C where nothing runs says how to leave until the next key, and leaves nothing", async () => {
    await using stage = openStage({ sous: [[says("One.")]] });
    stage.type(INTERRUPT);
    await stage.screen.until("Ctrl-D or /quit leaves");
    stage.type("h");
    await stage.screen.until((text) => !text.includes("Ctrl-D or /quit leaves"));
    stage.type("ello\r");
    await stage.screen.until("One.");
    assert.deepEqual(
      stage.model.requests[0]?.messages.map((message) => textOf(message)),
      ["hello"],
    );
  });
});
