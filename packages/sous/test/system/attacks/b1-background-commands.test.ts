/** B1: a command in the background belongs to the run that started it. By effect: real processes, and what others read of them. */

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { openApplication } from "../../../src/app/cli/application/open.ts";
import { Chat } from "../../../src/app/cli/chat/chat.ts";
import { readRunFlags } from "../../../src/app/cli/table/run-flags.ts";
import { chooseStyle } from "../../../src/app/cli/terminal/style.ts";
import { openPrograms } from "../../../src/app/process/programs.ts";
import { terminalTool } from "../../../src/app/tools/terminal.ts";
import { agent } from "../../../src/core/agent.ts";
import type { RunOptions } from "../../../src/core/runtime.ts";
import type { Tool } from "../../../src/core/tool.ts";
import { createRuntime } from "../../../src/runtime.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { after, calls, fails, hangs, type Script, type ScriptLines, says } from "../../../src/testing/steps.ts";
import { type TemporaryTree, temporaryTree } from "../../support/app/tools/temporary-tree.ts";
import { calling, openCommand, saying } from "../../support/attacks/whole-command.ts";
import { simpleTool } from "../../support/requirements/support.ts";

/** Writes its process id into a file, says something and stays. */
function staying(file: string, words = "CANARY"): { command: string; background: true } {
  return { command: `echo ${words}; echo $$ > ${file}.new; mv ${file}.new ${file}; exec sleep 300`, background: true };
}

function isAlive(folder: string, file: string): boolean {
  try {
    return process.kill(Number(readFileSync(join(folder, file), "utf8")), 0);
  } catch (error) {
    if (error instanceof Error && "code" in error && ["ESRCH", "ENOENT"].includes(String(error.code))) return false;
    throw error;
  }
}

async function until(isSo: () => boolean, seconds = 20): Promise<void> {
  const end = Date.now() + seconds * 1000;
  while (!isSo()) {
    assert.ok(Date.now() < end, "it did not happen in time");
    await new Promise((next) => setTimeout(next, 10));
  }
}

type Heard = { path: string; output: string };

class Bench implements AsyncDisposable {
  readonly tree: TemporaryTree;
  /** What the models read of their calls of the terminal. */
  readonly heard: Heard[] = [];
  readonly programs = openPrograms({ environment: process.env });
  readonly terminal: Tool;

  constructor(tree: TemporaryTree) {
    this.tree = tree;
    this.terminal = terminalTool({ programs: this.programs, root: tree.path, timeoutMs: 60_000 });
  }

  static async open(): Promise<Bench> {
    return new Bench(await temporaryTree());
  }

  /** Resolves when the command of this file is at work. */
  waits(file: string): Tool {
    return simpleTool("wait_for", async () => {
      await until(() => existsSync(join(this.tree.path, file)));
      return "It is there.";
    });
  }

  run(script: Script, tools: readonly Tool[] = [], options: RunOptions = {}) {
    const model = scriptedModel(script);
    const runtime = createRuntime({ approve: () => ({ allow: true }), host: { cwd: this.tree.path } });
    const lead = agent({ name: "lead", model, tools: [this.terminal, ...tools], delegate: true });
    return runtime.run(lead, "Go.", {
      ...options,
      onEvent: (event) => {
        if (event.type === "tool-call-end" && event.toolName === "terminal")
          this.heard.push({ path: event.path, output: event.output });
      },
    });
  }

  heardBy(path: string): string[] {
    return this.heard.filter((each) => each.path === path).map(({ output }) => output);
  }

  isAlive(file: string): boolean {
    return isAlive(this.tree.path, file);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.programs[Symbol.asyncDispose]();
    await this.tree[Symbol.asyncDispose]();
  }
}

const UNKNOWN = /^No background command has the id "[^"]*"\. You have none\.$/;
const GUESSES = ["bg1", "bg2", "bg3", "BG1", " bg1", "bg1 ", "1", "bg01", "*", "../bg1"];
const asks = GUESSES.flatMap((id) => [calls("terminal", { output_of: id }), calls("terminal", { stop: id })]);

