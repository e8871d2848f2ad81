import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test } from "node:test";
import { type ChatScene, chatFrame } from "../../../../src/app/cli/chat/chat-view.ts";
import { emptyEditor, withText } from "../../../../src/app/cli/chat/editor.ts";
import { MarkdownStream } from "../../../../src/app/cli/chat/markdown.ts";
import { complete, openHistory } from "../../../../src/app/cli/chat/prompt-line.ts";
import { Transcript } from "../../../../src/app/cli/chat/transcript.ts";
import { readTypedLine } from "../../../../src/app/cli/chat/typed-line.ts";
import { LiveScreen } from "../../../../src/app/cli/terminal/live-screen.ts";
import { chooseStyle } from "../../../../src/app/cli/terminal/style.ts";
import { displayWidth } from "../../../../src/app/cli/terminal/text.ts";
import { VirtualClock } from "../../../../src/testing/world.ts";
import { steady } from "../../../support/app/cli/chat-stage.ts";
import { assertGolden } from "../../../support/app/cli/golden.ts";
import { HeadlessScreen } from "../../../support/app/cli/headless-screen.ts";
import { START, Story } from "../../../support/app/cli/sample-events.ts";

const LIVE = chooseStyle({ color: "never", isAscii: false, isTerminal: true, env: {} });
const ASCII = chooseStyle({ color: "never", isAscii: true, isTerminal: true, env: {} });
const COLOURFUL = chooseStyle({ color: "always", isAscii: false, isTerminal: true, env: {} });

const sceneOf = (transcript: Transcript, now: number, more: Partial<ChatScene> = {}): ChatScene => ({
  transcript,
  editor: emptyEditor(),
  purpose: undefined,
  question: undefined,
  selected: undefined,
  hint: undefined,
  now,
  ...more,
});

function busyChildren(transcript: Transcript, count: number): Story {
  const story = new Story((event) => void transcript.apply(event, 99));
  story.starts("sous", 0, "Look everywhere");
  story.calls("sous", 0, "parallel_subagent", { tasks: [] });
  for (let index = 1; index <= count; index++) story.starts(`sous/child${index}`, 1, `Part ${index}`);
  return story;
}

