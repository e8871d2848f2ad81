import assert from "node:assert/strict";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test } from "node:test";
import * as z from "zod";
import { agent } from "../../../../src/core/agent.ts";
import { textOf } from "../../../../src/core/message.ts";
import { type Tool, tool } from "../../../../src/core/tool.ts";
import { childTools } from "../../../../src/core/words/tools.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { after, calls, hangs, says, streams, uses } from "../../../../src/testing/steps.ts";
import { VirtualClock } from "../../../../src/testing/world.ts";
import { openStage, type Stage, steady } from "../../../support/app/cli/chat-stage.ts";
import { assertGolden } from "../../../support/app/cli/golden.ts";

/** A tool that asks first, and notes what it was allowed to do. */
function terminal(ran: string[]): Tool<{ command: string }> {
  return tool({
    name: "terminal",
    description: "Runs a command.",
    tier: "confirm",
    inputSchema: z.object({ command: z.string() }),
    execute: ({ command }) => {
      ran.push(command);
      return command.startsWith("rg") ? "3 hits" : `done: ${command}`;
    },
  });
}

const spawn = (label: string, task_prompt: string): object => ({ label, task_prompt });
const THREE = [
  spawn("security", "secrets, authz, injection"),
  spawn("tests", "coverage of refunds"),
  spawn("api-docs", "openapi vs. handlers"),
];

/** The picture of the contract: one child works, one is done, one waits for the person. */
async function threeChildren(ran: string[], columns: number): Promise<Stage> {
  // The second question must not come before the first is answered, however busy the machine is.
  const clock = new VirtualClock(Date.now());
  const stage = openStage(
    {
      sous: [
        [uses({ input: 100, output: 20 }), says("I ask three."), calls("parallel_subagent", { tasks: THREE })],
        [uses({ input: 200, output: 20 }), says("The gaps are `refund_partial` and `retry_on_409`.")],
      ],
      "sous/security": [
        [uses({ input: 48_000, output: 200 }), calls("terminal", { command: 'rg -n "secret" src/pay' })],
        [hangs()],
        [says("Nothing more.")],
      ],
      "sous/tests": [[uses({ input: 30_900, output: 100 }), says("2 gaps: refund_partial, retry_on_409")]],
      "sous/api-docs": [
        [after(100), uses({ input: 12_600, output: 100 }), calls("terminal", { command: "npm run openapi:build" })],
        [says("They agree.")],
      ],
    },
    { tools: [terminal(ran)], columns, modelClock: clock },
  );
  stage.type("Review the payments module\r");
  await stage.screen.until("y once");
  stage.pause();
  stage.type("y");
  await stage.screen.until("3 hits");
  while (clock.liveTimers === 0) await new Promise(setImmediate);
  clock.fireNext(() => 0);
  await stage.screen.until("npm run openapi:build");
  stage.pause();
  return stage;
}

suite("three children in chat", () => {
  for (const columns of [100, 40]) {
    test(`H4: the request of a child is shown with its path and its exact action, at ${columns} columns`, async () => {
      const ran: string[] = [];
      await using stage = await threeChildren(ran, columns);
      const { screen } = stage;
      await screen.until((text) => /✓ tests/.test(text) && text.includes("! api-docs"));
      assertGolden(`chat-three-children-${columns}.txt`, steady(screen.text()));
      assert.deepEqual(ran, ['rg -n "secret" src/pay']);
      stage.type("n");
      await screen.until("They agree");
      assert.deepEqual(ran, ['rg -n "secret" src/pay']);
    });
  }

  test("one child can be chosen with the arrow keys, steered, and stopped", async () => {
    await using stage = await threeChildren([], 100);
    stage.type("n");
    await stage.screen.until("They agree");
    stage.type("\u000f");
    await stage.screen.until("   sous/security  starts: secrets, authz, injection");
    stage.type("\u000f\u001b[B");
    await stage.screen.until("sous/security: s steer · w wrap up · x stop");
    assert.match(stage.screen.text(), /├─>[◐◓◑◒] security/);
    stage.type("s");
    await stage.screen.until("sous/security>");
    stage.type("Only src/pay.\r");
    await stage.screen.until("sous/security is told: Only src/pay.");
    stage.type("\u001b[Bx");
    await stage.screen.until("sous/security is stopped.");
    await stage.screen.until("The gaps are refund_partial");
    assert.match(stage.screen.text(), /- security .*cancelled: Subagent cancelled/);
  });
});