function child(label: string, more: object = {}) {
  return calls("subagent", { label, task_prompt: `Part ${label}.`, max_turns: 40, ...more });
}

suite("B1.1: only the run that started a command, and the runs above it, can read or stop it", () => {
  for (const [way, more] of [
    ["a child", {}],
    ["a fork", { context: "fork" }],
    ["a child that was given the terminal by name", { allowed_tools: ["terminal"] }],
  ] as const) {
    test(`B1.1: the root's command is out of reach of ${way}, whatever id it guesses`, async () => {
      await using bench = await Bench.open();
      let wasAlive: boolean | undefined;
      const look = simpleTool("look", () => {
        wasAlive = bench.isAlive("root.pid");
      });
      const script = {
        lead: [
          calls("terminal", staying("root.pid")),
          calls("wait_for"),
          child("a", more),
          calls("look"),
          says("Done."),
        ],
        "lead/a": [...asks, says("Done.")],
      };
      await bench.run(script, [look, bench.waits("root.pid")]);
      const heard = bench.heardBy("lead/a");
      assert.equal(heard.length, asks.length);
      for (const text of heard) assert.match(text, UNKNOWN);
      assert.equal(wasAlive, true);
    });
  }

  test("B1.1: the command of a child is out of reach of its sibling, and within reach of its parent", async () => {
    await using bench = await Bench.open();
    const script = {
      lead: [
        child("a", { background: true }),
        calls("wait_for"),
        child("b"),
        calls("terminal", { output_of: "bg1" }),
        calls("terminal", { stop: "bg1" }),
        says("Done."),
        says("Done."),
      ],
      "lead/a": [calls("terminal", staying("a.pid")), calls("wait_for"), calls("until_stopped"), says("Done.")],
      "lead/b": [...asks, says("Done.")],
    };
    const untilStopped = simpleTool("until_stopped", () => until(() => !bench.isAlive("a.pid")));
    await bench.run(script, [bench.waits("a.pid"), untilStopped]);
    for (const text of bench.heardBy("lead/b")) assert.match(text, UNKNOWN);
    const [read = "", stopped = ""] = bench.heardBy("lead");
    assert.match(read, /^\[bg1 is still running\.\]/);
    assert.match(stopped, /^\[The command was stopped\.\]/);
  });

  test("B1.1: the command of another tree on the same tool is out of reach", async () => {
    await using bench = await Bench.open();
    await bench.run({ lead: [calls("terminal", staying("one.pid")), calls("wait_for"), says("Done.")] }, [
      bench.waits("one.pid"),
    ]);
    bench.heard.length = 0;
    await bench.run({ lead: [...asks, says("Done.")] });
    for (const text of bench.heardBy("lead")) assert.match(text, UNKNOWN);
    assert.equal(bench.isAlive("one.pid"), true);
  });

  test("B1.1: an answer names only the commands that the run may reach", async () => {
    await using bench = await Bench.open();
    const script = {
      lead: [calls("terminal", staying("root.pid")), child("a"), says("Done.")],
      "lead/a": [calls("terminal", staying("a.pid")), calls("terminal", { output_of: "bg1" }), says("Done.")],
    };
    await bench.run(script);
    assert.equal(bench.heardBy("lead/a")[1], 'No background command has the id "bg1". You have: bg2.');
  });

  test("B1.4: eight commands of a child leave the root its own eight", async () => {
    await using bench = await Bench.open();
    const sleeping = calls("terminal", { command: "exec sleep 300", background: true });
    const script = {
      lead: [child("a", { background: true }), calls("wait_for"), sleeping, says("Done."), says("Done.")],
      "lead/a": [
        ...Array(8).fill(sleeping),
        sleeping,
        calls("terminal", staying("a.pid")),
        calls("mark"),
        calls("hold"),
        says("Done."),
      ],
    };
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const mark = simpleTool("mark", () =>
      bench.programs
        .run({ program: "touch", args: ["full"], cwd: bench.tree.path, maxOutputBytes: 10 })
        .then(() => "ok"),
    );
    const hold = simpleTool("hold", () => held);
    const running = bench.run(script, [bench.waits("full"), mark, hold]);
    await until(() => bench.heardBy("lead").length === 1);
    release();
    await running;
    assert.match(bench.heardBy("lead")[0] ?? "", /^Started in the background/);
    assert.match(bench.heardBy("lead/a")[8] ?? "", /^8 commands run in the background already/);
  });
});

