import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { startRenderer } from "../../../../src/app/cli/run/watch.ts";
import { chooseStyle, type Style } from "../../../../src/app/cli/terminal/style.ts";
import { displayWidth } from "../../../../src/app/cli/terminal/text.ts";
import { liveLines } from "../../../../src/app/cli/view/live-lines.ts";
import { RunTree } from "../../../../src/app/cli/view/run-tree.ts";
import { treeLines } from "../../../../src/app/cli/view/tree-lines.ts";
import { VirtualClock } from "../../../../src/testing/world.ts";
import { assertGolden } from "../../../support/app/cli/golden.ts";
import {
  everyEnding,
  START,
  Story,
  sixOfTenThousand,
  TEN_THOUSAND,
  threeChildren,
} from "../../../support/app/cli/sample-events.ts";
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
    ["six-of-ten-thousand-119.txt", sixOfTenThousand, 119, 24, LIVE],
    ["six-of-ten-thousand-79.txt", sixOfTenThousand, 79, 24, LIVE],
    ["six-of-ten-thousand-40.txt", sixOfTenThousand, 40, 24, ASCII],
    ["six-of-ten-thousand-low.txt", sixOfTenThousand, 79, 5, LIVE],
  ];
  for (const [name, tell, columns, maxLines, style] of views) {
    test(`the live region is drawn as in ${name}`, () => {
      const lines = liveLines(treeOf(tell, style), { now: START + 72_000, columns, maxLines, frame: 0, style });
      assertGolden(name, lines);
      assert.ok(lines.length <= maxLines);
    });
  }

  test("the live region is never wider or higher than it may be, whatever the terminal", () => {
    for (const tell of [threeChildren, everyEnding, sixOfTenThousand]) {
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

  test("a run that was resumed has taken what it took before, and not the time in between", () => {
    const tree = new RunTree("→");
    const story = new Story((event) => tree.apply(event));
    story.starts("lead", 0, "Look");
    story.tell("lead", 3600, { type: "resume", usedMs: 5000 });
    const [first] = liveLines(tree, { now: START + 3_602_000, columns: 80, maxLines: 9, frame: 0, style: LIVE });
    assert.match(first ?? "", / 7\.0s$/);
  });

  test("the live region shows what a child says, and that it is silent", () => {
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
    assert.equal(activity(), "waits for the rate limit, 3 s");
    story.calls("lead", 72, "grep", { pattern: "x".repeat(500) });
    story.gets("lead", 72, "grep", "a:1:x", { matches: 1, truncated: false });
    assert.equal(activity(), `grep  ${"x".repeat(120)}...  → 1 match`);
    story.tell("lead", 73, { type: "turn-start", turn: 2, promptTokens: 10, reserved: 0 });
    assert.match(activity(), /1 match$/);
    story.tell("lead", 74, { type: "notice", reason: "wrap-up", text: "Say what you have." });
    assert.equal(activity(), "wraps up");
  });
});

test("the progress of a call of a root stays in sight, however long its command is", () => {
  const story = new Story();
  story.starts("lead", 0, "go");
  story.calls("lead", 1, "terminal", { command: "make all of it and everything else too" });
  story.progresses("lead", 2, "terminal", { text: "cc main.c" });
  const tree = new RunTree("→");
  for (const event of story.events) tree.apply(event);
  const [line = ""] = liveLines(tree, { now: START + 3000, columns: 50, maxLines: 5, frame: 0, style: LIVE });
  assert.match(line, /lead {2}terminal {2}make.*…: cc main\.c/);
  assert.ok(displayWidth(line) <= 50);
});

test("a call that runs says how far it is behind what it does, until its result", () => {
  const story = new Story();
  story.starts("lead", 0, "go");
  story.starts("lead/scout", 1, "build");
  story.calls("lead/scout", 2, "terminal", { command: "make" });
  const rows: string[] = [];
  const tree = new RunTree("→");
  const renderer = startRenderer(
    { write: (text: string) => void rows.push(text) } as never,
    PLAIN,
    new VirtualClock(0),
  );
  const activity = () => {
    for (const event of story.events.splice(0)) {
      tree.apply(event);
      renderer.onEvent(event);
    }
    const [, node] = tree.all();
    return `${node?.activity}${node?.result}`;
  };
  assert.equal(activity(), "terminal  make");
  rows.length = 0;
  story.progresses("lead/scout", 3, "terminal", { text: "cc \u001b[31mmain.c\nld", done: 3, total: 10 });
  assert.equal(activity(), "terminal  make: 3/10 cc main.c ld");
  story.progresses("lead/scout", 4, "terminal", { text: "", done: 4 });
  assert.equal(activity(), "terminal  make: 4");
  assert.deepEqual(rows, [], "a log is not flooded");
  story.gets("lead/scout", 5, "terminal", "built");
  assert.equal(activity(), "terminal  make  → built");
});

suite("a child that waits to start", () => {
  const labels = (tree: RunTree): string[] =>
    (tree.roots[0]?.children ?? []).map(({ label, status }) => `${label} ${status}`);

  test("a child that waits to start has a row, and then runs in the same row with a clock of its own", () => {
    const tree = new RunTree("→");
    const story = new Story((event) => tree.apply(event));
    story.starts("lead", 0, "Look");
    story.limit("lead/one", 1, "budget-wait", TEN_THOUSAND);
    story.limit("lead/two", 1, "budget-wait", TEN_THOUSAND);
    assert.deepEqual(labels(tree), ["one queued", "two queued"]);
    story.starts("lead/one", 9, "The first");
    assert.deepEqual(labels(tree), ["one running", "two queued"]);
    assert.equal(tree.get("lead/one")?.startedAt, START + 9000);
    assert.equal(tree.get("lead/one")?.waitsFor, undefined);
  });

  test("a child that waits to start vanishes when it is refused, and when its parent ends without it", () => {
    const tree = new RunTree("→");
    const story = new Story((event) => tree.apply(event));
    story.starts("lead", 0, "Look");
    for (const label of ["one", "two"]) story.limit(`lead/${label}`, 1, "budget-wait", TEN_THOUSAND);
    const refusal = { type: "spawn-refused", errorType: "quota", message: "Token limit exceeded" } as const;
    story.tell("lead", 2, { ...refusal, label: "one", childPath: "lead/one" });
    assert.deepEqual(labels(tree), ["two queued"]);
    story.ends("lead", 3, { text: "Done." });
    assert.deepEqual(labels(tree), []);
  });

  test("a child that waits to start tells how its limit stands now, where that is known", () => {
    const now = { ...TEN_THOUSAND, spent: 7000, reserved: 1000 };
    const view = { now: START, columns: 119, maxLines: 24, frame: 0, style: LIVE };
    const tree = treeOf(sixOfTenThousand, LIVE);
    const before = liveLines(tree, view).join("\n");
    const after = liveLines(tree, { ...view, limits: [{ ...now, of: "tree" }, now] }).join("\n");
    assert.match(before, /search +waits for its budget: 600 spent, 8\.1k reserved of 10k tokens of all children/);
    assert.match(after, /search +waits for its budget: 7k spent, 1k reserved of 10k tokens of all children/);
  });
});

test("a run that waits for budget says so until its next event, and not about limits that are near", () => {
  const tree = new RunTree("→");
  const story = new Story((event) => tree.apply(event));
  story.starts("lead", 0, "Look");
  story.calls("lead", 1, "grep", { pattern: "x" });
  story.limit("lead", 2, "budget-wait", TEN_THOUSAND);
  story.limit("lead", 2, "budget-near", TEN_THOUSAND);
  assert.equal(tree.roots[0]?.waitsFor, TEN_THOUSAND);
  story.tell("lead", 3, { type: "turn-start", turn: 2, promptTokens: 10, reserved: 4106 });
  assert.equal(tree.roots[0]?.waitsFor, undefined);
  assert.equal(tree.roots[0]?.reserved, 4106);
  story.answers("lead", 4, 50, 0);
  assert.equal(tree.roots[0]?.reserved, 0);
});

suite("the finished tree", () => {
  const views: [name: string, columns: number, style: Style][] = [
    ["every-ending-100.txt", 100, LIVE],
    ["every-ending-40.txt", 40, LIVE],
    ["every-ending-ascii.txt", 100, ASCII],
    ["every-ending-colour.txt", 100, COLOURFUL],
  ];
  test("a name that just fits into a narrow terminal is shown whole", () => {
    const tree = new RunTree("→");
    const story = new Story((event) => tree.apply(event));
    story.starts("a".repeat(28), 0, "Look");
    assert.match(treeLines(tree, 30, LIVE)[0] ?? "", / a{28}$/);
    assert.match(treeLines(tree, 29, LIVE)[0] ?? "", / a{26}…$/);
  });

  for (const [name, columns, style] of views) {
    test(`the finished tree is drawn as in ${name}`, () => {
      const lines = treeLines(treeOf(everyEnding, style), columns, style);
      assertGolden(name, lines);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: colours take no columns.
      for (const line of lines) assert.ok(displayWidth(line.replace(/\u001b\[\d+m/g, "")) <= columns, line);
    });
  }
});

suite("the renderer", () => {
  test("the renderer writes plain lines without an escape byte where there is no terminal", () => {
    for (const [name, tell] of [
      ["three-children-plain.txt", threeChildren],
      ["every-ending-plain.txt", everyEnding],
      ["six-of-ten-thousand-plain.txt", sixOfTenThousand],
    ] as const) {
      const lines: string[] = [];
      using renderer = startRenderer({ write: (text: string) => lines.push(text) }, PLAIN, new VirtualClock(START));
      tell(renderer.onEvent);
      const text = lines.join("");
      assert.ok(!text.includes("\u001b"));
      assertGolden(name, text.trimEnd().split("\n"));
    }
  });

  test("the renderer draws over its last frame and leaves nothing behind", () => {
    const terminal = new ToyTerminal(100, 30);
    const clock = new VirtualClock(START + 72_000);
    terminal.write("before\n");
    const renderer = startRenderer(terminal, LIVE, clock);
    threeChildren(renderer.onEvent);
    assert.equal(clock.liveTimers, 1);
    for (let frame = 0; frame < 3; frame++) clock.fireNext(() => 0);
    const expected = liveLines(renderer.tree, { now: clock.now(), columns: 99, maxLines: 24, frame: 2, style: LIVE });
    assert.equal(terminal.screen(), ["before", ...expected].join("\n"));
    assert.equal(terminal.isCursorHidden, true);
    renderer[Symbol.dispose]();
    renderer[Symbol.dispose]();
    terminal.write("after\n");
    assert.equal(terminal.screen(), "before\nafter");
    assert.equal(terminal.isCursorHidden, false);
    assert.equal(clock.liveTimers, 0);
  });

  test("a limit that is nearly spent is told once, above the region, and stays", () => {
    const terminal = new ToyTerminal(100, 30);
    const clock = new VirtualClock(START + 72_000);
    const renderer = startRenderer(terminal, LIVE, clock);
    threeChildren(renderer.onEvent);
    const near = { ...TEN_THOUSAND, spent: 8100, reserved: 0 };
    new Story(renderer.onEvent).limit("main/tests", 72, "budget-near", near);
    for (let frame = 0; frame < 3; frame++) clock.fireNext(() => 0);
    const line =
      "main/tests  most of a limit is spent: tokens of all children: 8100 spent, 0 reserved, 1900 left of 10000";
    assert.equal(terminal.screen().split("most of a limit").length, 2);
    renderer[Symbol.dispose]();
    // Broken between words.
    assert.equal(terminal.screen().replaceAll("\n", " "), line);
  });

  test("a limit that is nearly spent is told also when no frame follows", () => {
    const terminal = new ToyTerminal(140, 30);
    const renderer = startRenderer(terminal, LIVE, new VirtualClock(START));
    const story = new Story(renderer.onEvent);
    story.starts("lead", 0, "Look");
    story.limit("lead", 1, "budget-near", TEN_THOUSAND);
    renderer[Symbol.dispose]();
    assert.match(terminal.screen(), /^lead {2}most of a limit is spent: tokens of all children: 600 spent/);
  });

  test("the renderer asks the run that it follows how its limits stand", () => {
    const terminal = new ToyTerminal(120, 30);
    const clock = new VirtualClock(START + 72_000);
    using renderer = startRenderer(terminal, LIVE, clock);
    renderer.follow({ spending: () => ({ limits: [{ ...TEN_THOUSAND, spent: 9000 }], runs: [] }) });
    sixOfTenThousand(renderer.onEvent);
    clock.fireNext(() => 0);
    assert.match(terminal.screen(), /9k spent/);
    assert.doesNotMatch(terminal.screen(), /600 spent/);
  });

  test("the renderer works on the first line of the screen too, where nothing may be erased as a whole", () => {
    const terminal = new ToyTerminal(100, 30);
    const clock = new VirtualClock(START + 72_000);
    using renderer = startRenderer(terminal, LIVE, clock);
    threeChildren(renderer.onEvent);
    clock.fireNext(() => 0);
    clock.fireNext(() => 0);
    renderer[Symbol.dispose]();
    assert.equal(terminal.screen(), "");
  });

  test("the renderer draws at most 15 frames a second, however much happens", () => {
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

test("a root that waits for its budget says as much about it as fits beside its name", () => {
  const story = new Story();
  const tree = new RunTree(LIVE.glyphs.arrow);
  story.starts("lead", 0, "Go.");
  story.limit("lead", 1, "budget-wait", TEN_THOUSAND);
  for (const event of story.events) tree.apply(event);
  const words = "lead  waits for its budget: 600 spent, 8.1k reserved of 10k tokens";
  const head = (columns: number) =>
    liveLines(tree, { now: START + 2000, columns, maxLines: 5, frame: 0, style: LIVE })[0];
  const needed = 2 + words.length + 1 + "2.0s".length + 1;
  assert.ok(head(needed)?.includes(words), head(needed));
  assert.ok(head(needed - 1)?.includes("lead  waits for budget: 600 spent, 8.1k reserved of 10k"), head(needed - 1));
});

test("a run that reasons is thinking, whatever it did before", () => {
  const story = new Story();
  const tree = new RunTree(LIVE.glyphs.arrow);
  story.starts("lead", 0, "Go.");
  story.says("lead", 1, "Hm.");
  for (const event of story.events) tree.apply(event);
  const activity = () => tree.roots[0]?.activity;
  assert.equal(activity(), "Hm.");
  const [first] = story.events;
  assert.ok(first !== undefined);
  const { runId, agentId, parentId, path, depth, time } = first;
  tree.apply({ runId, agentId, parentId, path, depth, time, type: "reasoning-delta", text: "Or not." });
  assert.equal(activity(), "thinking");
});

test("the region shows first the child that holds the chosen one, then the others, where not all fit", () => {
  const story = new Story();
  const tree = new RunTree(LIVE.glyphs.arrow);
  for (const path of ["lead", "lead/a", "lead/b", "lead/b/x", "lead/c"]) story.starts(path, 0, "Go.");
  for (const event of story.events) tree.apply(event);
  const names = (selected: string | undefined, maxLines: number) =>
    liveLines(tree, { now: START + 2000, columns: 80, maxLines, frame: 0, style: LIVE, selected })
      .slice(1)
      .map((line) => /[◐◓◑◒] (\w)|more/.exec(line)?.[1] ?? "more");
  assert.deepEqual(names(undefined, 4), ["a", "b", "more"]);
  assert.deepEqual(names("lead/b/x", 4), ["b", "x", "more"]);
  assert.deepEqual(names("lead/c", 4), ["c", "a", "more"]);
});
