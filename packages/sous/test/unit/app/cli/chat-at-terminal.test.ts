/** `sous chat` at a terminal: how it begins, what ends it, and what it leaves on the screen. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { PassThrough, Writable } from "node:stream";
import { suite, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { agentFile } from "../../../support/app/cli/agent-stage.ts";
import { child, folder, MODEL, USED } from "../../../support/app/cli/chat-folder.ts";
import { steady } from "../../../support/app/cli/chat-stage.ts";
import { assertGolden } from "../../../support/app/cli/golden.ts";
import { assertGivenBack } from "../../../support/app/cli/headless-screen.ts";
import { perform } from "../../../support/app/cli/in-process.ts";
import { TerminalInProcess } from "../../../support/app/cli/terminal-in-process.ts";
import { leftOver, whatIsOpen } from "../../../support/left-open.ts";

const SLOW = {
  sous: [
    { ...USED, calls: [child("slow", "Take your time")] },
    { ...USED, text: "This is what I have." },
  ],
  "sous/slow": [{ ...USED, wait_ms: 60_000, text: "never" }],
};
const HELLO = { sous: [{ text: "Hello back." }] };

suite("sous chat at a terminal", () => {
  for (const [signal, code] of [
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const) {
    test(`sous chat ends with ${code} after ${signal}, also on its first screen`, async () => {
      await using place = await folder(HELLO);
      for (const [parameters, shown] of [
        [MODEL, "/help lists"],
        [[], "1 or 2:"],
      ] as const) {
        await using command = new TerminalInProcess(["chat", ...parameters], place);
        await command.screen.until(shown);
        command.signal(signal);
        assert.equal(await command.ended, code);
        assertGivenBack(command.screen.written);
      }
    });
  }

  test("sous chat leaves nothing open that its process would have to close", async () => {
    await using place = await folder(HELLO);
    const logged = ["--log-file", join(place.cwd, "chat.log")];
    // The first time more is opened that stays, such as a library.
    for (const isFirst of [true, false]) {
      const earlier = whatIsOpen();
      await using command = new TerminalInProcess(["chat", ...MODEL, ...logged], place);
      await command.screen.until("/help lists");
      command.type("Hello.\r");
      await command.screen.until("Hello back.");
      command.signal("SIGTERM");
      assert.equal(await command.ended, 143);
      assert.deepEqual(isFirst ? [] : await leftOver(earlier), []);
    }
  });

  test("sous chat without a terminal reads no more of its input once it is stopped", async () => {
    await using place = await folder(HELLO);
    const stdin = new PassThrough();
    let said = "";
    const output = () =>
      new Writable({
        write(chunk, _encoding, done) {
          said += chunk;
          done();
        },
      });
    const streams = { stdin, stdout: output(), stderr: output() };
    const command = perform(["chat", ...MODEL], place, streams);
    stdin.write("Hello.\n");
    while (!said.includes("Hello back.")) await nextTurn();
    command.signal("SIGTERM");
    assert.equal((await command.ended).code, 143);
    assert.deepEqual([stdin.destroyed, stdin.listenerCount("data")], [true, 0]);
  });

  test("Ctrl-C wraps up a run, and a second one stops it", async () => {
    await using place = await folder(SLOW);
    await using command = new TerminalInProcess(["chat", ...MODEL], place);
    const { screen } = command;
    await screen.until("/help lists");
    command.type("\u001b[200~two\nlines\u001b[201~\r");
    await screen.until("1 running");
    assert.match(screen.text(), /^> two\n {2}lines$/m);
    command.type("\u0003");
    await screen.until("Wrapping up. Ctrl-C again stops at once.");
    command.type("\u0003");
    await screen.until("cancelled: The run was cancelled");
    await screen.until((text) => text.endsWith("\n>"));
    assertGolden("chat-interrupted.txt", steady(screen.text()));
    command.signal("SIGTERM");
    assert.equal(await command.ended, 143);
    assertGivenBack(screen.written);
  });

  test("sous chat counts the agents of the user in its greeting", async () => {
    await using place = await folder(HELLO);
    for (const [name, said] of [
      ["scout", "script/script.json, 1 agent  /help lists"],
      ["writer", "script/script.json, 2 agents  /help lists"],
    ] as const) {
      const file = join(place.env.XDG_CONFIG_HOME ?? "", `sous/agents/${name}.md`);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, agentFile(name));
      await using command = new TerminalInProcess(["chat", ...MODEL], place);
      await command.screen.until(said);
    }
  });

  test("C1: --agent talks to an agent of a file with the tools of its file, and --resume continues with it", async () => {
    const looks = { calls: [{ tool: "read_file", input: { path: "pay.ts" } }] };
    const writes = { calls: [{ tool: "terminal", input: { command: "touch made" } }] };
    await using place = await folder({ reader: [looks, writes, { text: "Hello from the file." }] });
    const file = join(place.env.XDG_CONFIG_HOME ?? "", "sous/agents/reader.md");
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, agentFile("reader", "nickname: Reader of files\ntools: [read_file]"));
    {
      await using command = new TerminalInProcess(["chat", ...MODEL, "--agent", "reader"], place);
      await command.screen.until("script/script.json, as reader");
      command.type("the first question\r");
      await command.screen.until("Hello from the file.\n(");
      assert.equal(existsSync(join(place.cwd, "made")), false);
      command.type("\u0004");
      assert.equal(await command.ended, 0);
    }
    await writeFile(join(place.cwd, "script.json"), JSON.stringify({ reader: [{ text: "And again." }] }));
    await using command = new TerminalInProcess(["chat", ...MODEL, "--agent", "reader", "--resume", "last"], place);
    await command.screen.until("Continuing: the first question");
    command.type("more\r");
    await command.screen.until("And again.\n(");
  });

  test("C1: --agent with an unknown name ends with 2 before it draws", async () => {
    await using place = await folder(HELLO);
    await using command = new TerminalInProcess(["chat", ...MODEL, "--agent", "reder"], place);
    assert.equal(await command.ended, 2);
    assert.match(command.screen.written, /Unknown agent reder/);
  });

  test("sous chat --resume alone offers the earlier conversations, and continues the one that is chosen", async () => {
    await using place = await folder(HELLO);
    {
      await using command = new TerminalInProcess(["chat", ...MODEL], place);
      await command.screen.until("/help lists");
      command.type("the first question\r");
      await command.screen.until("Hello back.\n(");
      command.type("\u0004");
      assert.equal(await command.ended, 0);
    }
    await using command = new TerminalInProcess(["chat", ...MODEL, "--resume"], place);
    await command.screen.until(/^ 1 {2}the first question$/m);
    await command.screen.until("> /resume");
    command.type("1\r");
    await command.screen.until("Continuing: the first question");
  });

  test("sous chat keeps no history of what was typed where there is no home for it", async () => {
    await using place = await folder(HELLO);
    const { XDG_STATE_HOME: state = "", HOME: _home, ...env } = place.env;
    for (const [given, isKept] of [
      [env, false],
      [{ ...env, XDG_STATE_HOME: state }, true],
    ] as const) {
      await using command = new TerminalInProcess(["chat", ...MODEL], { ...place, env: given });
      await command.screen.until("/help lists");
      command.type("hello\r");
      await command.screen.until("Hello back.\n(");
      command.type("\u0004");
      assert.equal(await command.ended, 0);
      assert.equal(existsSync(join(state, "sous/chat-history")), isKept);
    }
  });
});

suite("the first screen of a chat without a model", () => {
  for (const columns of [100, 40]) {
    test(`the first screen without a model offers only what works, at ${columns} columns`, async () => {
      await using place = await folder();
      const env = { ...place.env, OPENAI_API_KEY: "sk-canary" };
      await using command = new TerminalInProcess(["chat"], { ...place, columns, env });
      const { screen } = command;
      await screen.until("1 or 2:");
      assertGolden(`chat-first-run-${columns}.txt`, steady(screen.text()));
      command.type("2");
      assert.equal(await command.ended, 4);
      assert.match(screen.text(), /OPENAI_API_KEY +is set/);
      assert.doesNotMatch(screen.written, /canary/);
      assertGivenBack(screen.written);
    });
  }

  for (const [name, key] of [
    ["q", "q"],
    ["Ctrl-D", "\u0004"],
  ] as const) {
    test(`the first screen is left with ${name} and says nothing more`, async () => {
      await using place = await folder();
      await using command = new TerminalInProcess(["chat"], place);
      await command.screen.until("1 or 2:");
      command.type(key);
      assert.equal(await command.ended, 0);
      assert.doesNotMatch(command.screen.text(), /is not set|sous demo/);
    });
  }

  test("the first screen starts the demo with 1", async () => {
    await using place = await folder();
    const earlier = whatIsOpen();
    await using command = new TerminalInProcess(["chat"], place);
    await command.screen.until("1 or 2:");
    command.type("1");
    assert.equal(await command.ended, 0);
    assert.deepEqual(await leftOver(earlier), []);
    assert.match(command.screen.text(), /^sous demo: .* The model is scripted/m);
    assert.match(command.screen.text(), /no real model was asked\./);
  });
});