suite("B1.4: the commands of a child end with its run, while the root works on", { concurrency: 3 }, () => {
  const start = calls("terminal", staying("a.pid"));
  const stubborn = calls("terminal", {
    command: "trap '' TERM HUP INT; echo $$ > a.new; mv a.new a.pid; while :; do sleep 300; done",
    background: true,
  });
  const wait = calls("wait_for");
  const rows: [ending: string, steps: ScriptLines, more: object][] = [
    ["has finished", [start, wait, says("Done.")], {}],
    ["is out of turns", [start, wait, calls("wait_for"), says("Done.")], { max_turns: 2 }],
    ["has failed", [start, wait, fails("invalid_request")], {}],
    ["has run out of time", [start, wait, hangs()], { timeout_ms: 900 }],
    ["was a fork", [start, wait, says("Done.")], { context: "fork" }],
    ["started one that ignores every polite signal", [stubborn, wait, says("Done.")], {}],
  ];
  for (const [ending, steps, more] of rows) {
    test(`B1.4: the command of a child that ${ending} is gone`, async () => {
      await using bench = await Bench.open();
      let wasAlive: boolean | undefined;
      const look = simpleTool("look", () => {
        wasAlive = bench.isAlive("a.pid");
      });
      const script: Script = { lead: [child("a", more), calls("look"), says("Done.")], "lead/a": steps };
      await bench.run(script, [look, bench.waits("a.pid")]);
      assert.equal(wasAlive, false);
    });
  }

  for (const mode of ["stop", "wrap-up"]) {
    test(`B1.4: the command of a child that its parent has cancelled (${mode}) is gone`, async () => {
      await using bench = await Bench.open();
      let wasAlive: boolean | undefined;
      const look = simpleTool("look", () => {
        wasAlive = bench.isAlive("a.pid");
      });
      const script: Script = {
        lead: [
          child("a", { background: true }),
          calls("wait_for"),
          ({ messages }) => {
            const id = /subagent_id: (\w{26})/.exec(JSON.stringify(messages))?.[1];
            return calls("subagent_cancel", { subagent_id: id, mode });
          },
          calls("look"),
          says("Done."),
          says("Done."),
        ],
        "lead/a": [start, mode === "stop" ? hangs() : [after(300), says("Working.")], says("Done.")],
      };
      await bench.run(script, [look, bench.waits("a.pid")]);
      assert.equal(wasAlive, false);
    });
  }

  test("B1.4: the command of a grandchild is gone when the child between is cancelled", async () => {
    await using bench = await Bench.open();
    const script: Script = {
      lead: [child("a", { timeout_ms: 1200 }), calls("look"), says("Done.")],
      "lead/a": [child("b"), says("Done.")],
      "lead/a/b": [start, wait, hangs()],
    };
    let wasAlive: boolean | undefined;
    const look = simpleTool("look", () => {
      wasAlive = bench.isAlive("a.pid");
    });
    await bench.run(script, [look, bench.waits("a.pid")]);
    assert.equal(wasAlive, false);
  });

  test("B1.4: the command of a child is gone after the whole tree was stopped", async () => {
    await using bench = await Bench.open();
    const controller = new AbortController();
    const running = bench.run({ lead: [child("a"), says("Done.")], "lead/a": [start, hangs()] }, [], {
      signal: controller.signal,
    });
    await until(() => existsSync(join(bench.tree.path, "a.pid")));
    controller.abort();
    assert.equal((await running).status, "cancelled");
    assert.equal(bench.isAlive("a.pid"), false);
  });

  test("B1.1: a child that is followed up does not get back the command of its first run", async () => {
    await using bench = await Bench.open();
    const script: Script = {
      lead: [
        child("a"),
        ({ messages }) => {
          const id = /subagent_id: (\w{26})/.exec(JSON.stringify(messages))?.[1];
          return calls("subagent_send", { subagent_id: id, message: "And now?" });
        },
        says("Done."),
      ],
      "lead/a": [start, wait, says("Done."), calls("terminal", { output_of: "bg1" }), says("Done.")],
    };
    await bench.run(script, [bench.waits("a.pid")]);
    assert.match(bench.heardBy("lead/a").at(-1) ?? "", UNKNOWN);
  });
});