suite("frames", () => {
  test("with 50 busy children there are at most 15 frames a second, never more lines than the terminal has", async () => {
    const clock = new VirtualClock(START);
    using terminal = new HeadlessScreen(100, 20);
    const transcript = new Transcript(LIVE);
    const story = busyChildren(transcript, 50);
    let most = 0;
    using screen = new LiveScreen({
      screen: terminal,
      clock,
      isMoving: () => true,
      draw(size) {
        const frame = chatFrame(sceneOf(transcript, clock.now()), size, LIVE);
        most = Math.max(most, frame.lines.length);
        return frame;
      },
    });
    for (let step = 0; clock.now() < START + 5000; step++) {
      story.says(`sous/child${(step % 50) + 1}`, (clock.now() - START) / 1000, `word ${step} `);
      screen.refresh();
      clock.fireNext(() => 0);
    }
    const frames = terminal.written.split("\u001b[?2026h").length - 1;
    assert.ok(frames <= 5 * 15 + 1, `${frames} frames in 5 seconds`);
    assert.ok(frames > 5 * 10, `${frames} frames in 5 seconds`);
    assert.ok(most < 20, `${most} lines`);
    await terminal.end();
    assert.match(terminal.text(), /… \d+ more/);
    assert.equal(terminal.text().split("\n").length, most);
    assertGolden("chat-fifty-children.txt", steady(terminal.text().replaceAll(/word \d+/g, "word")));
  });

  test("a child that waits for the person is among those that are shown", () => {
    const transcript = new Transcript(LIVE);
    const story = busyChildren(transcript, 50);
    story.tell("sous/child47", 2, {
      type: "approval-request",
      callId: "c",
      toolName: "terminal",
      input: { command: "make" },
    });
    const { lines } = chatFrame(sceneOf(transcript, START + 3000), { columns: 100, rows: 12 }, LIVE);
    assert.match(lines.join("\n"), /! child47 .* wants: terminal {2}make/);
  });

  test("the row of a child shows what was allowed while it runs", () => {
    const transcript = new Transcript(LIVE);
    const story = busyChildren(transcript, 1);
    const call = { callId: "c", toolName: "terminal", input: { command: "make" } };
    story.tell("sous/child1", 2, { type: "tool-call-start", ...call });
    story.tell("sous/child1", 2, { type: "approval-request", ...call });
    story.tell("sous/child1", 3, { type: "approval-end", callId: "c", allowed: true, by: "person", reason: undefined });
    const { lines } = chatFrame(sceneOf(transcript, START + 4000), { columns: 100, rows: 12 }, LIVE);
    assert.match(lines.join("\n"), /child1 .* {2}terminal {2}make$/m);
  });

  test("of more lines than the terminal has the last are shown, with the cursor on its line", async () => {
    const clock = new VirtualClock(START);
    for (const [row, cursor] of [
      [9, 4],
      [7, 2],
      [2, 0],
    ]) {
      using terminal = new HeadlessScreen(40, 6);
      using screen = new LiveScreen({
        screen: terminal,
        clock,
        isMoving: () => false,
        draw: () => ({
          lines: Array.from({ length: 10 }, (_, index) => `line ${index}`),
          cursor: { row: row ?? 0, column: 3 },
        }),
      });
      screen.refresh();
      clock.fireNext(() => 0);
      assert.equal(await terminal.until("line 9"), "line 5\nline 6\nline 7\nline 8\nline 9");
      const up = 4 - (cursor ?? 0);
      assert.ok(terminal.written.includes(`\r${up === 0 ? "" : `\u001b[${up}A`}\u001b[3C`), `the cursor of row ${row}`);
    }
  });

  test("nothing is written when nothing changed, and no timer runs when nothing moves", () => {
    const clock = new VirtualClock(START);
    using terminal = new HeadlessScreen(80, 24);
    const transcript = new Transcript(LIVE);
    using screen = new LiveScreen({
      screen: terminal,
      clock,
      isMoving: () => false,
      draw: (size) => chatFrame(sceneOf(transcript, 0), size, LIVE),
    });
    screen.refresh();
    clock.fireNext(() => 0);
    const { length } = terminal.written;
    for (let count = 0; count < 5; count++) {
      screen.refresh();
      clock.fireNext(() => 0);
    }
    assert.equal(terminal.written.length, length);
    assert.equal(clock.liveTimers, 0);
  });

  test("any size of a terminal is enough: no line is wider than it, and the cursor is on one of them", () => {
    for (const style of [LIVE, ASCII]) {
      for (const columns of [20, 40, 61, 100]) {
        for (const rows of [4, 7, 12, 40]) {
          const transcript = new Transcript(style);
          const story = busyChildren(transcript, 7);
          story.says("sous", 3, "漢字 and text without an end ".repeat(20));
          const editor = withText(emptyEditor(), "typed 漢字 ".repeat(40));
          const scene = sceneOf(transcript, START + 9000, { editor, selected: "sous/child2", hint: "a hint" });
          const frame = chatFrame(scene, { columns, rows }, style);
          for (const line of frame.lines) assert.ok(displayWidth(line) < columns, `${columns}: ${line}`);
          assert.ok(frame.cursor.row < frame.lines.length && frame.cursor.column < columns);
        }
      }
    }
  });

  test("a terminal that becomes narrower is drawn again, and finished lines stay", async () => {
    const clock = new VirtualClock(START);
    using terminal = new HeadlessScreen(100, 24);
    const transcript = new Transcript(LIVE);
    busyChildren(transcript, 3);
    using screen = new LiveScreen({
      screen: terminal,
      clock,
      isMoving: () => false,
      draw: (size) => chatFrame(sceneOf(transcript, START + 2000), size, LIVE),
    });
    screen.print(["finished"]);
    for (const columns of [100, 60, 40, 100]) {
      terminal.resize(columns, 24);
      screen.refresh();
      clock.fireNext(() => 0);
      await terminal.end();
      const { lines } = chatFrame(sceneOf(transcript, START + 2000), { columns, rows: 24 }, LIVE);
      assert.deepEqual(
        terminal.text().split("\n"),
        ["finished", ...lines].map((line) => line.trimEnd()),
      );
    }
  });

  test("every line that is drawn after a change of size is first erased as a whole", () => {
    const clock = new VirtualClock(START);
    using terminal = new HeadlessScreen(100, 24);
    const transcript = new Transcript(LIVE);
    busyChildren(transcript, 3);
    using screen = new LiveScreen({
      screen: terminal,
      clock,
      isMoving: () => false,
      draw: (size) => chatFrame(sceneOf(transcript, START + 2000), size, LIVE),
    });
    screen.refresh();
    clock.fireNext(() => 0);
    terminal.written = "";
    terminal.resize(40, 24);
    screen.print(["finished"]);
    clock.fireNext(() => 0);
    // tmux remembers of a line that it was wrapped until it is erased, and joins it to the next when it grows.
    for (const line of terminal.written.split("\n")) assert.ok(line.includes("\u001b[2K"), JSON.stringify(line));
  });

  test("all choices of a question are shown, however narrow the terminal is", () => {
    const rule = { effect: "allow", pattern: "terminal(make)", origin: "" } as const;
    const action = { title: "sous wants to use terminal", lines: ["make"], why: [], rule };
    const who = { runId: "r", path: "sous", agent: "sous", above: [], callId: "c" };
    const request = { ...who, toolName: "terminal", input: {}, cwd: "/" };
    const question = { first: { request, action }, count: 1, isHeld: false, top: undefined };
    for (const columns of [20, 40, 60, 100]) {
      const scene = sceneOf(new Transcript(LIVE), START, { question });
      const text = chatFrame(scene, { columns, rows: 24 }, LIVE).lines.join("\n");
      for (const key of ["y once", "a always", "n no", "r no, and why"]) assert.ok(text.includes(key), text);
    }
  });

  test("a yes to what a tool asks by itself is not called once: it approves the tool as it is now", () => {
    const action = {
      title: "sous wants to use github › post",
      lines: [],
      why: ["asked because it has changed"],
      rule: undefined,
    };
    const who = { runId: "r", path: "sous", agent: "sous", above: [], callId: "c" };
    const request = { ...who, toolName: "mcp__github__post", input: {}, cwd: "/", isFromTool: true } as const;
    const scene = sceneOf(new Transcript(LIVE), START, {
      question: { first: { request, action }, count: 1, isHeld: false, top: undefined },
    });
    const text = chatFrame(scene, { columns: 80, rows: 24 }, LIVE).lines.join("\n");
    assert.match(text, /y approve · n no · r no, and why/);
  });

  test("a child that is silent says so, and on what it waits", () => {
    const transcript = new Transcript(LIVE);
    const story = busyChildren(transcript, 1);
    story.tell("sous/child1", 61, { type: "stalled", seconds: 60, waitingFor: "the model" });
    const { lines } = chatFrame(sceneOf(transcript, START + 61_000), { columns: 100, rows: 24 }, LIVE);
    assert.match(lines.join("\n"), /silent for 60s, waits for the model/);
  });
});

suite("Markdown as it arrives", () => {
  const render = (pieces: readonly string[], style = LIVE, columns = 40): string[] => {
    const stream = new MarkdownStream(style);
    return [...pieces.flatMap((piece) => stream.push(piece, columns)), ...stream.end(columns)];
  };
  const TEXT = [
    "# A *title*",
    "Some **bold** and `code_here` with [a link](https://example.com) in a sentence that is long.",
    "- one item that is too long for a line of forty",
    "  1. inner",
    "```ts",
    "const x = '**not bold**';",
    "```",
    "---",
    "Done, 2 * 3 * 4 and snake_case_name.",
  ].join("\n");

  test("Markdown is the same however it is cut", () => {
    const whole = render([TEXT]);
    assertGolden("chat-markdown.txt", whole);
    assert.deepEqual(render([...TEXT]), whole);
    for (const line of whole) assert.ok(displayWidth(line) <= 40, line);
    assertGolden("chat-markdown-colour.txt", render([TEXT], COLOURFUL));
  });

  test("the line that is not finished is known, and shown once when it is", () => {
    const stream = new MarkdownStream(LIVE);
    assert.deepEqual(stream.push("Hello **wor", 40), []);
    assert.deepEqual(stream.pending(40), ["Hello **wor"]);
    assert.deepEqual(stream.push("ld**\n", 40), ["Hello world"]);
    assert.deepEqual(stream.pending(40), []);
  });

  test("a line without an end is shown in pieces as soon as it is too long", () => {
    const stream = new MarkdownStream(LIVE);
    assert.deepEqual(stream.push("x".repeat(4000), 1000), []);
    assert.equal(stream.pending(1000).join(""), "x".repeat(4000));
    assert.deepEqual(stream.push("y", 1000), [..."xxxx"].map((letter) => letter.repeat(1000)).concat("y"));
    assert.deepEqual(stream.pending(1000), []);
    assert.deepEqual(stream.push("z\n", 1000), ["z"]);
    const whole = render([`${"x".repeat(4000)}y\nz\n`], LIVE, 1000);
    assert.deepEqual(whole, [..."xxxx"].map((letter) => letter.repeat(1000)).concat("y", "z"));
  });

  test("where the place of an item leaves no room for its words, they are broken like others", () => {
    assert.deepEqual(render(["      - one two three four"], LIVE, 20), ["      • one two", "        three four"]);
    assert.deepEqual(render(["        - one two three"], LIVE, 20), ["        • one two", "          three"]);
    assert.deepEqual(render(["         - one two three"], LIVE, 20), ["         - one two", "three"]);
  });

  test("no code of a terminal survives, also when it arrives in pieces", () => {
    const attack = "\u001b]52;c;Y2FuYXJ5\u0007\u001b[2J\u009b31m\u001bP0;1|17/ab\u001b\\red\u202e\r\nnext\u0008\u0007";
    for (const pieces of [[attack], [...attack]]) {
      const text = render(pieces, COLOURFUL, 60).join("\n");
      // biome-ignore lint/suspicious/noControlCharactersInRegex: what may not be there.
      assert.doesNotMatch(text.replace(/\u001b\[\d+m/g, ""), /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    }
  });
});

suite("typed text", () => {
  const read = (line: string) => readTypedLine(line, new Set(["scout"]));

  test("a command, a shell line, an agent, a message and files are told apart", () => {
    assert.deepEqual(read("/cost "), { kind: "command", name: "cost", parameter: "" });
    assert.deepEqual(read("/export a b.md"), { kind: "command", name: "export", parameter: "a b.md" });
    assert.equal(read("/etc/hosts is wrong").kind, "message");
    assert.deepEqual(read("!git status"), { kind: "shell", command: "git status" });
    assert.deepEqual(read("@scout find it"), { kind: "agent", name: "scout", task: "find it" });
    assert.deepEqual(read("ask @scout about @./scout and @a/b.ts, or mail me@example.com"), {
      kind: "message",
      text: "ask @scout about @./scout and @a/b.ts, or mail me@example.com",
      files: [
        { path: "./scout", mustBeThere: true },
        { path: "a/b.ts", mustBeThere: false },
      ],
    });
    assert.equal(read("  \n ").kind, "nothing");
  });

  test("Tab completes commands, agents and files, and offers what there is to choose from", async () => {
    const cwd = await mkdtemp(join(tmpdir(), "sous-chat-"));
    try {
      for (const name of ["scan.ts", "scar.ts", "other.md"]) await writeFile(join(cwd, name), "");
      const resumable = async () => ["1", "2", "last", "01AAA1", "01AAB2"];
      const sources = { commands: ["model", "cost", "compact"], agents: ["scout"], cwd, resumable };
      assert.deepEqual(await complete("/mo", 3, sources), { from: 0, text: "/model ", choices: [] });
      assert.deepEqual(await complete("/co", 3, sources), { from: 0, text: "/co", choices: ["/compact", "/cost"] });
      assert.deepEqual(await complete("@sc", 3, sources), {
        from: 0,
        text: "@sc",
        choices: ["@scan.ts", "@scar.ts", "@scout"],
      });
      assert.deepEqual(await complete("see @sc", 7, sources), {
        from: 4,
        text: "@sca",
        choices: ["@scan.ts", "@scar.ts"],
      });
      assert.deepEqual(await complete("@./o", 4, sources), { from: 0, text: "@./other.md ", choices: [] });
      assert.equal(await complete("@../", 4, sources), undefined);
      assert.equal(await complete("word", 4, sources), undefined);
      assert.deepEqual((await complete("/resume ", 8, sources))?.choices, ["1", "2", "last"]);
      assert.deepEqual(await complete("/resume 01", 10, sources), {
        from: 8,
        text: "01AA",
        choices: ["01AAA1", "01AAB2"],
      });
      assert.deepEqual(await complete("/resume 01AAB", 13, sources), { from: 8, text: "01AAB2 ", choices: [] });
    } finally {
      await rm(cwd, { recursive: true, maxRetries: 5 });
    }
  });

  test("earlier lines are stored privately and bounded, and a link instead of the file is not followed", async () => {
    const folder = await mkdtemp(join(tmpdir(), "sous-chat-"));
    try {
      const file = join(folder, "state", "chat-history");
      const history = await openHistory(file);
      await history.add("one\ntwo");
      await history.add("x".repeat(20_000));
      assert.deepEqual((await openHistory(file)).entries, ["one\ntwo"]);
      assert.equal((await stat(file)).mode & 0o777, 0o600);
      assert.equal((await stat(join(folder, "state"))).mode & 0o777, 0o700);
      await writeFile(file, `${'"line"\n'.repeat(2001)}{broken\n`);
      assert.equal((await openHistory(file)).entries.length, 1000);
      assert.equal((await readFile(file, "utf8")).length, 7000);
      const canary = join(folder, "canary");
      await writeFile(canary, '"secret"\n');
      await symlink(canary, join(folder, "link"));
      const linked = await openHistory(join(folder, "link"));
      await linked.add("more");
      assert.deepEqual(linked.entries, []);
      assert.equal(await readFile(canary, "utf8"), '"secret"\n');
      assert.deepEqual((await openHistory(undefined)).entries, []);
    } finally {
      await rm(folder, { recursive: true, maxRetries: 5 });
    }
  });
});