suite("questions", { concurrency: 4 }, () => {
  const asks = (count: number): Parameters<typeof openStage>[0] => ({
    sous: [
      Array.from({ length: count }, (_, index) => calls("terminal", { command: `make ${index}` })),
      [says("Finished.")],
    ],
  });

  test("H4: y allows once, a for this agent from now on, n and r do not, and the model reads why", async () => {
    const ran: string[] = [];
    await using stage = openStage(asks(4), { tools: [terminal(ran)] });
    const { screen } = stage;
    stage.type("go\r");
    for (const [index, keys] of ["y", "a", "n", "r"].entries()) {
      await screen.until(`  make ${index}\n`);
      stage.pause();
      stage.type(keys);
    }
    await screen.until("why not>");
    assertGolden("chat-why-not.txt", steady(screen.text()));
    stage.type("It takes an hour.\r");
    await screen.until("Finished.");
    assert.deepEqual(ran, ["make 0", "make 1"]);
    const rule = { effect: "allow", pattern: "terminal(=make 1)", origin: "an answer in this chat" };
    assert.deepEqual(stage.remembered, [{ rule, agentName: "sous" }]);
    const results = stage.model.requests[1]?.messages.at(-1)?.content.map((part) => "output" in part && part.output);
    assert.deepEqual(results, [
      "done: make 0",
      "done: make 1",
      "The user did not allow terminal",
      "The user did not allow terminal: It takes an hour.",
    ]);
  });

  test("H4: a key that was meant for the line answers no question", async () => {
    const ran: string[] = [];
    await using stage = openStage(asks(1), { tools: [terminal(ran)] });
    const { screen } = stage;
    stage.type("go\ra");
    await screen.until("wants to use terminal");
    stage.type("y");
    stage.pause();
    stage.type("yes");
    await screen.until("> ayyes");
    assert.match(screen.text(), /Esc to answer/);
    assert.deepEqual(ran, []);
    stage.type("\u001b");
    await screen.until("y once");
    stage.type("y");
    await screen.until("Finished.");
    assert.deepEqual(ran, ["make 0"]);
    assert.match(screen.text(), /> ayyes/);
  });

  test("H4: an action that is longer than the screen is read page by page, and a yes counts once its end was in sight", async () => {
    const ran: string[] = [];
    const command = Array.from({ length: 60 }, (_, index) => `echo line-${index}`).join("\n");
    const script = { sous: [[calls("terminal", { command })], [says("Finished.")]] };
    await using stage = openStage(script, { tools: [terminal(ran)], rows: 20 });
    const { screen } = stage;
    stage.type("go\r");
    await screen.until(/46 more rows\n.*v read all of it/);
    stage.pause();
    for (const key of ["y", "a"]) {
      stage.type(key);
      await screen.until("y counts once you have seen its end");
    }
    stage.type("v");
    const seen = new Set<string>();
    for (let isLast = false; !isLast; ) {
      const text = await screen.until(/(rows \d+) to \d+ of 60|end of the question/);
      for (const [line] of text.matchAll(/line-\d+/g)) seen.add(line);
      isLast = text.includes("end of the question");
      const [before = ""] = /rows \d+ to/.exec(text) ?? [];
      stage.type(isLast ? "" : " ");
      if (!isLast) await screen.until((now) => !now.includes(before));
    }
    assert.deepEqual([seen.size, ran], [60, []]);
    await screen.until(/end of the question [0-9a-f]{8}/);
    stage.type("y");
    await screen.until("only just appeared");
    stage.pause();
    stage.type("y");
    await screen.until("Finished.");
    assert.deepEqual(ran, [command]);
  });

  test("H4: a no to an action that is longer than the screen needs no reading", async () => {
    const ran: string[] = [];
    const command = "echo a\n".repeat(60);
    const script = { sous: [[calls("terminal", { command })], [says("Finished.")]] };
    await using stage = openStage(script, { tools: [terminal(ran)], rows: 20 });
    stage.type("go\r");
    await stage.screen.until("v read all of it");
    stage.pause();
    stage.type("n");
    await stage.screen.until("Finished.");
    assert.deepEqual(ran, []);
  });

  test("H4: Ctrl-C is a no, and a question that is withdrawn disappears", async () => {
    const ran: string[] = [];
    await using stage = openStage(asks(2), { tools: [terminal(ran)] });
    const { screen } = stage;
    stage.type("go\r");
    await screen.until("make 0");
    stage.type("\u0003");
    await screen.until("not allowed: terminal  make 0");
    await screen.until(/wants to use terminal\n {2}make 1/);
    stage.chat.chat.conversation.cancel(undefined, "stop");
    await screen.until("cancelled");
    await screen.until((text) => !text.includes("wants to use"));
    assert.deepEqual(ran, []);
  });
});

