/** The messages of one chat are one conversation: in lists, after a summary, in a copy. */

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test } from "node:test";
import { listChats } from "../../../../src/app/cli/chat/stored-conversation.ts";
import { RunTree } from "../../../../src/app/cli/view/run-tree.ts";
import { agent } from "../../../../src/core/agent.ts";
import { textOf } from "../../../../src/core/message.ts";
import { SUMMARY_HEAD } from "../../../../src/core/read-history.ts";
import { noUsage } from "../../../../src/core/usage.ts";
import { createRuntime } from "../../../../src/runtime.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { scriptedModel } from "../../../../src/testing/scripted-model.ts";
import { calls, cuts, fails, says, streams, uses } from "../../../../src/testing/steps.ts";
import { openStage, type Stage, steady } from "../../../support/app/cli/chat-stage.ts";
import { Story } from "../../../support/app/cli/sample-events.ts";

/** Types a line, and waits until what it says is shown behind it. */
async function say(stage: Stage, line: string, shown: string | RegExp): Promise<void> {
  const before = stage.screen.text().length;
  stage.type(`${line}\r`);
  await stage.screen.until((text) => {
    const behind = text.slice(Math.max(0, before - 2));
    return typeof shown === "string" ? behind.includes(shown) : shown.test(behind);
  });
  await stage.chat.chat.settled();
}

const saidLast = ({ model }: Stage): string[] | undefined =>
  model.requests.at(-1)?.messages.map((message) => textOf(message));

suite("/compact", () => {
  const SCRIPT = { "**": [[says("One.")], [says("All of it.")], [says("Three.")], [says("Four.")]] };

  test("after /compact and leaving, the conversation continues from the summary, under its first message", async () => {
    const store = openMemoryStore();
    {
      await using stage = openStage(SCRIPT, { store });
      await say(stage, "one", "One.");
      await say(stage, "/compact", "The conversation continues from this summary.");
      assert.equal(stage.chat.chat.conversation.runId, (await store.list({ rootsOnly: true }))[0]?.id);
    }
    await using stage = openStage({ "**": [[says("Two.")]] }, { store });
    await say(stage, "/resume last", "It was summed up, and continues from the summary.");
    assert.match(stage.screen.text(), /Continuing: one\n\n> one\nOne\.\n/);
    await say(stage, "two", "Two.");
    assert.deepEqual(saidLast(stage), [`${SUMMARY_HEAD}All of it.`, "two"]);
    assert.deepEqual(
      (await listChats(store, "/")).map(({ title }) => title),
      ["one"],
    );
  });

  test("/compact leaves /export, /fork, /cost and /tree as they were", async () => {
    const folder = await mkdtemp(join(tmpdir(), "sous-chat-"));
    try {
      await using stage = openStage(SCRIPT, { rows: 60 });
      await say(stage, "one", "One.");
      await say(stage, "/compact", "The conversation continues from this summary.");
      await say(stage, "/cost", /tok · \$0\.00 · 2 messages · 0 children/);
      await say(stage, "/tree", "1 agent · 2 turns");
      await say(stage, `/export ${join(folder, "out.md")}`, "Written to");
      const written = await readFile(join(folder, "out.md"), "utf8");
      assert.match(written, /One\.[\s\S]*All of it\./);
      await say(stage, "/fork", "The next message goes to a copy.");
      await say(stage, "in a copy", "One.");
      assert.deepEqual(saidLast(stage), [`${SUMMARY_HEAD}All of it.`, "in a copy"]);
    } finally {
      await rm(folder, { recursive: true, maxRetries: 5 });
    }
  });

  test("a /compact that fails leaves the conversation as it is", async () => {
    await using stage = openStage({ "**": [[says("One.")], [fails("auth")], [says("Two.")]] });
    await say(stage, "one", "One.");
    await say(stage, "/compact", "The agent gave no summary, so the conversation stays as it is");
    await say(stage, "two", "Two.");
    assert.deepEqual(saidLast(stage), ["one", "One.", "two"]);
  });
});

