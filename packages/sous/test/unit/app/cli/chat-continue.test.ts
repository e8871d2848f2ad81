/** A stored conversation that continues in a chat: after a crash, after it had ended, while another process has it. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import * as z from "zod";
import { findConversation, listChats } from "../../../../src/app/cli/chat/stored-conversation.ts";
import { agent } from "../../../../src/core/agent.ts";
import { textOf } from "../../../../src/core/message.ts";
import type { Store } from "../../../../src/core/store.ts";
import { tool } from "../../../../src/core/tool.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { calls, hangs, type Script, says, uses } from "../../../../src/testing/steps.ts";
import { afterCrash, openStage, type Stage, type StageOptions } from "../../../support/app/cli/chat-stage.ts";

const child = (label: string): object => ({ label, task_prompt: `Do ${label}.` });
const TWO = { tasks: [child("quick"), child("slow")] };
const PRICE = { input: 1000, output: 1000 };
const USED = uses({ input: 100, output: 20 });

/** One message is answered, and the second waits for a child that hangs. */
const CRASHES: Script = {
  sous: [[USED, says("Noted.")], [USED, says("I ask two."), calls("parallel_subagent", TWO)], [hangs()]],
  "sous/quick": [[USED, says("Quickly done.")]],
  "sous/slow": [[hangs()]],
};

/** In the next process: the scripted model continues with the turn that each agent had come to. */
const afterwards = (slow: Script["sous"]): Script => ({
  sous: [
    [USED, says("Here again.")],
    [USED, says("Both are **done**.")],
    [USED, says("Afterwards.")],
  ],
  "sous/slow": slow ?? [],
});

async function crashed(): Promise<Store> {
  const store = openMemoryStore();
  await using stage = openStage(CRASHES, { store, price: PRICE });
  stage.type("remember 42\r");
  await stage.screen.until("Noted.");
  stage.type("fan out\r");
  await stage.screen.until((text) => /✓ quick/.test(text) && /[◐◓◑◒] slow/.test(text));
  return afterCrash(store);
}

async function continued(script: Script, store: Store, options: StageOptions = {}): Promise<Stage> {
  const stage = openStage(script, { price: PRICE, ...options, store });
  void stage.chat.continueWith(await findConversation(store, "last", await listChats(store, "/"), HERE));
  return stage;
}

const HERE = { cwd: "/", elsewhere: "refuse", takenBy: (id: string) => id } as const;

const saidBy = (stage: Stage, index: number): string[] | undefined =>
  stage.model.requests
    .filter(({ path }) => path === "sous")
    .at(index)
    ?.messages.flatMap((message) => (message.role === "user" ? [textOf(message)] : []));

