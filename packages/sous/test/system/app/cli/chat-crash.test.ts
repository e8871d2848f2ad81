/** `sous chat` that was killed and continues, as a person at a terminal or a script sees it. */

import assert from "node:assert/strict";
import { cp, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after, suite, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { MIN_SHOWN_MS } from "../../../../src/app/cli/chat/questions.ts";
import { child, type Folder, folder, MODEL, USED } from "../../../support/app/cli/chat-folder.ts";
import { inProcess } from "../../../support/app/cli/in-process.ts";
import { TerminalInProcess } from "../../../support/app/cli/terminal-in-process.ts";
import { CommandInTerminal } from "../../../support/app/cli/terminal-screen.ts";

/** The child takes long in the first process; the turns of the next begin where it stood. */
const SCRIPT = {
  sous: [
    { ...USED, text: "Noted." },
    { ...USED, text: "I ask one.", calls: [child("slow", "Take your time")] },
    { ...USED, text: "It is **done**." },
  ],
  "sous/slow": [{ ...USED, wait_ms: 60_000, text: "never" }],
};
const QUICK = {
  sous: [
    { ...USED, text: "Hello again." },
    { ...USED, text: "It is **done**." },
    { ...USED, text: "Good bye." },
  ],
  "sous/slow": [{ ...USED, text: "Slowly done." }],
};

/** A conversation whose second message is killed while its child works. A copy of it is put back where it was made. */
async function killed(): Promise<Folder> {
  made ??= makeKilled();
  const { place, copy } = await made;
  await rm(dirname(place.cwd), { recursive: true, force: true });
  await cp(copy, dirname(place.cwd), { recursive: true });
  return place;
}

let made: ReturnType<typeof makeKilled> | undefined;

async function makeKilled(): Promise<{ place: Folder; copy: string }> {
  const place = await folder(SCRIPT);
  await kill(place);
  const copy = `${dirname(place.cwd)}-killed`;
  await cp(dirname(place.cwd), copy, { recursive: true });
  return { place, copy };
}

after(async () => {
  if (made === undefined) return;
  const { place, copy } = await made;
  await place[Symbol.asyncDispose]();
  await rm(copy, { recursive: true, force: true, maxRetries: 5 });
});

async function kill(place: Folder): Promise<void> {
  using command = new CommandInTerminal(["chat", ...MODEL], place);
  const { screen } = command;
  await screen.until("/help lists");
  command.type("remember 42\r");
  await screen.until("Noted.");
  command.type("fan out\r");
  await screen.until(/[◐◓◑◒] slow/);
  command.kill();
  await command.ended;
}

type Piped = { code: number | null; stdout: string; stderr: string };

const asked = (input: string, { cwd, env }: Folder, parameters: readonly string[]): Promise<Piped> =>
  inProcess(["chat", ...MODEL, ...parameters], { cwd, env, input });

const sous = async ({ cwd, env }: Folder, parameters: readonly string[]): Promise<string> =>
  (await inProcess(parameters, { cwd, env })).stdout;

suite("sous chat --continue after kill -9", () => {
  test("sous chat --continue shows the conversation, the live rows and the answer; Tab completes, and the conversation continues", async () => {
    const place = await killed();
    await place.write("script.json", QUICK);
    await using command = new TerminalInProcess(["chat", ...MODEL, "--continue"], place);
    const { screen } = command;
    const text = await screen.until("It is done.");
    assert.match(
      text,
      /Continuing, where it was interrupted: remember 42\n\n> remember 42\nNoted\.\n\n> fan out\nI ask one\.\n/,
    );
    await screen.until(/✓ slow .*Slowly done\./);
    await screen.until(/\(3 turns · 1 tool · .*, with 1 child\)/);
    command.type("/co\t");
    await screen.until("/compact  /cost");
    command.type("s\t");
    await screen.until(/^> \/cost$/m);
    command.type("\r");
    await screen.until(/2 messages · 1 child/);
    command.type("bye\r");
    await screen.until("Good bye.");
    command.type("\u0004");
    assert.equal(await command.ended, 0);
    assert.match(screen.text(), /To continue: sous chat --resume [0-9A-Z]{26}$/);
  });

  test("a conversation of another folder is continued by the command that is printed at the end", async () => {
    const place = await killed();
    await place.write("script.json", QUICK);
    const elsewhere = { ...place, cwd: join(place.cwd, "..", "elsewhere") };
    await cp(place.cwd, elsewhere.cwd, { recursive: true });
    const { id } = JSON.parse(await sous(place, ["replay", "--list", "--roots", "--json"])).runs[0];
    await using command = new TerminalInProcess(["chat", ...MODEL, "--resume", id, "--here"], elsewhere);
    await command.screen.until("It is done.");
    command.type("\u0004");
    await command.ended;
    const [, printed = ""] = /To continue: sous chat (.*)$/.exec(command.screen.text()) ?? [];
    const again = await asked("bye\n", elsewhere, printed.split(" "));
    assert.deepEqual([again.code, again.stderr.includes("completed")], [0, true], again.stderr);
  });

  test("a conversation that continues is live: the size may change, and it can be continued again after Ctrl-D", async () => {
    const place = await killed();
    using command = new CommandInTerminal(["chat", ...MODEL, "--continue"], place);
    const { screen } = command;
    await screen.until(/[◐◓◑◒] slow/);
    command.resize(40, 20);
    await screen.until(/^└─ . slow {2}/m);
    command.resize(100, 30);
    await screen.until(/^└─ . slow {2}"Take your time"/m);
    await using other = new TerminalInProcess(["chat", ...MODEL, "--continue"], place);
    assert.equal(await other.ended, 1);
    assert.match(other.screen.text(), /^error: Another process works on [0-9A-Z]{26}$/m);
    command.type("\u0004");
    assert.equal(await command.ended, 0);
    await place.write("script.json", QUICK);
    await using again = new TerminalInProcess(["chat", ...MODEL, "--continue"], place);
    await again.screen.until(/> fan out\nI ask one\.\n- cancelled/);
    again.type("what now?\r");
    await again.screen.until("Hello again.");
    again.type("\u0004");
    assert.equal(await again.ended, 0);
  });

  test("sous chat --continue asks again what was being asked", async () => {
    const script = {
      sous: [{ calls: [{ tool: "terminal", input: { command: "echo made > marker" } }] }, { text: "It is made." }],
    };
    await using place = await folder(script);
    {
      using command = new CommandInTerminal(["chat", ...MODEL], place);
      await command.screen.until("/help lists");
      command.type("make it\r");
      await command.screen.until("y once");
      command.kill();
      await command.ended;
    }
    await using command = new TerminalInProcess(["chat", ...MODEL, "--continue"], place);
    await command.screen.until("y once");
    await setTimeout(MIN_SHOWN_MS + 50);
    command.type("y");
    await command.screen.until("It is made.");
    command.type("\u0004");
    assert.equal(await command.ended, 0);
  });

  test("a continued chat in a pipe prints first the answer of what was interrupted, then those to the lines", async () => {
    const place = await killed();
    await place.write("script.json", QUICK);
    const first = await asked("bye\n", place, ["--continue"]);
    assert.deepEqual([first.code, first.stdout], [0, "It is **done**.\nGood bye.\n"]);
    assert.match(first.stderr, /^Continuing, where it was interrupted: remember 42\n/);
    assert.match(first.stderr, /sous {2}✓ completed \(3 turns · 1 tool · .*, with 1 child\)/);
    const none = await asked("never\n", place, ["--resume", "01NOSUCHRUN"]);
    assert.deepEqual([none.code, none.stdout], [1, ""]);
    const list = await asked("/resume 1\nand?\n", place, ["--resume"]);
    assert.match(list.stdout, /^ 1 {2}remember 42\n {4}3 messages · .*\n[\s\S]*Hello again\.\n$/);
  });
});

suite("a conversation that was summed up", () => {
  test("a conversation that was summed up continues from its summary in the next process, and says how", async () => {
    await using place = await folder({ sous: [{ text: "One." }, { text: "All of it." }, { text: "Two." }] });
    {
      await using command = new TerminalInProcess(["chat", ...MODEL], place);
      await command.screen.until("/help lists");
      command.type("one\r");
      await command.screen.until("One.");
      command.type("/compact\r");
      await command.screen.until("The conversation continues from this summary.");
      command.type("/quit\r");
      assert.equal(await command.ended, 0);
      assert.match(command.screen.text(), /To continue: sous chat --resume [0-9A-Z]{26}$/);
    }
    const { stderr } = await asked("two\n", place, ["--continue"]);
    assert.match(stderr, /^Continuing: one\n\n> one\nOne\.\n\nIt was summed up, and continues from the summary\.\n/);
    const sent = await sous(place, ["replay", "--id", "last", "--request", "1", "--json"]);
    const { messages } = JSON.parse(sent);
    assert.deepEqual(
      messages.map((message: { content: { text?: string }[] }) => message.content[0]?.text),
      ["A summary of our conversation so far:\n\nAll of it.", "two"],
    );
  });
});

suite("one conversation in two processes", () => {
  test("a conversation continues in two processes: each says first what the other has said, and each message is stored once", async () => {
    await using place = await folder({ sous: [{ text: "One." }, { text: "Two." }, { text: "Three." }] });
    using first = new CommandInTerminal(["chat", ...MODEL], place);
    await first.screen.until("/help lists");
    first.type("one\r");
    await first.screen.until("One.");
    {
      await using second = new TerminalInProcess(["chat", ...MODEL, "--continue"], place);
      await second.screen.until("Continuing: one");
      second.type("two\r");
      await second.screen.until(/> two\nOne\./);
    }
    first.type("three\r");
    await first.screen.until("Another process has continued this conversation");
    first.type("three\r");
    await first.screen.until(/> three\nTwo\./);
    first.type("\u0004");
    assert.equal(await first.ended, 0);
    await using third = new TerminalInProcess(["chat", ...MODEL, "--continue"], place);
    await third.screen.until(/… 2 earlier messages\n\n> three\nTwo\./);
  });
});
