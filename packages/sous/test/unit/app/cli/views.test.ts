/** The output of `sous replay`, as text: the list, one run, and its tree, at any width. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { diffLines } from "../../../../src/app/cli/replay/diff.ts";
import { listLines } from "../../../../src/app/cli/replay/list.ts";
import {
  type MessageView,
  messageLines,
  readRun,
  showLines,
  textLines,
} from "../../../../src/app/cli/replay/show-lines.ts";
import { alone } from "../../../../src/app/cli/stored/list-conversations.ts";
import { chooseStyle, type Style } from "../../../../src/app/cli/terminal/style.ts";
import { displayWidth } from "../../../../src/app/cli/terminal/text.ts";
import { RunTree } from "../../../../src/app/cli/view/run-tree.ts";
import { treeLines } from "../../../../src/app/cli/view/tree-lines.ts";
import type { Store } from "../../../../src/core/store.ts";
import { type DiffRow, diffRuns } from "../../../../src/storage/replay/diff-runs.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { assertGolden } from "../../../support/app/cli/golden.ts";
import { IDS, keepSampleRuns, keepSecondTry } from "../../../support/app/cli/kept-runs.ts";

const PLAIN = chooseStyle({ color: "never", isAscii: false, isTerminal: true, env: {} });
const ASCII = chooseStyle({ color: "never", isAscii: true, isTerminal: true, env: {} });
const COLOURFUL = chooseStyle({ color: "always", isAscii: false, isTerminal: true, env: {} });

const store = openMemoryStore();
await keepSampleRuns(store);
// The tests say what a screen says in one place of the world.
process.env.TZ = "UTC";

async function shownRun(from: Store, id: string, view: MessageView): Promise<string[]> {
  const record = await from.run(id);
  assert.ok(record !== undefined);
  const events = await from.read(record.rootId, { runId: id });
  return showLines(readRun(record, events, (await from.children(id)).length), view);
}

async function treeOf(rootId: string): Promise<RunTree> {
  const tree = new RunTree("→");
  for (const event of await store.read(rootId)) tree.apply(event);
  return tree;
}

suite("the list", () => {
  const views: [name: string, columns: number, style: Style][] = [
    ["list-100.txt", 100, PLAIN],
    ["list-79.txt", 79, PLAIN],
    ["list-39.txt", 39, PLAIN],
    ["list-ascii.txt", 79, ASCII],
    ["list-colour.txt", 79, COLOURFUL],
  ];
  for (const [name, columns, style] of views) {
    test(`the list is as promised in ${name}`, async () =>
      assertGolden(name, listLines((await store.list()).map(alone), { columns, style }, undefined)));
  }

  test("the list is never wider than it may be, and has no escape byte of its own", async () => {
    const records = await store.list();
    for (let columns = 20; columns <= 130; columns++) {
      for (const line of listLines(records.map(alone), { columns, style: PLAIN }, undefined)) {
        // An id is never cut, because half an id is none.
        const isId = Object.values(IDS).some((id) => line.includes(id));
        assert.ok(isId || displayWidth(line) <= columns, `${columns}: ${line}`);
        assert.ok(!line.includes("\u001b"));
      }
    }
  });
});

suite("one run", () => {
  const views: [name: string, id: string, view: MessageView][] = [
    ["show-lead.txt", IDS.lead, { style: PLAIN, columns: undefined, isFull: false }],
    ["show-scout-79.txt", IDS.scout, { style: PLAIN, columns: 79, isFull: false }],
    ["show-scout-39.txt", IDS.scout, { style: PLAIN, columns: 39, isFull: false }],
    ["show-scout-full.txt", IDS.scout, { style: PLAIN, columns: undefined, isFull: true }],
    ["show-reader-colour.txt", IDS.reader, { style: COLOURFUL, columns: 79, isFull: false }],
    ["show-hostile-79.txt", IDS.hostile, { style: ASCII, columns: 79, isFull: true }],
    ["show-broken.txt", IDS.broken, { style: PLAIN, columns: 79, isFull: false }],
  ];
  for (const [name, id, view] of views) {
    test(`a run is drawn as in ${name}`, async () => assertGolden(name, await shownRun(store, id, view)));
  }

  test("a shown run is never wider than it may be", async () => {
    for (const id of [IDS.lead, IDS.scout, IDS.reader, IDS.hostile]) {
      for (let columns = 39; columns <= 130; columns++) {
        for (const line of await shownRun(store, id, { style: PLAIN, columns, isFull: columns % 2 === 0 })) {
          assert.ok(displayWidth(line) <= columns, `${columns}: ${line}`);
        }
      }
    }
  });

  test("nothing of a shown run reaches a terminal as more than text, at any width", async () => {
    for (let columns = 30; columns <= 130; columns += 7) {
      for (const line of await shownRun(store, IDS.hostile, { style: PLAIN, columns, isFull: true })) {
        // biome-ignore lint/suspicious/noControlCharactersInRegex: what must not be there.
        assert.doesNotMatch(line, /[\u0000-\u001f\u007f-\u009f\u202e]/);
      }
    }
  });
});

suite("a stored tree", () => {
  const views: [name: string, columns: number, style: Style][] = [
    ["kept-tree-110.txt", 110, PLAIN],
    ["kept-tree-79.txt", 79, PLAIN],
    ["kept-tree-39.txt", 39, PLAIN],
  ];
  for (const [name, columns, style] of views) {
    test(`a stored tree is as promised in ${name}`, async () =>
      assertGolden(name, treeLines(await treeOf(IDS.lead), columns, style, { withIds: true })));
  }

  test("a run whose process died is interrupted, and its time ends with what was last heard of it", async () => {
    const tree = await treeOf(IDS.broken);
    tree.interrupt();
    assert.deepEqual(treeLines(tree, 79, PLAIN), [
      "lead  ? interrupted  1 turn  1 tool  320 tok  0.0s",
      "1 agent · 1 turn · 1 tool · 320 tok",
    ]);
  });

  test("a crafted run that is deeper than any tree, or its own parent, is drawn all the same", async () => {
    const tree = new RunTree("→");
    const [start] = await store.read(IDS.broken);
    assert.ok(start?.type === "run-start");
    for (let depth = 0; depth < 15_000; depth++) {
      tree.apply({ ...start, runId: `run${depth}`, parentId: depth === 0 ? "run14999" : `run${depth - 1}`, depth });
    }
    const lines = treeLines(tree, 79, PLAIN);
    assert.equal(lines.length, 15_001);
    for (const line of lines) assert.ok(displayWidth(line) <= 79, line);
  });
});

suite("two runs side by side", async () => {
  const both = openMemoryStore();
  await keepSampleRuns(both);
  const second = await keepSecondTry(both);
  const diff = await diffRuns(both, IDS.lead, second);
  const views: [name: string, columns: number, style: Style][] = [
    ["diff-100.txt", 100, PLAIN],
    ["diff-79.txt", 79, ASCII],
    ["diff-39.txt", 39, PLAIN],
    ["diff-colour.txt", 79, COLOURFUL],
  ];
  for (const [name, columns, style] of views) {
    test(`two runs are drawn as in ${name}`, () => {
      const lines = diffLines(diff, columns, style);
      assertGolden(name, lines);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: colours take no columns.
      for (const line of lines) assert.ok(displayWidth(line.replace(/\u001b\[\d+m/g, "")) <= columns, line);
    });
  }

  test("a text that continues behind the end of the other, with an id, is shown from shortly before that end", () => {
    const text = "a".repeat(60);
    const step = (output: string): DiffRow["left"] => {
      return { kind: "tool", toolName: "look", input: {}, output, isError: false, children: [] };
    };
    const [first] = diff.agents;
    assert.ok(first !== undefined);
    const longer = step(`${text}01K2F8AAAA0000000000000001z`);
    const rows: DiffRow[] = [{ mark: "changed", left: step(text), right: longer, changes: ["output"] }];
    const lines = diffLines({ ...diff, agents: [{ ...first, rows }] }, 130, PLAIN);
    const shown = lines.find((line) => line.includes("z")) ?? "";
    assert.match(shown, /^ +…?a{24} +│ …?a{24}01K2F8AAAA0000000000000001z$/);
  });

  test("a run beside itself is the same", async () => {
    const same = await diffRuns(both, IDS.scout, IDS.scout);
    assert.deepEqual(diffLines(same, 79, PLAIN).slice(-3), ["scout  same (6 steps)", "", "Both did the same."]);
  });
});

suite("a long text", () => {
  const cutAt = (text: string): number | undefined => {
    const lines = textLines(text, { style: PLAIN, columns: undefined, isFull: false });
    const more = /^\[… (\d+) more characters: --full\]$/.exec(lines.at(-1) ?? "")?.[1];
    if (more === undefined) {
      assert.equal(lines.join("\n"), text.trimEnd());
      return undefined;
    }
    const kept = text.length - Number(more);
    assert.equal(lines.slice(0, -1).join("\n"), text.slice(0, kept).trimEnd());
    return kept;
  };

  test("a long text is cut after twelve lines or 600 characters, and not for a rest shorter than the note", () => {
    const line = `${"x".repeat(19)}\n`;
    assert.equal(cutAt(line.repeat(12)), undefined);
    assert.equal(cutAt(line.repeat(12) + "y".repeat(79)), undefined);
    assert.equal(cutAt(line.repeat(12) + "y".repeat(80)), 240);
    assert.equal(cutAt(line.repeat(40)), 240);
    assert.equal(cutAt("z".repeat(679)), undefined);
    assert.equal(cutAt("z".repeat(680)), 600);
    assert.equal(cutAt(`${"z".repeat(599)}\n${"y".repeat(300)}`), 600);
    assert.equal(cutAt(`${"z".repeat(400)}\n${"y".repeat(400)}\n`), 600);
    assert.equal(cutAt("\n".repeat(11) + "z".repeat(700)), 600);
    assert.equal(cutAt("\n".repeat(12) + "z".repeat(700)), 12);
  });

  test("a long text is broken to the room beside its indent, and to ten columns at least", () => {
    const broken = (columns: number, indent?: number) =>
      textLines("x".repeat(30), { style: PLAIN, columns, isFull: true }, indent).map((each) => each.length);
    assert.deepEqual(broken(24), [20, 10]);
    assert.deepEqual(broken(24, 6), [18, 12]);
    assert.deepEqual(broken(14), [10, 10, 10]);
    assert.deepEqual(broken(3), [10, 10, 10]);
  });
});

test("a call stands beside the name of its tool when both fit", () => {
  const shown = (input: unknown, columns?: number) =>
    messageLines(
      [{ role: "assistant", content: [{ type: "tool-call", callId: "c", toolName: "grep", input }] }],
      ["a note"],
      { style: PLAIN, columns, isFull: true },
    );
  assert.deepEqual(shown({}), ["1 assistant · a note", "  → grep"]);
  assert.deepEqual(shown({ a: 1 }), ["1 assistant · a note", '  → grep {"a":1}']);
  assert.deepEqual(shown("x".repeat(89)), ["1 assistant · a note", `  → grep ${"x".repeat(89)}`]);
  assert.deepEqual(shown("x".repeat(90)), ["1 assistant · a note", "  → grep", `    ${"x".repeat(90)}`]);
  assert.deepEqual(shown("x".repeat(29), 40), ["1 assistant · a note", `  → grep ${"x".repeat(29)}`]);
  assert.deepEqual(shown("x".repeat(30), 40), ["1 assistant · a note", "  → grep", `    ${"x".repeat(30)}`]);
});