suite("B1.4: the root's commands belong to its conversation", () => {
  const start = calling(["terminal", staying("sous.pid")]);
  const read = calling(["terminal", { output_of: "bg1" }]);
  const DONE = saying("Done.");

  /** A chat whose first message has left a command running. */
  async function openChat(script: object, files: Record<string, string> = {}) {
    const command = await openCommand(files);
    command.write("answers.json", JSON.stringify(script));
    const model = `script/${join(command.path, "answers.json")}`;
    const flags = readRunFlags({ model, "db-path": join(command.path, "runs.db"), yes: true });
    const application = await openApplication({
      flags,
      cwd: command.root,
      env: command.env,
      ask: undefined,
      warn: () => {},
    });
    const heard: string[] = [];
    const chat = new Chat({
      application,
      cwd: command.root,
      style: chooseStyle({ color: "never", isAscii: false, isTerminal: false, env: {} }),
      columns: () => 80,
      say: () => {},
      onEvent(event) {
        if (event.type === "tool-call-end") heard.push(event.output);
      },
    });
    return {
      root: command.root,
      application,
      chat,
      conversation: chat.conversation,
      heard,
      started: () => until(() => existsSync(join(command.root, "sous.pid"))),
      isAlive: () => isAlive(command.root, "sous.pid"),
      async [Symbol.asyncDispose]() {
        await application[Symbol.asyncDispose]();
        await command[Symbol.asyncDispose]();
      },
    };
  }

  for (const line of ["/new", "/resume last"]) {
    test(`B1.4: the root's commands live over the messages of a chat and end with ${line}`, async () => {
      await using chat = await openChat({ sous: [start, DONE, read, DONE] });
      const { conversation } = chat;
      await conversation.say("Serve.");
      await chat.started();
      await conversation.say("How is it?");
      assert.match(chat.heard.at(-1) ?? "", /^\[bg1 is still running\.\]/);
      assert.equal(chat.isAlive(), true);
      await chat.chat.submit(line);
      assert.equal(chat.isAlive(), false);
    });
  }

  test("B1.4: a copy of the conversation keeps the root's commands", async () => {
    // The script of a copy begins again, so the same answer looks first and starts then.
    await using chat = await openChat({
      sous: [calling(["terminal", { output_of: "bg1" }], ["terminal", staying("sous.pid")]), DONE],
    });
    await chat.conversation.say("Serve.");
    await chat.started();
    chat.heard.length = 0;
    chat.conversation.forkFrom(chat.conversation.runId ?? "");
    await chat.conversation.say("How is it?");
    assert.match(chat.heard[0] ?? "", /^\[bg1 is still running\.\]/);
  });

  test("B1.1: an agent that is called as @helper does not reach the root's commands, and its own end with its answer", async () => {
    const helper = "---\nname: helper\ndescription: Helps.\n---\nHelp.\n";
    const own = calling(["terminal", staying("helper.pid")]);
    const script = {
      sous: [start, DONE],
      helper: [read, own, calling(["terminal", { command: "until [ -e helper.pid ]; do sleep 0.05; done" }]), DONE],
    };
    await using chat = await openChat(script, { "home/.config/sous/agents/helper.md": helper });
    await chat.conversation.say("Serve.");
    await chat.started();
    const [named] = chat.application.agents;
    assert.ok(named !== undefined);
    chat.heard.length = 0;
    await chat.conversation.address(named, "Look.");
    assert.match(chat.heard[0] ?? "", UNKNOWN);
    assert.equal(chat.isAlive(), true);
    assert.equal(isAlive(chat.root, "helper.pid"), false);
  });
});
