/** `/budget` and `/status`: every limit that holds, before, during and after a run, and who holds what of it. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { budgetLines, costLines } from "../../../../src/app/cli/chat/facts.ts";
import { moreWords, readMore } from "../../../../src/app/cli/chat/raise-budget.ts";
import { CommandError } from "../../../../src/app/cli/exit-codes.ts";
import { chooseStyle } from "../../../../src/app/cli/terminal/style.ts";
import { calls, hangs, says, uses } from "../../../../src/testing/steps.ts";
import { openStage, type Stage } from "../../../support/app/cli/chat-stage.ts";

const child = (label: string): object => ({ label, task_prompt: `Do ${label}.` });
const PLAIN = chooseStyle({ color: "never", isAscii: false, isTerminal: true, env: {} });
const QUOTAS = { executions: 5, tokens: 10_000, durationMs: 60_000 };

const linesOf = ({ application, chat }: Stage): string[] =>
  budgetLines({ application, conversation: chat.chat.conversation, transcript: chat.chat.transcript, columns: 200 });

suite("the amount of /budget", () => {
  const both = new Set(["tokens", "costUsd"] as const);
  const money = new Set(["costUsd"] as const);
  const tokens = new Set(["tokens"] as const);

  test("/budget adds money or tokens by how the amount is written, and a bare number by what is limited", () => {
    const read: [typed: string, raisable: Parameters<typeof readMore>[1], tokens: number, costUsd: number][] = [
      ["+$1", both, 0, 1],
      ["$ 0.25", both, 0, 0.25],
      ["+1usd", tokens, 0, 1],
      ["2 dollars", both, 0, 2],
      ["+1$", both, 0, 1],
      ["+0.50", tokens, 0, 0.5],
      ["+20k", money, 20_000, 0],
      ["+1.5k", both, 1500, 0],
      ["+20000 tokens", both, 20_000, 0],
      ["+1M", both, 1_000_000, 0],
      ["+1", money, 0, 1],
      ["999", money, 0, 999],
      ["+1", tokens, 1, 0],
      ["+20000", tokens, 20_000, 0],
    ];
    assert.deepEqual(
      read.map(([typed, raisable]) => readMore(typed, raisable)),
      read.map(([, , count, costUsd]) => ({ tokens: count, costUsd })),
    );
  });

  test("/budget refuses an amount that it would have to guess", () => {
    const refused: [typed: string, raisable: Parameters<typeof readMore>[1]][] = [
      ["+1", both],
      ["+1000", money],
      ["+$20k", both],
      ["+1.5 tokens", both],
      ["+0", both],
      ["+$0.00", both],
      ["-5", both],
      ["5 apples", both],
      ["+", both],
      ["$", both],
    ];
    for (const [typed, raisable] of refused) assert.throws(() => readMore(typed, raisable), CommandError, typed);
  });
});

suite("an added budget", () => {
  test("an added budget is said in tokens, in dollars or in both, however little it is", () => {
    const said: [tokens: number, costUsd: number, words: string][] = [
      [0, 0, ""],
      [1, 0, "1 tokens"],
      [5000, 0, "5000 tokens"],
      [0, 0.0001, "$0.0001"],
      [0, 1, "$1.0000"],
      [1, 1, "1 tokens and $1.0000"],
    ];
    assert.deepEqual(
      said.map(([count, costUsd]) => moreWords({ tokens: count, costUsd })),
      said.map(([, , words]) => words),
    );
  });

  test("nothing can be added before something was spent", async () => {
    await using stage = openStage({ "**": [[says("One.")]] }, { runOptions: { budget: { tokens: 8000 } } });
    stage.type("/budget +20k\r");
    await stage.screen.until("error: Nothing has been spent yet; /budget shows the limits");
    assert.deepEqual(linesOf(stage), ["tokens of the whole tree: 0 spent, 0 reserved, 8000 left of 8000"]);
    stage.type("hello\r");
    await stage.screen.until("One.");
    await stage.chat.chat.settled();
    stage.type("/budget +1 token\r");
    await stage.screen.until("The next message may spend 1 tokens more.");
    assert.ok(linesOf(stage).includes("the whole tree: 1 tokens more with the next message"));
  });
});

suite("the limits of a chat", () => {
  test("the limits of a chat are those of the flags and of the configuration, with nothing used before the first message", async () => {
    await using stage = openStage(
      { sous: [[says("Hello.")]] },
      { runOptions: { budget: { tokens: 30_000, costUsd: 2 }, limits: { children: QUOTAS } } },
    );
    assert.deepEqual(linesOf(stage), [
      "tokens of the whole tree: 0 spent, 0 reserved, 30000 left of 30000",
      "money of the whole tree: $0.0000 spent, $0.0000 reserved, $2.0000 left of $2.0000",
      "tokens of all children: 0 spent, 0 reserved, 10000 left of 10000",
      "time of all children: 0.0s used, 1m00s left of 1m00s",
      "children started: 0, 5 left of 5",
    ]);
    stage.type("/status\r");
    const text = await stage.screen.until("children started: 0, 5 left of 5");
    assert.match(
      text,
      /model: a model given in code\nrun: none yet\nused: .*\nchildren: at most 5 at once, down to depth 3\n/,
    );
  });

  test("while children work, /budget tells what their calls hold, and which child waits for what", async () => {
    await using stage = openStage(
      {
        sous: [[calls("parallel_subagent", { tasks: [child("one"), child("two"), child("three")] })], [says("Done.")]],
        "sous/*": [[hangs()]],
      },
      { runOptions: { limits: { children: QUOTAS } }, columns: 120, rows: 40 },
    );
    stage.type("go\r");
    await stage.screen.until(/three +waits for its budget: 0 spent, [\d.]+k reserved of 10k tokens of all children/);
    const lines = linesOf(stage).join("\n");
    assert.match(lines, /^tokens of all children: 0 spent, [1-9]\d+ reserved, \d+ left of 10000$/m);
    assert.match(lines, /^children started: 1, 2 queued, 2 left of 5$/m);
    assert.match(lines, /^sous\/one: \d{4} tokens reserved by its call$/m);
    assert.match(lines, /^sous\/three: has not started, waits for tokens of all children$/m);
    stage.type("/budget\r");
    await stage.screen.until(/sous\/one: \d{4} tokens reserved by its call/);
  });

  test("/budget tells of a dozen runs that hold something or wait, and how many more there are", async () => {
    const tasks = Array.from({ length: 15 }, (_, index) => child(`c${index}`));
    await using stage = openStage(
      { sous: [[calls("parallel_subagent", { tasks })], [says("Done.")]], "sous/*": [[hangs()]] },
      { runOptions: { limits: { maxConcurrent: 20, children: { tokens: 10_000 } } }, columns: 120, rows: 60 },
    );
    stage.type("go\r");
    await stage.screen.until(/waits for its budget/);
    const lines = linesOf(stage);
    assert.equal(lines.filter((line) => /^sous\/c\d+: /.test(line)).length, 12);
    assert.equal(lines.at(-1), "and 3 runs more that hold something or wait");
  });

  test("after a run the limits tell what was spent, and stay with the conversation", async () => {
    await using stage = openStage(
      {
        sous: [[calls("subagent", child("one")), uses({ input: 500, output: 100 })], [says("Done.")], [says("Bye.")]],
        "sous/*": [[says("Seen."), uses({ input: 500, output: 100 })]],
      },
      { runOptions: { budget: { tokens: 30_000 }, limits: { children: QUOTAS } } },
    );
    stage.type("go\r");
    await stage.screen.until("Done.");
    await stage.chat.chat.conversation.settled;
    const lines = linesOf(stage);
    assert.ok(lines.includes("tokens of all children: 600 spent, 0 reserved, 9400 left of 10000"), lines.join("\n"));
    assert.ok(lines.includes("children started: 1, 4 left of 5"), lines.join("\n"));
    stage.type("/budget +5000\r");
    await stage.screen.until("The next message may spend 5000 tokens more.");
    assert.ok(linesOf(stage).includes("the whole tree: 5000 tokens more with the next message"));
    stage.type("/budget +2000\r");
    await stage.screen.until("The next message may spend 7000 tokens more.");
    stage.type("/fork\r");
    stage.type("/budget +5000\r");
    await stage.screen.until("The copy has a budget of its own");
    stage.type("/new\r");
    await stage.screen.until("A new conversation.");
    assert.ok(linesOf(stage).includes("tokens of the whole tree: 0 spent, 0 reserved, 30000 left of 30000"));
  });

  test("a limit that is nearly spent is told in one line that stays, also of a child", async () => {
    await using stage = openStage(
      {
        sous: [[calls("subagent", child("one"))], [says("Done.")]],
        "sous/*": [[says("Seen."), uses({ input: 8000, output: 100 })]],
      },
      { runOptions: { limits: { children: { tokens: 10_000 } } }, columns: 130 },
    );
    stage.type("go\r");
    await stage.screen.until("Done.");
    await stage.chat.chat.conversation.settled;
    const told = stage.screen
      .text()
      .match(/sous\/one {2}most of a limit is spent: tokens of all children: 8100 spent, /g);
    assert.equal(told?.length, 1);
  });

  test("/budget tells how many turns a message may take, where that is limited", async () => {
    await using stage = openStage({ "**": [[says("One.")]] });
    const { chat, application } = stage;
    const limited = { ...application, agent: application.agent.with({ maxTurns: 7 }) };
    assert.deepEqual(
      budgetLines({
        application: limited,
        conversation: chat.chat.conversation,
        transcript: chat.chat.transcript,
        columns: 200,
      }),
      ["Tokens, money, time and the number of children are not limited.", "turns: at most 7 a message"],
    );
  });

  test("the limits of an earlier conversation are not made up before it continues", async () => {
    await using stage = openStage(
      { "**": [[says("One.")], [says("Two.")]] },
      { runOptions: { budget: { tokens: 30_000 } } },
    );
    stage.type("hello\r");
    await stage.screen.until("One.");
    await stage.chat.chat.conversation.settled;
    const { runId = "" } = stage.chat.chat.conversation;
    stage.type("/new\r");
    await stage.screen.until("A new conversation.");
    stage.type(`/resume ${runId}\r`);
    await stage.screen.until("Continuing: hello");
    assert.deepEqual(linesOf(stage), [
      "The limits of the earlier conversation hold; they are shown after the next message.",
    ]);
    stage.type("again\r");
    await stage.screen.until(/> again\nTwo\./);
    await stage.chat.chat.conversation.settled;
    assert.match(
      linesOf(stage).join("\n"),
      /^tokens of the whole tree: [1-9]\d* spent, 0 reserved, \d+ left of 30000$/m,
    );
  });

  test("the limits of an earlier conversation can be raised, whatever the flags of this one are", async () => {
    await using stage = openStage(
      { "**": [[says("One."), uses({ input: 7000, output: 10 })], [says("Two.")]] },
      { runOptions: {}, columns: 120 },
    );
    const { application } = stage;
    Object.assign(application.runOptions, { budget: { tokens: 8000 } });
    stage.type("hello\r");
    await stage.screen.until("One.");
    await stage.chat.chat.conversation.settled;
    const { runId = "" } = stage.chat.chat.conversation;
    stage.type("/new\r");
    await stage.screen.until("A new conversation.");
    Object.assign(application.runOptions, { budget: undefined });
    stage.type(`/resume ${runId}\r`);
    await stage.screen.until("Continuing: hello");
    stage.type("again\r");
    await stage.screen.until("/budget +20k allows 20000 tokens more.");
    stage.type("/budget +20000\r");
    await stage.screen.until("The next message may spend 20000 tokens more.");
    stage.type("once more\r");
    await stage.screen.until(/> once more\nTwo\./);
  });

  test("a limit of money is raised by dollars, and the chat that reached it continues", async () => {
    await using stage = openStage(
      { "**": [[says("One."), uses({ input: 2500, output: 10 })], [says("Two.")]] },
      { runOptions: { budget: { costUsd: 3 } }, price: { input: 1000, output: 10 }, columns: 120 },
    );
    const { screen } = stage;
    stage.type("hello\r");
    await screen.until("One.");
    await stage.chat.chat.settled();
    stage.type("again\r");
    await screen.until(/over budget: Cost limit exceeded.*\n(?:.*\n)?\/budget \+\$1 allows a dollar more\./);
    stage.type("/budget +20k\r");
    await screen.until("Tokens are not limited; sous chat --max-tokens-total N sets a limit that can be raised");
    stage.type("/budget +20000\r");
    await screen.until(
      "error: 20000 may be dollars or tokens: /budget +$1 adds a dollar, /budget +20k adds 20000 tokens",
    );
    stage.type("/budget +1\r");
    await screen.until("The next message may spend $1.0000 more.");
    stage.type("/budget +$4.50\r");
    await screen.until("The next message may spend $5.5000 more.");
    stage.type("once more\r");
    await screen.until(/> once more\nTwo\./);
    await stage.chat.chat.settled();
    assert.match(linesOf(stage).join("\n"), /^money of the whole tree: .* left of \$8\.5000$/m);
  });

  test("the limits tell how long a live run has taken, also while only its children do something", async () => {
    await using stage = openStage(
      { sous: [[calls("subagent", child("one"))]], "sous/*": [[hangs()]] },
      { columns: 120 },
    );
    stage.type("go\r");
    await stage.screen.until(/one +/);
    const { tree } = stage.chat.chat.transcript;
    const [root] = tree.roots;
    assert.ok(root !== undefined);
    const [line = ""] = costLines(tree, root.startedAt + 72_000, 120, PLAIN);
    assert.match(line, /1m12s$/);
  });
});