suite("/resume", { concurrency: 4 }, () => {
  test("/resume lists conversations, one each, and neither messages nor children nor runs of other agents", async () => {
    const store = openMemoryStore();
    const other = agent({ name: "lead", model: scriptedModel(says("Led.")) });
    await createRuntime({ store }).run(other, "lead");
    const task = { label: "scout", task_prompt: "Look." };
    const SCRIPT = {
      sous: [[calls("subagent", task)], [says("One.")], [says("Two.")], [says("Three.")]],
      "sous/*": [[says("Seen."), uses({ input: 500, output: 100 })]],
    };
    await using stage = openStage(SCRIPT, { store, rows: 60, price: { input: 100, output: 100 } });
    await say(stage, "first question", "One.");
    await say(stage, "more", "Two.");
    await say(stage, "/new", "A new conversation.");
    await say(stage, "/cost", "Nothing has run yet.");
    await say(stage, "second question", "One.");
    stage.type("/resume\r");
    const text = await stage.screen.until("/resume NUMBER continues one of them");
    const [, list = ""] = text.split("> /resume\n");
    assert.deepEqual(
      steady(list)
        .slice(0, 5)
        .map((line) => line.replace(/\$\d\.\d\d · \d{4}-\d\d-\d\d \d\d:\d\d/, "COST · WHEN")),
      [
        " 1  second question",
        "    this conversation · 1 message · COST · WHEN · ID",
        " 2  first question",
        "    2 messages · COST · WHEN · ID",
        "/resume NUMBER continues one of them; so does /resume ID.",
      ],
    );
    await say(stage, "/resume 3", "Unknown conversation 3");
    await say(stage, "/resume 2", "Continuing: first question");
    assert.match(stage.screen.text(), /… 1 earlier message\n\n> more\nTwo\.\n/);
    await say(stage, "/cost", /2 messages · 1 child/);
    await say(stage, "again", "Three.");
    assert.equal(saidLast(stage)?.[0], "first question");
    const [newest] = await listChats(store, "/");
    assert.deepEqual([newest?.title, newest?.messages], ["first question", 3]);
  });

  test("/resume shows nothing of what a message or an answer would do to a terminal", async () => {
    const attack = "\u001b]52;c;Y2FuYXJ5\u0007\u001b[2J\u009b31mred\u202e";
    const store = openMemoryStore();
    {
      await using stage = openStage({ "**": [[says(attack)]] }, { store });
      await stage.chat.chat.conversation.say(attack);
    }
    await using stage = openStage({ "**": [[says("One.")]] }, { store });
    await say(stage, "/resume", "/resume NUMBER continues one of them");
    await say(stage, "/resume 1", "Continuing: red");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what may not be there.
    assert.doesNotMatch(stage.screen.written, /\u001b\]52|\u001b\[2J|[\u0007\u009b\u202e]/);
  });

  test("Tab offers the numbers, and completes an id", async () => {
    await using stage = openStage({ "**": [[says("One.")]] });
    await say(stage, "one", "One.");
    const { rootId = "" } = stage.chat.chat.conversation;
    stage.type("/res\t");
    await stage.screen.until("> /resume");
    stage.type("\t");
    await stage.screen.until(/> \/resume ?\n1 {2}last/);
    stage.type(`${rootId.slice(0, 12)}\t`);
    await stage.screen.until(`> /resume ${rootId}`);
    stage.type("\r");
    await stage.screen.until("Continuing: one");
  });

  test("the list can be chosen from at the start", async () => {
    const store = openMemoryStore();
    {
      await using stage = openStage({ "**": [[says("One.")]] }, { store });
      await say(stage, "one", "One.");
    }
    await using stage = openStage({ "**": [[says("Two.")]] }, { store });
    void stage.chat.choose();
    await stage.screen.until(/> \/resume$/m);
    stage.type("1\r");
    await stage.screen.until("Continuing: one");
  });

  test("a number is one of the list that was shown last, and last is the newest there is", async () => {
    const store = openMemoryStore();
    await using first = openStage({ "**": [[says("One.")], [says("Two.")]] }, { store });
    await say(first, "the first", "One.");
    await using reader = openStage({ "**": [[says("Read.")]] }, { store, rows: 60 });
    await say(reader, "/resume", /1 {2}the first[\s\S]*\/resume NUMBER continues/);
    await using second = openStage({ "**": [[says("Three.")]] }, { store });
    await say(second, "the second", "Three.");
    await say(reader, "/resume 1", "Continuing: the first");
    await say(reader, "/resume last", "Continuing: the second");
    // It was read again, so the numbers are those of the new list.
    await say(reader, "/resume 1", "Continuing: the second");
    await say(reader, "/resume 2", "Continuing: the first");
  });

  test("a conversation of another folder is taken with --here, and the error says how", async () => {
    const folder = await mkdtemp(join(tmpdir(), "sous-chat-"));
    try {
      const store = openMemoryStore();
      let id = "";
      {
        await using stage = openStage({ "**": [[says("One.")]] }, { store, cwd: folder });
        await say(stage, "over there", "One.");
        id = stage.chat.chat.conversation.runId ?? "";
      }
      await using stage = openStage({ "**": [[says("Two.")]] }, { store, rows: 60, columns: 300 });
      await say(stage, `/resume ${id}`, `/resume ${id} --here`);
      assert.equal(stage.chat.chat.conversation.runId, undefined);
      await say(stage, `/resume ${id} --here`, "Continuing: over there");
      await say(stage, "/resume 1 2", "error: /resume takes a number of the list, an ID, or last, and --here");
      await say(stage, "/resume --here", "error: /resume takes a number of the list, an ID, or last, and --here");
      await say(stage, "and here", "Two.");
      assert.deepEqual(saidLast(stage), ["over there", "One.", "and here"]);
    } finally {
      await rm(folder, { recursive: true, maxRetries: 5 });
    }
  });

  test("an answer that is long is shown by its end", async () => {
    const long = Array.from({ length: 200 }, (_, index) => `line ${index}`).join("\n");
    const store = openMemoryStore();
    {
      await using stage = openStage({ "**": [[says(long)]] }, { store, rows: 10 });
      await say(stage, "tell me all", "line 199");
    }
    await using stage = openStage({ "**": [[says("Two.")]] }, { store, rows: 60 });
    await say(stage, "/resume last", "line 199");
    assert.match(stage.screen.text(), /> tell me all\n… 180 earlier lines\nline 180\n/);
  });
});

