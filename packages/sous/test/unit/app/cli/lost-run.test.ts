/** The words of the command line about a run that is not stored to its end, and about one during which the clock was set. */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { suite, test } from "node:test";
import { thisFolder } from "../../../../src/app/cli/files/paths.ts";
import { listLines } from "../../../../src/app/cli/replay/list.ts";
import { alone } from "../../../../src/app/cli/stored/list-conversations.ts";
import { runJson } from "../../../../src/app/cli/stored/run-json.ts";
import { chooseStyle } from "../../../../src/app/cli/terminal/style.ts";
import { RunTree } from "../../../../src/app/cli/view/run-tree.ts";
import { treeLines } from "../../../../src/app/cli/view/tree-lines.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { openSqliteStore } from "../../../../src/storage/store/sqlite/store.ts";
import { sampleTree } from "../../../../src/testing/sample-tree.ts";
import { inProcess } from "../../../support/app/cli/in-process.ts";
import { dataFolder } from "../../../support/app/cli/sous-process.ts";

suite("C2: a run that is not stored to its end", () => {
  test("a run that is not stored to its end is shown as such, and is neither resumed by its id nor as the last one", async () => {
    await using folder = await dataFolder();
    await begin(folder.file, "01LOST", Date.UTC(2026, 0, 2));
    writeFileSync(`${folder.file}-lost-01LOST`, "The disk was full.");
    const run = (...parameters: string[]) => inProcess(parameters, { env: folder.env, cwd: process.cwd() });
    const list = await run("replay", "--list");
    assert.match(list.stdout, /^ {2}interrupted · not stored to its end · /m);
    const why = "not stored to its end, so it cannot be resumed: The disk was full.";
    assert.ok((await run("replay", "--tree", "--id", "01LOST")).stdout.endsWith(`\nIt is ${why}\n`));
    assert.ok((await run("replay", "--id", "01LOST")).stdout.includes(why));
    const refusal = "error: Run 01LOST cannot be resumed, because not all of it was stored. The disk was full.\n";
    for (const parameters of [["resume", "01LOST"], ["resume"]]) {
      const { code, stdout, stderr } = await run(...parameters);
      assert.deepEqual([code, stdout, stderr.split("\n").slice(-2).join("\n")], [1, "", refusal], parameters.join(" "));
    }
    // One that was really interrupted is older, and is the one that is meant.
    await begin(folder.file, "01OLDER", Date.UTC(2026, 0, 1), "nobody/model");
    const { stderr } = await run("resume");
    assert.match(stderr, /^error: No model provider is called "nobody"/);
  });
});

test("C6: a run says itself how long it took, also when the clock was set while it ran", async () => {
  const tree = sampleTree("lead");
  tree.start("lead");
  tree.start("scout", { parent: "lead", time: Date.UTC(2026, 0, 3) });
  tree.end("scout", { durationMs: 1_100 });
  tree.end("lead", { durationMs: 2_100 });
  const store = openMemoryStore();
  store.append("lead", tree.events);
  const style = chooseStyle({ color: "never", isAscii: true, isTerminal: false, env: {} });
  const shown = new RunTree("->");
  for (const event of tree.events) shown.apply(event);
  const records = await store.tree("lead");
  assert.deepEqual(
    [...listLines(records.map(alone), { columns: 100, style }, undefined), ...treeLines(shown, 100, style)]
      .join("\n")
      .match(/\b[\d.]+[smh](?:\d+[sm])?\b/g),
    ["2.1s", "1.1s", "2.1s", "1.1s"],
  );
  assert.deepEqual(
    records.map((record) => runJson(record).duration_ms),
    [2_100, 1_100],
  );
});

async function begin(file: string, id: string, time: number, model = "scripted/demo"): Promise<void> {
  await using store = await openSqliteStore(file);
  const tree = sampleTree(id, time);
  tree.start(id, { label: "lead", details: { model, cwd: thisFolder() } });
  store.append(id, tree.events);
}
