import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { MIN_SHOWN_MS } from "../../../../src/app/cli/chat/questions.ts";
import { child, type Folder, folder, MODEL, USED } from "../../../support/app/cli/chat-folder.ts";
import { steady } from "../../../support/app/cli/chat-stage.ts";
import { assertGolden } from "../../../support/app/cli/golden.ts";
import { assertGivenBack } from "../../../support/app/cli/headless-screen.ts";
import { inProcess } from "../../../support/app/cli/in-process.ts";
import { compiled, MAIN } from "../../../support/app/cli/sous-process.ts";
import { CommandInTerminal } from "../../../support/app/cli/terminal-screen.ts";

/** The command has a clock of its own: a question must really have been there for a while before it can be answered. */
const LONG_ENOUGH_MS = MIN_SHOWN_MS + 50;

suite("sous chat in a terminal", () => {
  test("J3: the four sentences work", async () => {
    await using place = await folder({
      sous: [
        { ...USED, text: "I send someone.", calls: [child("async_research", "Research X")] },
        { ...USED, text: "X is **known** now." },
        { ...USED, calls: [child("search", "Find retries in this folder", { allowed_tools: ["grep"] })] },
        { ...USED, text: "Y is in `pay.ts`." },
        { ...USED, calls: [child("one", "Create a subagent that creates a subagent that creates a subagent")] },
        { ...USED, text: "Three deep is as far as it goes." },
        { ...USED, calls: [child("analysis", "Analyse Z", { summary_prompt: "Summarise as bullet points" })] },
        { ...USED, text: "In short:\n- Z is small\n- Z is fast" },
      ],
      "sous/async_research": [{ ...USED, text: "X was found." }],
      "sous/search": [
        { ...USED, calls: [{ tool: "grep", input: { pattern: "retries" } }] },
        { ...USED, text: "pay.ts:1" },
      ],
      "sous/one": [
        { ...USED, calls: [child("two", "Create a subagent that creates a subagent")] },
        { ...USED, text: "two is done" },
      ],
      "sous/one/two": [
        { ...USED, calls: [child("three", "Create a subagent")] },
        { ...USED, text: "three is done" },
      ],
      "sous/one/two/three": [
        { ...USED, calls: [child("four", "Say hello")] },
        { ...USED, text: "A fourth is not allowed." },
      ],
      "sous/analysis": [
        { ...USED, text: "Z is small and fast." },
        { ...USED, text: "- Z is small\n- Z is fast" },
      ],
    });
    using command = new CommandInTerminal(["chat", ...MODEL, "--color", "never"], { ...place, rows: 80 });
    const { screen } = command;
    await screen.until("/help lists");
    const sentences: [said: string, shown: string][] = [
      ["Use a subagent to research X, label it async_research", "X is known now."],
      ["Use a subagent with only the grep tool to search for Y", "Y is in pay.ts."],
      [
        "Create a subagent that creates a subagent that creates a subagent that creates a subagent",
        "Three deep is as far as it goes.",
      ],
      ["Use a subagent to analyse Z, summarise as bullet points", "• Z is fast\n("],
    ];
    for (const [said, shown] of sentences) {
      command.type(`${said}\r`);
      await screen.until(shown);
    }
    assert.match(screen.text(), /refused: Maximum subagent recursion depth \(3\) exceeded\. Current depth: 3\./);
    command.type("/tree\r");
    await screen.until("7 agents");
    command.type("\u0004");
    assert.equal(await command.ended, 0);
    assertGolden("chat-four-sentences.txt", steady(screen.text()));
    assertGivenBack(screen.written);
  });

  const SLOW = {
    sous: [
      { ...USED, calls: [child("slow", "Take your time")] },
      { ...USED, text: "This is what I have." },
    ],
    "sous/slow": [{ ...USED, wait_ms: 60_000, text: "never" }],
  };

  test("the rows of children fit the terminal after its size has changed; SIGTERM gives the terminal back", async () => {
    await using place = await folder(SLOW);
    using command = new CommandInTerminal(MODEL, place);
    const { screen } = command;
    await screen.until("/help lists");
    command.type("look\r");
    await screen.until(/^└─ . slow {2}"Take your time"/m);
    // A frame for the old size may still be on its way, and stays on the screen: only the last one is looked at.
    command.resize(40, 20);
    await screen.until(/^└─ . slow {2}\d[^└]*$/m);
    command.resize(100, 30);
    await screen.until(/^└─ . slow {2}"Take your time"[^└]*$/m);
    command.signal("SIGTERM");
    assert.equal(await command.ended, 143);
    assertGivenBack(screen.written);
  });

  test("sous chat clears what it draws before Ctrl-Z gives the terminal to the shell, and draws it again after fg", async () => {
    await using place = await folder();
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

  test("a crash gives the terminal back, too", async () => {
    await using place = await folder();
    const terminal = join(import.meta.dirname, "../../../../src/app/cli/chat/terminal.ts");
    const crash = `import(${JSON.stringify(terminal)}).then(({ openTerminal }) => {
      openTerminal(process.stdin, process.stdout, { timer: setTimeout }, { onKey() { throw new Error("boom"); }, onResize() {}, onEnd() {} });
      process.stdout.write("ready");
    })`;
    const script = `"${process.execPath}" -e '${crash}'; stty -a`;
    using command = new CommandInTerminal(["-c", script], { ...place, program: "/bin/sh" });
    await command.screen.until("ready");
    command.type("x");
    await command.ended;
    assert.match(command.screen.text(), /boom/);
    assert.match(command.screen.text(), /(?<!-)\bicanon\b/);
    assert.match(command.screen.text(), /(?<!-)\becho\b/);
    assertGivenBack(command.screen.written);
  });
});

suite("sous chat without a screen", () => {
  const asked = async (input: string, { cwd, env }: Folder, parameters: readonly string[]): Promise<Piped> => {
    const { code, stdout, stderr } = await inProcess(["chat", ...MODEL, ...parameters], { cwd, env, input });
    return { code, stdout, stderr };
  };
  const piped = (input: string, { cwd, env }: Folder): Promise<Piped> =>
    new Promise((resolve) => {
      const options = { cwd, env: { NODE_COMPILE_CACHE: compiled, ...env } };
      const process_ = execFile(process.execPath, [MAIN, "chat", ...MODEL], options, (error, stdout, stderr) =>
        resolve({ code: typeof error?.code === "number" ? error.code : 0, stdout, stderr }),
      );
      process_.stdin?.end(input);
    });
  type Piped = { code: number | null; stdout: string; stderr: string };

  test("every line is a message, the answers are on stdout, and there is no escape byte", async () => {
    await using place = await folder({
      sous: [
        { text: "One \u001b[31mred\u001b[0m." },
        { calls: [{ tool: "terminal", input: { command: "touch marker" } }, child("scout", "look")] },
        { text: "Two." },
      ],
      "sous/scout": [{ text: "seen" }],
    });
    const { code, stdout, stderr } = await piped("hello\ngo on\n/nonsense\n/quit\nnever\n", place);
    assert.equal(code, 0);
    assert.equal(stdout, "One red.\nTwo.\n");
    assert.ok(!(stdout + stderr).includes("\u001b"));
    assert.match(stderr, /error: Unknown command \/nonsense/);
    assert.equal(existsSync(join(place.cwd, "marker")), false);
    assert.match(stderr, /terminal needs approval, and no one can be asked|not allowed/);
    const quiet = await asked("hello", place, ["--quiet", "--ephemeral"]);
    assert.deepEqual(quiet, { code: 0, stdout: "One red.\n", stderr: "" });
    const keyless = await asked("hello\nagain\n", place, ["--ephemeral", "--model", "anthropic/claude-haiku-4-5"]);
    assert.equal(keyless.code, 4);
    assert.match(keyless.stderr, /^error: .*ANTHROPIC_API_KEY.*\n$/);
  });

  test("a message that cannot be sent is a sentence on stderr that says how to allow more, and the next line is read", async () => {
    await using place = await folder({
      sous: [{ text: "One.", usage: { input: 7000, output: 10 } }, { text: "Two." }],
    });
    await place.write("other.json", { sous: [{ text: "Of another model." }] });
    const { stdout, stderr } = await asked("hello\nagain\n/budget +20k\nonce more\n", place, [
      ...["--max-tokens-total", "8000", "--quiet"],
    ]);
    assert.equal(stdout, "One.\nThe next message may spend 20000 tokens more.\nTwo.\n");
    assert.match(stderr, /^error: Token limit exceeded.*\n\/budget \+20k allows 20000 tokens more\.\n$/);
    const lines = ["!kill -9 $$", "!exit 3", "!true", "/model script/other.json", "hello"];
    const shell = await asked(`${lines.join("\n")}\n`, place, ["--quiet", "--ephemeral"]);
    assert.deepEqual(shell, {
      code: 0,
      stdout: `[ended by SIGKILL]\n[exit code 3]\n(no output)\nFrom the next message on the model is script/other.json.\nOf another model.\n`,
      stderr: "",
    });
  });

  test("a dumb terminal gets plain lines, and questions are answered by a line", async () => {
    await using place = await folder({
      sous: [
        { calls: [{ tool: "terminal", input: { command: "echo made > marker" } }] },
        { calls: [{ tool: "terminal", input: { command: "cat marker" } }] },
        { text: "Finished." },
      ],
    });
    const env = { ...place.env, TERM: "dumb" };
    using command = new CommandInTerminal(["chat", ...MODEL], { ...place, env });
    const { screen } = command;
    command.type("go\n");
    await screen.until("y once");
    await setTimeout(LONG_ENOUGH_MS);
    command.type("y\n");
    await screen.until("cat marker");
    await screen.until((text) => text.split("y once").length === 3);
    command.type("yes\n");
    await screen.until("It was ignored: yes");
    await setTimeout(LONG_ENOUGH_MS);
    command.type("too late\n");
    await screen.until("Finished.");
    command.type("/quit\n");
    assert.equal(await command.ended, 0);
    assert.ok(!screen.written.includes("\u001b"));
    assert.equal(existsSync(join(place.cwd, "marker")), true);
    assert.match(screen.text(), /The user did not allow terminal: too late/);
  });
});
