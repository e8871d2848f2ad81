import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { liveLines } from "../../src/cli/live-lines.ts";
import { startRenderer } from "../../src/cli/render.ts";
import { RunTree } from "../../src/cli/run-tree.ts";
import { chooseStyle, type Style } from "../../src/cli/style.ts";
import { treeLines } from "../../src/cli/tree.ts";
import { displayWidth } from "../../src/cli/width.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { assertGolden } from "./golden.ts";
import { everyEnding, START, Story, threeChildren } from "./sample-events.ts";
import { ToyTerminal } from "./toy-terminal.ts";

const LIVE = chooseStyle({ color: "never", isAscii: false, isTerminal: true, env: {} });
const ASCII = chooseStyle({ color: "never", isAscii: true, isTerminal: true, env: {} });
const PLAIN = chooseStyle({ color: "auto", isAscii: false, isTerminal: false, env: {} });
const COLOURFUL = chooseStyle({ color: "always", isAscii: false, isTerminal: true, env: {} });

function treeOf(tell: typeof threeChildren, style: Style): RunTree {
  const tree = new RunTree(style.glyphs.arrow);
  tell((event) => tree.apply(event));
  return tree;
}

suite("the live region", () => {
  const views: [name: string, tell: typeof threeChildren, columns: number, maxLines: number, style: Style][] = [
    ["three-children-100.txt", threeChildren, 100, 24, LIVE],
    ["three-children-60.txt", threeChildren, 60, 24, LIVE],
    ["three-children-40.txt", threeChildren, 40, 24, LIVE],
    ["three-children-ascii.txt", threeChildren, 100, 24, ASCII],
    ["three-children-colour.txt", threeChildren, 100, 24, COLOURFUL],
    ["three-children-low.txt", threeChildren, 100, 6, LIVE],
    ["every-ending-live-100.txt", everyEnding, 100, 24, LIVE],
    ["every-ending-live-low.txt", everyEnding, 100, 9, LIVE],
  ];
  for (const [name, tell, columns, maxLines, style] of views) {
    test(name, () => {
      const lines = liveLines(treeOf(tell, style), { now: START + 72_000, columns, maxLines, frame: 0, style });
      assertGolden(name, lines);
      assert.ok(lines.length <= maxLines);
    });
  }

  test("is never wider or higher than it may be, whatever the terminal", () => {
    for (const tell of [threeChildren, everyEnding]) {
      const tree = treeOf(tell, LIVE);
      for (let columns = 20; columns <= 130; columns++) {
        for (const maxLines of [2, 3, 5, 8, 24]) {
          const lines = liveLines(tree, { now: START + 72_000, columns, maxLines, frame: 1, style: LIVE });
          assert.ok(lines.length <= maxLines, `${lines.length} lines of ${maxLines}`);
          for (const line of lines) assert.ok(displayWidth(line) <= columns, `${columns}: ${line}`);
        }
      }
    }
  });

  test("says what a child says, and that it is silent", () => {
    const tree = new RunTree("→");
    const story = new Story((event) => tree.apply(event));
    const activity = (): string => `${tree.roots[0]?.activity}${tree.roots[0]?.result}`;
    story.starts("lead", 0, "Look");
    assert.equal(activity(), "thinking");
    story.says("lead", 1, "First line.\nSecond ");
    story.says("lead", 1, "line\u001b[31m in red");
    assert.equal(activity(), "Second line in red");
    story.tell("lead", 70, { type: "stalled", seconds: 60, waitingFor: "grep" });
    assert.equal(activity(), "silent for 60s, waits for grep");
    story.tell("lead", 71, {
      type: "retry",
      attempt: 1,
      delayMs: 2500,
      kind: "rate_limit",
      message: "",
      spent: {
        inputTokens: 0,
        outputTokens: 0,
        cachedInputTokens: 0,
        cacheWriteTokens: 0,
        totalTokens: 0,
        estimated: false,
      },
      costUsd: 0,
    });
    assert.equal(activity(), "asks again in 2.5s (rate_limit)");
    story.calls("lead", 72, "grep", { pattern: "x".repeat(500) });
    story.gets("lead", 72, "grep", "a:1:x", { matches: 1, truncated: false });
    assert.equal(activity(), `grep  ${"x".repeat(120)}...  → 1 match`);
    story.tell("lead", 73, { type: "turn-start", turn: 2, promptTokens: 10, reserved: 0 });
    assert.match(activity(), /1 match$/);
    story.tell("lead", 74, { type: "notice", reason: "wrap-up", text: "Say what you have." });
    assert.equal(activity(), "wraps up");
  });
});

