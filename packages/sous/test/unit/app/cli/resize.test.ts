/** A terminal whose size changes while something is drawn over: what is finished stays, and nothing old is left beside the new. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import {
  type Frame,
  LiveScreen,
  reflowOf,
  rowsAboveCursor,
  wrappedRows,
} from "../../../../src/app/cli/terminal/live-screen.ts";
import { VirtualClock } from "../../../../src/testing/world.ts";
import { HeadlessScreen } from "../../../support/app/cli/headless-screen.ts";

type Scene = { work: number; typed: string; hint?: string; text?: string };

/** As a chat looks: lines as wide as the terminal, what is typed with the cursor behind it, and perhaps a line below. */
function frameOf({ work, typed, hint, text = "-" }: Scene, columns: number): Frame {
  const width = columns - 1;
  const filled = Array.from({ length: work }, (_, index) => {
    const label = `work ${index} `;
    return label + text.repeat(Math.floor((width - label.length) / (text === "-" ? 1 : 2)));
  });
  const line = `> ${typed}`;
  const rows = Array.from({ length: Math.ceil(line.length / width) }, (_, index) =>
    line.slice(index * width, (index + 1) * width),
  );
  const below = hint === undefined ? [] : [hint.slice(0, width)];
  const cursor = { row: work + rows.length - 1, column: rows.at(-1)?.length ?? 0 };
  return { lines: [...filled, ...rows, ...below], cursor };
}

/** What is seen after every change of size. */
async function afterEach(sizes: readonly (readonly [columns: number, rows: number])[], scene: Scene): Promise<void> {
  const clock = new VirtualClock(0);
  using terminal = new HeadlessScreen(100, 24);
  const draw = ({ columns }: { columns: number }): Frame => frameOf(scene, columns);
  // The screen of the test is xterm.js.
  using screen = new LiveScreen({ screen: terminal, clock, isMoving: () => false, draw, reflow: "xterm.js" });
  const finished = ["one", "two", "three"];
  screen.print(finished);
  for (const [columns, rows] of [[100, 24] as const, ...sizes]) {
    terminal.resize(columns, rows);
    screen.refresh();
    clock.fireNext(() => 0);
    await terminal.end();
    const expected = [...finished, ...frameOf(scene, columns).lines].map((line) => line.trimEnd());
    assert.deepEqual(terminal.text().split("\n"), expected, `at ${columns} × ${rows}`);
  }
}

suite("B8: after a change of size only the new picture is there, below all that is finished:", () => {
  const long = "x".repeat(80);
  const table: [name: string, scene: Scene, sizes: (readonly [number, number])[]][] = [
    [
      "narrower, and wider again",
      { work: 3, typed: "short" },
      [
        [60, 24],
        [40, 24],
        [120, 24],
        [35, 24],
      ],
    ],
    [
      "with more typed than the terminal is wide by then",
      { work: 3, typed: long },
      [
        [45, 24],
        [30, 24],
        [100, 24],
      ],
    ],
    [
      "with a line below the cursor",
      { work: 2, typed: "short", hint: "h".repeat(90) },
      [
        [60, 24],
        [31, 24],
      ],
    ],
    ["with a line below the cursor, and a long one at it", { work: 2, typed: long, hint: "h".repeat(90) }, [[50, 24]]],
    [
      "with characters that are two columns wide",
      { work: 4, typed: "short", text: "漢" },
      [
        [51, 24],
        [34, 24],
      ],
    ],
    ["lower, so that the terminal drops what is below the cursor", { work: 2, typed: "x", hint: "hint" }, [[100, 6]]],
    [
      "narrower and lower at once, and larger again",
      { work: 2, typed: "x", hint: "hint" },
      [
        [60, 12],
        [90, 30],
      ],
    ],
  ];
  for (const [name, scene, sizes] of table) test(`the old picture is gone: ${name}`, () => afterEach(sizes, scene));
});

test("B8: rows are counted as the terminal wraps them, with the cursor where it puts it", () => {
  assert.equal(wrappedRows(["", "x".repeat(40), "x".repeat(41), "\u001b[31mred\u001b[0m"], 40), 5);
  assert.equal(wrappedRows(["漢".repeat(20)], 39), 2);
  // Each row has one column to spare, so 20 of them are not enough for the last.
  assert.equal(wrappedRows(["漢".repeat(60)], 39), 4);
  const drawn = { lines: ["a".repeat(90), "b".repeat(90), "c".repeat(90)], cursor: { row: 1, column: 85 } };
  assert.equal(rowsAboveCursor(drawn, 100, "whole"), 1);
  assert.equal(rowsAboveCursor(drawn, 40, "whole"), 3 + 2);
  assert.equal(rowsAboveCursor({ ...drawn, lines: drawn.lines.slice(0, 2) }, 40, "xterm.js"), 3);
  assert.deepEqual([reflowOf({ TERM_PROGRAM: "vscode" }), reflowOf({})], ["xterm.js", "whole"]);
});