suite("a conversation", { concurrency: 4 }, () => {
  test("a conversation continues from message to message; what is typed while it works steers it", async () => {
    const { promise: isOpen, resolve: open } = Promise.withResolvers<string>();
    const gate = tool({ name: "gate", description: "Waits.", inputSchema: z.object({}), execute: () => isOpen });
    await using stage = openStage(
      { sous: [[says("First.")], [streams("Sec", "ond\nthird"), calls("gate")], [says("Heard it.")]] },
      { tools: [gate] },
    );
    const { screen, model } = stage;
    stage.type("one\r");
    await screen.until("First.");
    stage.type("two\r");
    await screen.until(/sous {2}gate/);
    stage.type("also this\r");
    await screen.until("> also this");
    open("open");
    await screen.until("Heard it.");
    assert.deepEqual(
      model.requests
        .at(-1)
        ?.messages.flatMap((message) => (message.role === "user" ? [textOf(message)] : []))
        .slice(0, 3),
      ["one", "two", "also this"],
    );
    assert.deepEqual(stage.kept, ["one", "two", "also this"]);
    stage.type("/new\r");
    await screen.until("A new conversation.");
    stage.type("three\r");
    await screen.until(/> three\nFirst\./);
    assert.equal(model.requests.at(-1)?.messages.length, 1);
  });

  test("a conversation takes what is typed while the last run is being stored for the next message", async () => {
    const { promise: isStored, resolve: store } = Promise.withResolvers<void>();
    const memory = openMemoryStore();
    const { promise: isEnding, resolve: ending } = Promise.withResolvers<void>();
    const append = memory.append.bind(memory);
    memory.append = async (rootId, events, owner) => {
      if (events.some(({ type }) => type === "run-end")) {
        ending();
        await isStored;
      }
      await append(rootId, events, owner);
    };
    await using stage = openStage({ sous: [[says("First.")], [says("Second.")]] }, { store: memory });
    stage.type("one\r");
    await isEnding;
    const { conversation } = stage.chat.chat;
    const steerLive = conversation.steerLive.bind(conversation);
    const { promise: isHeard, resolve: heard } = Promise.withResolvers<boolean>();
    conversation.steerLive = async (text) => {
      const answer = await steerLive(text);
      heard(answer);
      return answer;
    };
    const next = stage.chat.submit("two");
    assert.equal(await isHeard, false);
    assert.equal(stage.model.requestCount, 1);
    store();
    await next;
    assert.deepEqual(
      stage.model.requests.at(-1)?.messages.map((message) => textOf(message)),
      ["one", "First.", "two"],
    );
  });

  test("Ctrl-C clears the line, then wraps up, then stops; afterwards the conversation continues", async () => {
    await using stage = openStage({
      sous: [[hangs()], [says("Still here.")]],
    });
    const { screen } = stage;
    stage.type("go\r");
    await screen.until(/sous {2}thinking/);
    stage.type("half\u0003");
    assert.equal(stage.chat.chat.conversation.isLive, true);
    stage.type("\u0003");
    await screen.until("Wrapping up. Ctrl-C again stops at once.");
    stage.type("\u0003");
    await screen.until("cancelled: The run was cancelled");
    stage.type("more\r");
    await screen.until("Still here.");
  });

  test("!command joins what is said next, @agent hands a task over, @file attaches a file of this folder only", async () => {
    const cwd = await mkdtemp(join(tmpdir(), "sous-chat-"));
    const outside = await mkdtemp(join(tmpdir(), "sous-canary-"));
    try {
      await writeFile(join(cwd, "notes.md"), "buy milk\n");
      await writeFile(join(outside, "canary"), "CANARY");
      await symlink(join(outside, "canary"), join(cwd, "link"));
      const scout = agent({ name: "scout", description: "Finds things." });
      await using stage = openStage(
        { sous: [[says("Read it.")]], scout: [[says("Behind the door.")]] },
        { cwd, agents: [scout] },
      );
      const { screen, model } = stage;
      stage.type("!ls\r");
      await screen.until("ran ls");
      stage.type("@scout Where is it?\r");
      await screen.until("Behind the door.");
      for (const file of ["../canary", "./link", `${outside}/canary`]) {
        stage.type(`Look at @${file}\r`);
        await screen.until((text) => text.includes("error:") && !text.endsWith(file));
        stage.type("\u000c");
      }
      stage.type("See @notes.md, please, and ask @nobody.\r");
      await screen.until("Read it.");
      const said = textOf(model.requests.at(-1)?.messages[0] ?? { content: [] });
      assert.match(
        said,
        /^I ran `ls`:\n```\nran ls\n```\n\nI asked the agent scout: Where is it\?\n\nIt answered: Behind/,
      );
      assert.match(said, /See @notes\.md, please, and ask @nobody\.\n\nnotes\.md:\n```\nbuy milk\n```$/);
      assert.equal(model.requests.length, 2);
      assert.ok(!JSON.stringify(model.requests).includes("CANARY"));
    } finally {
      await rm(cwd, { recursive: true, maxRetries: 5 });
      await rm(outside, { recursive: true, maxRetries: 5 });
    }
  });

  test("a long paste is shown by its beginning and said as a whole", async () => {
    await using stage = openStage({ sous: [[says("Read.")]] });
    const lines = Array.from({ length: 5000 }, (_, index) => `line ${index}`);
    stage.type(`\u001b[200~${lines.join("\n")}\u001b[201~\r`);
    await stage.screen.until("Read.");
    assert.match(stage.screen.text(), /> line 0\n {2}line 1\n(?:.*\n)* {2}line 11\n {2}\(4988 more lines\)\nRead/);
    assert.equal(textOf(stage.model.requests[0]?.messages[0] ?? { content: [] }), lines.join("\n"));
  });

  test("a person who goes back to the shell finds no half-drawn screen there, and the whole one afterwards", async () => {
    await using stage = openStage({ sous: [[says("Here.")]] });
    stage.type("hello\r");
    await stage.screen.until("Here.");
    stage.type("a draft");
    await stage.screen.until("> a draft");
    stage.chat.clear();
    await stage.screen.until((text) => !text.includes("a draft"));
    stage.screen.write("$ fg\n");
    stage.chat.refresh();
    assert.match(await stage.screen.until("> a draft"), /Here\.\n.*\n\$ fg\n> a draft$/);
  });

  test("a message that could not be sent takes nothing of the conversation away", async () => {
    await using stage = openStage({ "**": [[says("One.")]] });
    const { screen, model } = stage;
    stage.type("hello\r");
    await screen.until("One.");
    const { conversation } = stage.chat.chat;
    const { runId = "" } = conversation;
    conversation.forkFrom("01NOSUCHRUN");
    stage.type("!ls\r");
    await screen.until("ran ls");
    stage.type("lost?\r");
    await screen.until("No run with the id 01NOSUCHRUN");
    conversation.forkFrom(runId);
    stage.type("again\r");
    await screen.until(/> again\nOne\./);
    const said = model.requests.at(-1)?.messages.map((message) => textOf(message));
    assert.deepEqual(said, ["hello", "One.", "I ran `ls`:\n```\nran ls\n```\n\nagain"]);
  });

  test("J2: /tools names what the model is offered, and /tree shows the runs", async () => {
    await using stage = openStage({
      sous: [[calls("subagent", spawn("scout", "look"))], [says("Seen.")]],
      "sous/*": [[says("x")]],
    });
    const { screen, model } = stage;
    stage.type("go\r");
    await screen.until("Seen.");
    const offered = childTools("start", "follow-up");
    assert.deepEqual(model.requests[0]?.tools.toSorted(), offered.toSorted());
    stage.type("/tools\r");
    await screen.until("Children may have children down to depth 3.");
    for (const name of offered) assert.match(screen.text(), new RegExp(`^ {2}${name} `, "m"));
    stage.type("/tree\r");
    await screen.until(/└─ scout +✓ completed/);
  });

  test("every command of the help can be typed, and one that is not there is guessed", async () => {
    await using stage = openStage({ "**": [[says("One.")], [says("A summary.")], [says("Two.")]] }, { rows: 60 });
    const { screen, model } = stage;
    const type = async (line: string, shown: string | RegExp): Promise<void> => {
      stage.type(`${line}\r`);
      await screen.until(shown);
    };
    await type("/help", "history; while children work");
    await type("/fork", "error: Nothing has been said yet");
    await type("/tree", "Nothing has run yet.");
    await type("hello", "One.");
    await type("/model", "The model is a model given in code.");
    await type("/model none/such", 'error: No model provider is called "none"');
    await type("/model", /> \/model\nThe model is a model given in code\.\n>/);
    await type("/cost", /tok · \$0\.00 · 1 message · 0 children/);
    await type("/budget", "Tokens, money, time and the number of children are not limited.");
    await type("/status", /model: a model given in code\nrun: [0-9A-Z]{26}, ended\nused: /);
    await type("/agents", "No agents are defined");
    await type("/resume", "/resume NUMBER continues one of them");
    await type("/modle", "Did you mean /model?");
    await type("/fork x", "error: /fork takes the number of a message, 1 to 1; found x");
    await type("!", "error: Say what to run: !COMMAND");
    await type("/export out.txt", "/export takes a file whose name ends in");
    await type("/compact", "The conversation continues from this summary.");
    await type("and now", /> and now\nTwo\./);
    const last = model.requests.at(-1)?.messages.map((message) => textOf(message));
    assert.deepEqual(last, ["A summary of our conversation so far:\n\nA summary.", "and now"]);
    await type("/fork", "The next message goes to a copy.");
    await type("again", /> again\n[A-Z]/);
    assert.equal(model.requests.at(-1)?.messages.length, 4);
    const id = stage.chat.chat.conversation.runId ?? "";
    await type("/new", "A new conversation.");
    await type(`/resume ${id}`, "Continuing: hello");
    await type("once more", /> once more\n[A-Z]/);
    assert.equal(model.requests.at(-1)?.messages.length, 6);
    stage.type("/quit\r");
    await stage.chat.ended;
  });
});