suite("the finished tree", () => {
  const views: [name: string, columns: number, style: Style][] = [
    ["every-ending-100.txt", 100, LIVE],
    ["every-ending-40.txt", 40, LIVE],
    ["every-ending-ascii.txt", 100, ASCII],
    ["every-ending-colour.txt", 100, COLOURFUL],
  ];
  for (const [name, columns, style] of views) {
    test(name, () => {
      const lines = treeLines(treeOf(everyEnding, style), columns, style);
      assertGolden(name, lines);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: colours take no columns.
      for (const line of lines) assert.ok(displayWidth(line.replace(/\u001b\[\d+m/g, "")) <= columns, line);
    });
  }
});

suite("the renderer", () => {
  test("writes plain lines without an escape byte where there is no terminal", () => {
    for (const [name, tell] of [
      ["three-children-plain.txt", threeChildren],
      ["every-ending-plain.txt", everyEnding],
    ] as const) {
      const lines: string[] = [];
      using renderer = startRenderer({ write: (text: string) => lines.push(text) }, PLAIN, new VirtualClock(START));
      tell(renderer.onEvent);
      const text = lines.join("");
      assert.ok(!text.includes("\u001b"));
      assertGolden(name, text.trimEnd().split("\n"));
    }
  });

  test("draws over its last frame and leaves nothing behind", () => {
    const terminal = new ToyTerminal(100, 30);
    const clock = new VirtualClock(START + 72_000);
    terminal.write("before\n");
    const renderer = startRenderer(terminal, LIVE, clock);
    threeChildren(renderer.onEvent);
    assert.equal(clock.liveTimers, 1);
    for (let frame = 0; frame < 3; frame++) clock.fireNext(() => 0);
    const expected = liveLines(renderer.tree, { now: clock.now(), columns: 99, maxLines: 24, frame: 3, style: LIVE });
    assert.equal(terminal.screen(), ["before", ...expected].join("\n"));
    assert.equal(terminal.isCursorHidden, true);
    renderer[Symbol.dispose]();
    renderer[Symbol.dispose]();
    terminal.write("after\n");
    assert.equal(terminal.screen(), "before\nafter");
    assert.equal(terminal.isCursorHidden, false);
    assert.equal(clock.liveTimers, 0);
  });

  test("works on the first line of the screen too, where nothing may be erased as a whole", () => {
    const terminal = new ToyTerminal(100, 30);
    const clock = new VirtualClock(START + 72_000);
    using renderer = startRenderer(terminal, LIVE, clock);
    threeChildren(renderer.onEvent);
    clock.fireNext(() => 0);
    clock.fireNext(() => 0);
    renderer[Symbol.dispose]();
    assert.equal(terminal.screen(), "");
  });

  test("draws at most 15 frames a second, however much happens", () => {
    const terminal = new ToyTerminal(100, 30);
    const clock = new VirtualClock(START);
    using renderer = startRenderer(terminal, LIVE, clock);
    const story = new Story(renderer.onEvent);
    story.starts("lead", 0, "Talk");
    while (clock.monotonic() < 1000) {
      for (let each = 0; each < 1000; each++) story.says("lead", 1, "word ");
      clock.fireNext(() => 0);
    }
    assert.ok(terminal.frames <= 15, String(terminal.frames));
  });

  test("a terminal that becomes narrower or wider is drawn anew", () => {
    const terminal = new ToyTerminal(100, 30);
    const clock = new VirtualClock(START + 72_000);
    terminal.write("before\n");
    using renderer = startRenderer(terminal, LIVE, clock);
    threeChildren(renderer.onEvent);
    clock.fireNext(() => 0);
    terminal.columns = 130;
    clock.fireNext(() => 0);
    const expected = liveLines(renderer.tree, { now: clock.now(), columns: 129, maxLines: 24, frame: 2, style: LIVE });
    assert.equal(terminal.screen(), ["before", ...expected].join("\n"));
  });

  test("hostile labels and tasks do nothing to the terminal", () => {
    const terminal = new ToyTerminal(80, 24);
    const clock = new VirtualClock(START);
    using renderer = startRenderer(terminal, LIVE, clock);
    const story = new Story(renderer.onEvent);
    story.starts("lead", 0, "x");
    story.starts("lead/\u001b]52;c;aGk=\u0007ev\u001b[2Jil\u202e\n\r\u0007", 0, "\u001b]0;title\u0007\u009b2Jtask");
    story.says("lead", 0, "\u001b[1;1Hhome");
    clock.fireNext(() => 0);
    assert.match(terminal.screen(), /evil/);
    const dangers = ["\u0007", "\u009b", "]52", "]0", "[2J", "[1;1H", "\u202e"];
    assert.deepEqual(
      dangers.filter((danger) => terminal.written.includes(danger)),
      [],
    );
  });
});
