/** A run that is damaged in its database: what each command says of it, and that the other runs are shown as they were. */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { after, before, suite, test } from "node:test";
import { thisFolder } from "../../../../src/app/cli/files/paths.ts";
import { openSqliteStore } from "../../../../src/storage/store/sqlite/store.ts";
import { sampleTree } from "../../../../src/testing/sample-tree.ts";
import { inProcess } from "../../../support/app/cli/in-process.ts";
import { IDS, keepSampleRuns } from "../../../support/app/cli/kept-runs.ts";
import { dataFolder, type Ended } from "../../../support/app/cli/sous-process.ts";

const DAY_MS = 86_400_000;
const OLDER = "01K2H0CCCC000000000000000A";
const NEWEST = "01K2H0CCCC000000000000000B";

type Folder = Awaited<ReturnType<typeof dataFolder>>;

let folder: Folder;
/** What was printed when nothing was damaged. */
let whole: { list: Ended; stats: Ended };
before(async () => {
  folder = await dataFolder();
  {
    await using store = await openSqliteStore(folder.file);
    await keepSampleRuns(store);
    for (const [day, id, model] of [
      [2, OLDER, "nobody/model"],
      [3, NEWEST, "scripted/damaged"],
    ] as const) {
      const tree = sampleTree(id, Date.UTC(2026, 10, 15) + day * DAY_MS);
      tree.start(id, { label: "lead", details: { model, cwd: thisFolder() } });
      tree.turn(id, "I go on.", { totalTokens: 500 });
      store.append(id, tree.events);
    }
  }
  whole = { list: await sous("replay", "--list", "--json"), stats: await sous("stats", "--json") };
  using database = new DatabaseSync(folder.file);
  database.exec(`UPDATE events SET json = '{"time"' WHERE run = (SELECT number FROM runs WHERE id = '${NEWEST}')
    AND type = 'message-end'`);
});
after(() => folder[Symbol.asyncDispose]());

function sous(...parameters: string[]): Promise<Ended> {
  return inProcess(parameters, { env: folder.env, cwd: process.cwd() });
}

const REASON = `Event 3 of run ${NEWEST} is damaged: Expected ':' after property name in JSON at position 7 (line 1 column 8)`;
const SENTENCE = `${REASON}. It cannot be resumed; sous replay --id ${NEWEST} --export html --output FILE saves what can be read, and sous replay --prune AGE deletes old runs.`;

suite("B8.2: a damaged run", () => {
  test("a list shows the damaged run as damaged, without figures and with what can be done, and the others as before", async () => {
    const { code, stdout, stderr } = await sous("replay", "--list");
    assert.deepEqual([code, stderr], [0, ""]);
    const lines = stdout.split("\n");
    assert.deepEqual(lines.slice(0, 2), [`✗ ${NEWEST}  lead`, "  damaged · 2026-11-18 00:00"]);
    const told = lines.slice(
      2,
      lines.findIndex((line) => line.startsWith("  root")),
    );
    assert.equal(told.map((line) => line.trim()).join(" "), SENTENCE);
    const [first, ...others] = JSON.parse((await sous("replay", "--list", "--json")).stdout).runs;
    const [before, ...others_] = JSON.parse(whole.list.stdout).runs;
    assert.deepEqual([first.id, first.damage, first.cost_usd, before.damage], [NEWEST, REASON, null, null]);
    assert.deepEqual(others, others_);
  });

  test("the page of the damaged run shows what can be read of it", async () => {
    for (const id of ["last", NEWEST]) {
      const { code, stdout, stderr } = await sous("replay", "--id", id);
      assert.deepEqual([code, stderr], [0, ""]);
      assert.match(stdout, /^lead {2}✗ damaged\n/);
      assert.ok(stdout.includes(SENTENCE) && stdout.includes("Look around."), stdout);
    }
    const tree = await sous("replay", "--tree", "--id", "last");
    assert.deepEqual([tree.code, tree.stdout.split("\n").at(-2)], [0, `Damaged: ${SENTENCE}`]);
    assert.equal((await sous("replay", "--id", IDS.lead)).stdout.includes("amaged"), false);
  });

  test("totals leave the damaged run out, and say so", async () => {
    const { code, stdout } = await sous("stats");
    assert.equal(code, 0);
    assert.match(stdout, /^1 run left out because it is damaged: sous doctor$/m);
    const { total, damaged, models } = JSON.parse((await sous("stats", "--json")).stdout);
    const before = JSON.parse(whole.stats.stdout);
    assert.deepEqual([damaged, before.damaged, before.total.runs - total.runs], [1, 0, 1]);
    assert.deepEqual(
      models,
      before.models.filter(({ model }: { model: string }) => model !== "scripted/damaged"),
    );
  });

  test("an export holds what can be read, and says that it is damaged", async () => {
    const json = await sous("replay", "--export", "json", "--id", NEWEST);
    const { lost, events } = JSON.parse(json.stdout);
    assert.deepEqual([json.code, lost, events.map(({ seq }: { seq: number }) => seq)], [0, REASON, [1, 2]]);
    for (const format of ["html", "md"]) {
      const { code, stdout } = await sous("replay", "--export", format, "--id", NEWEST);
      assert.equal(code, 0);
      assert.match(
        stdout,
        /This tree is damaged: it is not whole here, and its figures may be too low\.(\*\*)? .*Event 3 of run/,
      );
      assert.ok(stdout.includes("Look around."));
    }
  });

  test("the damaged run is not resumed; without an id the one before it is, and the person reads why", async () => {
    const named = await sous("resume", NEWEST, "--here");
    assert.deepEqual([named.code, named.stderr], [1, `error: Run ${NEWEST}: ${SENTENCE}\n`]);
    const { stderr } = await sous("resume");
    assert.ok(stderr.startsWith(`Run ${NEWEST} is passed over for ${OLDER}. ${SENTENCE}\n`), stderr);
    // Its model is not there, so it was that one.
    assert.match(stderr, /^error: No model provider is called "nobody"/m);
  });

  test("the examination names the damaged run and what can be done, and the rest is well", async () => {
    const { stdout } = await sous("doctor", "--json");
    const { state, found, fix } = JSON.parse(stdout).checks.find(({ name }: { name: string }) => name === "database");
    assert.equal(state, "warning");
    assert.ok(found.endsWith(`, 7 runs; 1 damaged run: ${NEWEST} (${REASON})`), found);
    assert.match(
      fix,
      /^sous replay --id ID --export html --output FILE saves what can be read of a run, and sous replay --prune AGE /,
    );
  });
});