suite("a chat that continues after a crash", { concurrency: 4 }, () => {
  test("a chat that continues shows where it stands, the live rows, the answer and the line under it; all of its cost counts", async () => {
    const { promise: isOpen, resolve: open } = Promise.withResolvers<string>();
    const gate = tool({ name: "gate", description: "Waits.", inputSchema: z.object({}), execute: () => isOpen });
    const store = await crashed();
    await using stage = await continued(afterwards([[says("Slowly done.")]]), store, { tools: [gate] });
    const { screen } = stage;
    const text = await screen.until("Both are done.");
    assert.match(
      text,
      /Continuing, where it was interrupted: remember 42\n\n> remember 42\nNoted\.\n\n> fan out\nI ask two\.\n/,
    );
    open("open");
    await stage.chat.chat.settled();
    assert.match(screen.text(), /✓ quick .*Quickly done\.\n/);
    assert.match(screen.text(), /✓ slow .*Slowly done\.\n/);
    await screen.until(/Both are done\.\n\(\d+ turns · 1 tool · .* tok · \$\d\.\d\d · .*, with 2 children\)/);
    stage.type("/tree\r");
    await screen.until(/├─ quick +✓ completed/);
    stage.type("/cost\r");
    // Two messages and two children: 120 tokens each, what was asked and never answered, and the last answer.
    await screen.until(/> \/cost\n[\d.~k]+ tok · \$\d\.\d\d · 2 messages · 2 children/);
    stage.type("more\r");
    await screen.until("Afterwards.");
    assert.deepEqual(
      saidBy(stage, -1)?.filter((each) => !each.startsWith("[")),
      ["remember 42", "fan out", "more"],
    );
  });

  test("a conversation that /resume names after a crash continues its run, too, and shows its answer", async () => {
    const store = await crashed();
    await using stage = openStage(afterwards([[says("Slowly done.")]]), { store, price: PRICE });
    stage.type("/resume 1\r");
    await stage.screen.until(/Both are done\.\n\(.*, with 2 children\)/);
    assert.match(stage.screen.text(), /> fan out\nI ask two\.\n/);
  });

  test("a chat that continues draws the rows of children while they work; a message steers it, Ctrl-C stops it", async () => {
    const store = await crashed();
    await using stage = await continued(afterwards([[hangs()]]), store);
    const { screen } = stage;
    await screen.until((text) => /✓ quick/.test(text) && /[◐◓◑◒] slow/.test(text));
    stage.type("/tree\r");
    await screen.until(/slow +. running/);
    stage.type("hurry\r");
    await screen.until("> hurry");
    stage.type("\u0003");
    await screen.until("Wrapping up. Ctrl-C again stops at once.");
    stage.type("\u0003");
    await screen.until("cancelled: The run was cancelled");
    await stage.chat.chat.settled();
    const [last] = (await listChats(store, "/")).map(({ last }) => last.status);
    assert.equal(last, "cancelled");
    stage.type("after that\r");
    await screen.until("Here again.");
  });

  test("a chat reads the events of a conversation that it continues once, whether that was interrupted or had ended", async () => {
    const store = await crashed();
    const read = store.read.bind(store);
    let wholeReads = 0;
    store.read = (rootId, which) => {
      if (which === undefined) wholeReads += 1;
      return read(rootId, which);
    };
    for (const [message, answer] of [
      ["", "Both are done."],
      ["more\r", "Here again."],
    ] as const) {
      await using stage = openStage(afterwards([[says("Slowly done.")]]), { store, price: PRICE });
      stage.type("/resume 1\r");
      await stage.screen.until("Both are done.");
      await stage.chat.chat.settled();
      stage.type(message);
      await stage.screen.until(answer);
      await stage.chat.chat.settled();
      assert.equal(wholeReads, 1, answer);
      wholeReads = 0;
    }
  });

  test("a chat that continues takes a message that is typed at once, before the run is there", async () => {
    const store = await crashed();
    await using stage = await continued(afterwards([[says("Slowly done.")]]), store);
    stage.type("be brief\r");
    await stage.screen.until("Both are done.");
    // In this answer when the run was there in time, in the next one otherwise.
    await stage.screen.until(() => saidBy(stage, -1)?.includes("be brief") === true);
    await stage.chat.chat.settled();
    assert.doesNotMatch(stage.screen.text(), /error/);
  });

  test("a chat does not continue a run beside an agent that is called at once by its name", async () => {
    const store = await crashed();
    const scout = agent({ name: "scout", description: "Finds things." });
    await using stage = await continued(afterwards([[says("Slowly done.")]]), store, { agents: [scout] });
    stage.type("@scout look\r");
    await stage.screen.until("error: Another agent can be called when the run has ended");
    await stage.screen.until("Both are done.");
  });

  test("a run that continues is stopped by Ctrl-C before it is there, and the next message continues after it", async () => {
    const store = await crashed();
    await using stage = await continued(afterwards([[says("Slowly done.")]]), store);
    stage.type("\u0003\u0003");
    await stage.screen.until("cancelled: The run was cancelled");
    stage.type("and now?\r");
    await stage.screen.until("Here again.");
    assert.equal(saidBy(stage, -1)?.at(-1), "and now?");
  });

  test("a run does not continue when the chat ends before that, and nothing is stored", async () => {
    const store = await crashed();
    const [before] = await listChats(store, "/");
    {
      await using stage = await continued(afterwards([[says("Slowly done.")]]), store);
      stage.type("\u0004");
      await stage.chat.chat.settled();
    }
    assert.deepEqual(await listChats(store, "/"), [before]);
  });

  test("a conversation cannot be had while another process works on it, and a message for it reaches no one", async () => {
    const store = openMemoryStore();
    await using first = openStage(CRASHES, { store });
    first.type("remember 42\r");
    await first.screen.until("Noted.");
    const record = await findConversation(store, "last", await listChats(store, "/"), HERE);
    first.type("fan out\r");
    await first.screen.until(/[◐◓◑◒] slow/);
    await assert.rejects(findConversation(store, "last", await listChats(store, "/"), HERE), {
      message: /^Another process works on [0-9A-Z]{26}$/,
    });
    await using second = openStage(afterwards([]), { store });
    void second.chat.continueWith(record);
    second.type("hello\r");
    await second.screen.until("This was not sent, because the conversation could not be continued");
    assert.equal(second.model.requestCount, 0);
  });

  test("a chat that cannot continue its run leaves a new conversation, in which nothing has run", async () => {
    const store = await crashed();
    await using stage = openStage(afterwards([]), { price: PRICE, store, rows: 60 });
    const { conversation } = stage.chat.chat;
    const { agent: able } = conversation;
    conversation.agent = able.with({ model: "nowhere/model" });
    stage.type("/resume last\r");
    await stage.screen.until(/error: .*nowhere/);
    await stage.chat.chat.settled();
    assert.deepEqual([conversation.runId, conversation.rootId, conversation.messages], [undefined, undefined, []]);
    stage.type("/tree\r");
    await stage.screen.until("Nothing has run yet.");
    conversation.agent = able;
    stage.type("hello\r");
    await stage.screen.until("Here again.");
    assert.deepEqual(saidBy(stage, -1), ["hello"]);
  });

  test("a chat that continues asks again what was being asked", async () => {
    const ran: string[] = [];
    const make = tool({
      name: "make",
      description: "Makes it.",
      tier: "confirm",
      inputSchema: z.object({}),
      execute: () => {
        ran.push("make");
        return "made";
      },
    });
    const store = openMemoryStore();
    const script: Script = { sous: [[calls("make")], [says("It is made.")]] };
    let left: Store;
    {
      await using stage = openStage(script, { store, tools: [make] });
      stage.type("make it\r");
      await stage.screen.until("wants to use make");
      left = await afterCrash(store);
    }
    await using stage = await continued(script, left, { tools: [make] });
    await stage.screen.until("wants to use make");
    stage.pause();
    stage.type("y");
    await stage.screen.until("It is made.");
    assert.deepEqual(ran, ["make"]);
  });
});
