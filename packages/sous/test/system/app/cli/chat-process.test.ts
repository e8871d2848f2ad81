/** `sous chat` as a process at a terminal: how it begins, what ends it, and what it leaves on the screen. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { suite, test } from "node:test";
import { agentFile } from "../../../support/app/cli/agent-stage.ts";
import { folder, MODEL } from "../../../support/app/cli/chat-folder.ts";
import { MAIN } from "../../../support/app/cli/sous-process.ts";
import { CommandInTerminal } from "../../../support/app/cli/terminal-screen.ts";

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
        using command = new CommandInTerminal(["chat", ...parameters], place);
        await command.screen.until(shown);
        command.signal(signal);
        assert.equal(await command.ended, code);
        assert.ok(
          command.screen.written.lastIndexOf("\u001b[?2004l") > command.screen.written.lastIndexOf("\u001b[?2004h"),
        );
      }
    });
  }

  test("sous chat counts the agents of the user in its greeting", async () => {
    await using place = await folder(HELLO);
    for (const [name, said] of [
      ["scout", "script/script.json, 1 agent  /help lists"],
      ["writer", "script/script.json, 2 agents  /help lists"],
    ] as const) {
      const file = join(place.env.XDG_CONFIG_HOME ?? "", `sous/agents/${name}.md`);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, agentFile(name));
      using command = new CommandInTerminal(["chat", ...MODEL], place);
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
      using command = new CommandInTerminal(["chat", ...MODEL, "--agent", "reader"], place);
      await command.screen.until("script/script.json, as reader");
      command.type("the first question\r");
      await command.screen.until("Hello from the file.\n(");
      assert.equal(existsSync(join(place.cwd, "made")), false);
      command.type("\u0004");
      assert.equal(await command.ended, 0);
    }
    await writeFile(join(place.cwd, "script.json"), JSON.stringify({ reader: [{ text: "And again." }] }));
    using command = new CommandInTerminal(["chat", ...MODEL, "--agent", "reader", "--resume", "last"], place);
    await command.screen.until("Continuing: the first question");
    command.type("more\r");
    await command.screen.until("And again.\n(");
  });

  test("C1: --agent with an unknown name ends with 2 before it draws", async () => {
    await using place = await folder(HELLO);
    using command = new CommandInTerminal(["chat", ...MODEL, "--agent", "reder"], place);
    assert.equal(await command.ended, 2);
    assert.match(command.screen.written, /Unknown agent reder/);
  });

  test("sous chat --resume alone offers the earlier conversations, and continues the one that is chosen", async () => {
    await using place = await folder(HELLO);
    {
      using command = new CommandInTerminal(["chat", ...MODEL], place);
      await command.screen.until("/help lists");
      command.type("the first question\r");
      await command.screen.until("Hello back.\n(");
      command.type("\u0004");
      assert.equal(await command.ended, 0);
    }
    using command = new CommandInTerminal(["chat", ...MODEL, "--resume"], place);
    await command.screen.until(/^ 1 {2}the first question$/m);
    await command.screen.until("> /resume");
    command.type("1\r");
    await command.screen.until("Continuing: the first question");
  });

  test("sous chat clears what it draws before Ctrl-Z gives the terminal to the shell, and draws it again after fg", async () => {
    await using place = await folder(HELLO);
    const shell = ["--norc", "--noprofile", "-i"];
    const env = { ...place.env, PS1: "shell$ ", BASH_SILENCE_DEPRECATION_WARNING: "1" };
    using command = new CommandInTerminal(shell, { ...place, env, program: "bash" });
    await command.screen.until("shell$");
    command.type(`clear; "${process.execPath}" "${MAIN}" chat ${MODEL.join(" ")}\r`);
    await command.screen.until("/help lists");
    command.type("half a sentence");
    await command.screen.until("> half a sentence");
    command.type("\u001a");
    const stopped = await command.screen.until(/Stopped[\s\S]*\nshell\$$/);
    assert.doesNotMatch(stopped, /half a sentence/);
    command.type("fg\r");
    await command.screen.until("> half a sentence");
    command.type("\u0015\u0004");
    await command.screen.until(/fg\n[\s\S]*\nshell\$$/);
  });

  test("sous chat keeps no history of what was typed where there is no home for it", async () => {
    await using place = await folder(HELLO);
    const { XDG_STATE_HOME: state = "", HOME: _home, ...env } = place.env;
    for (const [given, isKept] of [
      [env, false],
      [{ ...env, XDG_STATE_HOME: state }, true],
    ] as const) {
      using command = new CommandInTerminal(["chat", ...MODEL], { ...place, env: given });
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
  for (const [name, key] of [
    ["q", "q"],
    ["Ctrl-D", "\u0004"],
  ] as const) {
    test(`the first screen is left with ${name} and says nothing more`, async () => {
      await using place = await folder();
      using command = new CommandInTerminal([], place);
      await command.screen.until("1 or 2:");
      command.type(key);
      assert.equal(await command.ended, 0);
      assert.doesNotMatch(command.screen.text(), /is not set|sous demo/);
    });
  }

  test("the first screen starts the demo with 1", async () => {
    await using place = await folder();
    using command = new CommandInTerminal([], place);
    await command.screen.until("1 or 2:");
    command.type("1");
    assert.equal(await command.ended, 0);
    assert.match(command.screen.text(), /^sous demo: .* The model is scripted/m);
    assert.match(command.screen.text(), /no real model was asked\./);
  });
});