suite("/fork N", () => {
  test("/fork N continues in a copy that ends with message N, also of a conversation that is itself a copy", async () => {
    const store = openMemoryStore();
    const SCRIPT = { "**": [[says("A.")], [says("B.")], [says("C.")], [says("D.")]] };
    {
      await using stage = openStage(SCRIPT, { store });
      for (const line of ["one", "two", "three"]) await say(stage, line, /[ABC]\./);
      await say(stage, "/fork 4", "/fork takes the number of a message, 1 to 3; found 4");
      await say(stage, "/fork 2", "a copy that ends with message 2: two");
      await say(stage, "other", "A.");
      assert.deepEqual(saidLast(stage), ["one", "A.", "two", "B.", "other"]);
      assert.deepEqual(
        stage.chat.chat.conversation.messages.map(({ text }) => text),
        ["one", "two", "other"],
      );
    }
    await using stage = openStage(SCRIPT, { store });
    await say(stage, "/resume last", "Continuing: one");
    assert.deepEqual(
      stage.chat.chat.conversation.messages.map(({ text }) => text),
      ["one", "two", "other"],
    );
    await say(stage, "/fork 1", "a copy that ends with message 1: one");
    await say(stage, "again", "A.");
    assert.deepEqual(saidLast(stage), ["one", "A.", "again"]);
  });
});

suite("an answer that was cut off", () => {
  const until = async (script: Parameters<typeof openStage>[0], shown: string | RegExp): Promise<string> => {
    await using stage = openStage(script, { retriesSoon: true });
    stage.type("go\r");
    const text = await stage.screen.until(shown);
    return steady(text).join("\n");
  };
  const HEAD = "# Title\nA paragraph.\nAnd `";

  test("an answer that was cut off is continued when the next attempt begins with the same words", async () => {
    const text = await until(
      {
        sous: [
          [streams(HEAD), cuts()],
          [streams(HEAD, "code`."), says(" End.")],
        ],
      },
      "End.",
    );
    assert.match(text, /> go\nTitle\nA paragraph\.\nsous {2}asks again .*\nAnd code\. End\.\n/);
  });

  test("an answer that was cut off is marked when the next attempt says something else, and shown once", async () => {
    const text = await until(
      {
        sous: [
          [streams(HEAD), cuts()],
          [streams("# Title\nAnother.\n"), says("End.")],
        ],
      },
      "End.",
    );
    assert.match(
      text,
      /> go\nTitle\nA paragraph\.\nsous {2}asks again .*\nAnd `\n\(cut off; the answer begins again\)\nTitle\nAnother\.\nEnd\.\n/,
    );
  });

  test("an answer that was cut off is marked when the next attempt says less, or nothing", async () => {
    const less = await until({ sous: [[streams("One.\nTwo.\n"), cuts()], [says("One.")]] }, /again\)\nOne\./);
    assert.match(less, /> go\nOne\.\nTwo\.\nsous {2}asks again .*\n\(cut off; the answer begins again\)\nOne\.\n/);
    const list = [calls("subagent_list")];
    const none = await until({ sous: [[streams("One.\n"), cuts()], list, [says("End.")]] }, "End.");
    assert.match(none, /> go\nOne\.\nsous {2}asks again .*\n\(cut off; the answer begins again\)\nEnd\.\n/);
  });

  test("an answer that was cut off is not joined to the next attempt in the row of a run", () => {
    const tree = new RunTree("→");
    const story = new Story((event) => tree.apply(event));
    story.starts("lead", 0, "Look");
    story.says("lead", 1, "The answer is");
    const failure = {
      type: "retry",
      attempt: 1,
      delayMs: 0,
      kind: "interrupted",
      message: "cut",
      spent: noUsage(),
      costUsd: 0,
    } as const;
    story.tell("lead", 2, failure);
    story.says("lead", 3, "The ans");
    assert.equal(tree.roots[0]?.activity, "The ans");
  });

  test("an answer that never comes is shown once, and its message is sent once with the next", async () => {
    const cut = [streams(HEAD), cuts()];
    await using stage = openStage({ sous: [cut, cut, cut, cut, cut, [says("Here.")]] }, { retriesSoon: true });
    stage.type("go\r");
    await stage.screen.until("✗ failed");
    await stage.chat.chat.settled();
    assert.equal(stage.screen.text().match(/A paragraph/g)?.length, 1);
    assert.equal(stage.screen.text().match(/^And `$/gm)?.length, 1);
    stage.type("again\r");
    await stage.screen.until("Here.");
    assert.deepEqual(saidLast(stage), ["go", "again"]);
  });
});
