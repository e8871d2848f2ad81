/** Every view at widths where something of it is cut, wrapped or left out: pictures to compare with. */

import { suite, test } from "node:test";
import { diffLines } from "../../../../src/app/cli/replay/diff.ts";
import { listLines } from "../../../../src/app/cli/replay/list.ts";
import { readRun, showLines } from "../../../../src/app/cli/replay/show-lines.ts";
import { alone } from "../../../../src/app/cli/stored/list-conversations.ts";
import { chooseStyle } from "../../../../src/app/cli/terminal/style.ts";
import { breakLine, cutToWidth, fitToWidth, joinToWidth, wrapToWidth } from "../../../../src/app/cli/terminal/text.ts";
import { liveLines } from "../../../../src/app/cli/view/live-lines.ts";
import { RunTree } from "../../../../src/app/cli/view/run-tree.ts";
import { treeLines } from "../../../../src/app/cli/view/tree-lines.ts";
import { diffRuns } from "../../../../src/storage/replay/diff-runs.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { assertGolden } from "../../../support/app/cli/golden.ts";
import { IDS, keepSampleRuns, keepSecondTry } from "../../../support/app/cli/kept-runs.ts";
import { everyEnding, START, sixOfTenThousand, threeChildren } from "../../../support/app/cli/sample-events.ts";

process.env.TZ = "UTC";

const STYLE = chooseStyle({ color: "never", isAscii: false, isTerminal: true, env: {} });
const WIDTHS = [20, 27, 33, 46, 61, 72, 89, 90, 97, 121];

const store = openMemoryStore();
await keepSampleRuns(store);
const second = await keepSecondTry(store);
const diff = await diffRuns(store, IDS.lead, second);
const records = (await store.list()).map(alone);
const PATHS = ["lead/some/long/path/of/many/names/scout", "lead/aVeryLongNameOfOneChildThatIsAlone", "x".repeat(60)];
const deep = (await store.list()).slice(0, 3).map((record, index) => alone({ ...record, path: PATHS[index] ?? "" }));

async function shown(id: string, columns: number, isFull: boolean): Promise<string[]> {
  const record = await store.run(id);
  if (record === undefined) throw new Error(`there is no run ${id}`);
  const events = await store.read(record.rootId, { runId: id });
  return showLines(readRun(record, events, (await store.children(id)).length), { style: STYLE, columns, isFull });
}

function storyTree(tell: typeof threeChildren): RunTree {
  const tree = new RunTree(STYLE.glyphs.arrow);
  tell((event) => tree.apply(event));
  return tree;
}

const WORDS = "a short text, 漢字かな, e\u0301te\u0301 and anExtremelyLongWordWithoutAnyBreak 👩‍👩‍👧 at the end";

const VIEWS: Record<string, (columns: number) => string[] | Promise<string[]>> = {
  list: (columns) => listLines(records, { columns, style: STYLE }, undefined),
  "list-of-long-paths": (columns) => listLines(deep, { columns: columns + 20, style: STYLE }, undefined),
  "show-scout": (columns) => shown(IDS.scout, columns, false),
  "show-reader": (columns) => shown(IDS.reader, columns, true),
  diff: (columns) => diffLines(diff, columns, STYLE),
  "tree-every-ending": (columns) => treeLines(storyTree(everyEnding), columns, STYLE),
  "tree-with-ids": (columns) => treeLines(storyTree(threeChildren), columns, STYLE, { withIds: true }),
  texts: (columns) => [
    ...breakLine(WORDS, columns),
    ...wrapToWidth(WORDS, columns),
    cutToWidth(WORDS, columns),
    `[${fitToWidth(WORDS, columns)}]`,
    `[${fitToWidth("漢字", columns)}]`,
    ...joinToWidth(["one", "two words", "three", "漢字かな", WORDS, ""], " · ", columns),
  ],
};
for (const [name, tell] of Object.entries({ threeChildren, everyEnding, sixOfTenThousand })) {
  VIEWS[`live-${name}`] = (columns) => {
    const tree = storyTree(tell);
    return [24, 7, 3].flatMap((maxLines) => [
      `at most ${maxLines} lines:`,
      ...liveLines(tree, { now: START + 72_000, columns, maxLines, frame: maxLines, style: STYLE }),
    ]);
  };
}

suite("the width of views", () => {
  for (const [name, draw] of Object.entries(VIEWS)) {
    test(`the view ${name} fits ten widths`, async () => {
      const pictures: string[] = [];
      for (const columns of WIDTHS) pictures.push(`${"=".repeat(columns - 4)} ${columns}`, ...(await draw(columns)));
      assertGolden(`widths-${name}.txt`, pictures);
    });
  }
});
