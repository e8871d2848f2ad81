/** `sous stats` on a real database: what it prints, and what it ends with. */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { type JsonField, STATS_JSON, SUMS_JSON } from "../../../../src/app/cli/table/json-table.ts";
import { RECORD_STATUSES } from "../../../../src/core/store.ts";
import { openSqliteStore } from "../../../../src/storage/store/sqlite/store.ts";
import { type SampleTree, sampleTree } from "../../../../src/testing/sample-tree.ts";
import { assertGolden } from "../../../support/app/cli/golden.ts";
import { inProcess } from "../../../support/app/cli/in-process.ts";
import { tokens } from "../../../support/app/cli/sample-tallies.ts";
import { dataFolder, type Ended } from "../../../support/app/cli/sous-process.ts";
import { rootFolder } from "../../../support/source-files.ts";

type Folder = Awaited<ReturnType<typeof dataFolder>>;

const NOON = Date.UTC(2026, 10, 15, 12);
const DAY_MS = 86_400_000;

let folder: Folder;
before(async () => {
  folder = await dataFolder();
  await using store = await openSqliteStore(folder.file);
  for (const tree of [finished(), deleted(), interrupted()]) await store.append(tree.rootId, tree.events);
  await store.delete("deleted");
});
after(() => folder[Symbol.asyncDispose]());

/** A lead, a scout that failed, and a child that was refused. */
function finished(): SampleTree {
  const tree = sampleTree("lead", NOON);
  const model = "anthropic/claude-sonnet-4-5";
  tree.start("lead", { label: "lead", details: { model, cwd: "/home/kim/shop" } });
  tree.start("scout", { parent: "lead", label: "find-it", details: { agent: "scout", model } });
  tree.add("lead", { type: "spawn-refused", label: "deeper", errorType: "depth_limit", message: "Too deep." });
  const fault = { type: "model", message: "no answer" } as const;
  tree.end("scout", { status: "failed", fault, turns: 1, usage: tokens(300, 20), costUsd: 0.1, durationMs: 400 });
  tree.end("lead", { turns: 2, usage: { ...tokens(1000, 50), estimated: true }, costUsd: 0.2, durationMs: 1000 });
  return tree;
}

/** Its price is not known, and its tree is deleted. */
function deleted(): SampleTree {
  const tree = sampleTree("deleted", NOON - 2 * DAY_MS);
  tree.start("deleted", { label: "lead", details: { model: "local/llama", cwd: "/srv/api" } });
  tree.end("deleted", {
    status: "incomplete",
    stopReason: "turns",
    usage: tokens(10, 5),
    costUsd: null,
    durationMs: 1,
  });
  return tree;
}

/** The store that wrote it is closed before its end. */
function interrupted(): SampleTree {
  const tree = sampleTree("interrupted", NOON + DAY_MS);
  tree.start("interrupted", { label: "lead", details: { model: "local/llama", cwd: "/srv/api" } });
  tree.turn("interrupted", "Hm.", tokens(100, 1));
  return tree;
}

function stats(...parameters: string[]): Promise<Ended> {
  return inProcess(["stats", ...parameters], { env: { ...folder.env, HOME: "/home/kim" } });
}

test("sous stats shows totals and the four tables, without an escape byte in a pipe", async () => {
  const { code, stdout, stderr } = await stats();
  assert.deepEqual([code, stderr], [0, ""]);
  assert.ok(!stdout.includes("\u001b"));
  assertGolden("stats.txt", stdout.trimEnd().split("\n"));
});

test("K1: the page about it shows what it prints", async () => {
  const page = readFileSync(join(rootFolder, "docs/how-to/see-what-was-spent.md"), "utf8");
  assert.ok(page.includes(`\`\`\`text\n${(await stats()).stdout}\`\`\`\n`));
});

test("sous stats is painted on request, and in ASCII on request", async () => {
  const painted = (await stats("--color", "always")).stdout;
  assert.ok(painted.includes("\u001b[32m1 completed\u001b[0m"));
  const plain = (await stats("--ascii")).stdout;
  assert.deepEqual(plain.match(/[^ -~\n]/gu) ?? [], []);
});

test("--by shows one table, and --since leaves out what started before", async () => {
  const { stdout } = await stats("--by", "model", "--since", "2026-11-15");
  const lines = stdout.trimEnd().split("\n");
  assert.deepEqual(lines.slice(0, 2), [
    "since 2026-11-15 00:00 UTC",
    "3 runs · 1 completed · 1 failed · 1 interrupted",
  ]);
  assert.deepEqual(
    lines.slice(-3).map((line) => line.split(/ {2,}/)[0]),
    ["model", "anthropic/claude-sonnet-4-5", "local/llama"],
  );
});

suite("--json", () => {
  test("F5: --json has the sums of all runs, those of deleted trees and unended runs too", async () => {
    const { code, stdout, stderr } = await stats("--json");
    assert.deepEqual([code, stderr], [0, ""]);
    const { schema, since, total, agents, models, projects, days } = JSON.parse(stdout);
    assert.deepEqual([schema, since], ["sous.stats.v1", null]);
    const { statuses, error_types, refusals, cost_usd, ...rest } = total;
    assert.deepEqual(positive(statuses), { interrupted: 1, completed: 1, incomplete: 1, failed: 1 });
    assert.deepEqual(positive(error_types), { depth_limit: 1, model: 1 });
    assert.deepEqual(positive(refusals), { depth_limit: 1 });
    assert.ok(Math.abs(cost_usd - 0.3) < 1e-12);
    assert.deepEqual(rest, {
      runs: 4,
      turns: 5,
      usage: {
        input_tokens: 1410,
        output_tokens: 76,
        cached_input_tokens: 0,
        cache_write_tokens: 0,
        total_tokens: 1486,
        estimated: true,
      },
      unpriced_runs: 2,
      duration_ms: 1401,
    });
    const brief = (groups: Record<string, unknown>[], by: string) => groups.map((each) => [each[by], each.runs]);
    assert.deepEqual(brief(agents, "agent"), [
      ["lead", 3],
      ["scout", 1],
    ]);
    assert.deepEqual(brief(models, "model"), [
      ["anthropic/claude-sonnet-4-5", 2],
      ["local/llama", 2],
    ]);
    assert.deepEqual(brief(projects, "project"), [
      ["/home/kim/shop", 2],
      ["/srv/api", 2],
    ]);
    assert.deepEqual(brief(days, "day"), [
      ["2026-11-13", 1],
      ["2026-11-15", 2],
      ["2026-11-16", 1],
    ]);
  });

  test("--json has the fields of the reference and no others, whatever --by says", async () => {
    const object = JSON.parse((await stats("--json", "--by", "day", "--since", "2000-01-01")).stdout);
    assert.deepEqual(Object.keys(object), top(STATS_JSON));
    assert.equal(object.since, "2000-01-01T00:00:00.000Z");
    for (const [list, by] of [
      ["agents", "agent"],
      ["models", "model"],
      ["projects", "project"],
      ["days", "day"],
    ] as const) {
      assert.ok(STATS_JSON.some(({ name }) => name === `${list}[].${by}`));
      for (const group of object[list]) assert.deepEqual(Object.keys(group), [by, ...top(SUMS_JSON)]);
    }
    assert.deepEqual(Object.keys(object.total), top(SUMS_JSON));
    assert.deepEqual(Object.keys(object.total.statuses), [...RECORD_STATUSES]);
    const usage = SUMS_JSON.filter(({ name }) => name.startsWith("usage.")).map(({ name }) => name.slice(6));
    assert.deepEqual(Object.keys(object.total.usage), usage);
    const about = SUMS_JSON.find(({ name }) => name === "statuses")?.about ?? "";
    for (const status of RECORD_STATUSES) assert.ok(about.includes(`\`${status}\``));
  });
});

const LINES = 5001;

test("sous stats counts more lines than the store gives at once", async () => {
  await using large = await dataFolder();
  const tree = sampleTree("busy", NOON);
  tree.start("busy");
  const refused = { type: "spawn-refused", label: "more", errorType: "quota", message: "No more." } as const;
  for (let count = 0; count < LINES; count++) tree.add("busy", refused);
  tree.end("busy");
  {
    await using store = await openSqliteStore(large.file);
    await store.append(tree.rootId, tree.events);
  }
  const { code, stdout, stderr } = await inProcess(["stats", "--json"], { env: large.env });
  assert.deepEqual([code, stderr], [0, ""]);
  const { runs, refusals } = JSON.parse(stdout).total;
  assert.deepEqual([runs, refusals.quota], [1, LINES]);
});

suite("with nothing to count", () => {
  const NO_RUNS = "There are no runs to count yet. sous demo makes one.\n";

  test("an empty database is one sentence, and empty lists for scripts", async () => {
    await using empty = await dataFolder();
    await (await openSqliteStore(empty.file))[Symbol.asyncDispose]();
    const text = await inProcess(["stats"], { env: empty.env });
    assert.deepEqual([text.code, text.stdout, text.stderr], [0, "", NO_RUNS]);
    const { code, stdout, stderr } = await inProcess(["stats", "--json"], { env: empty.env });
    const { total, agents, days } = JSON.parse(stdout);
    assert.deepEqual([code, stderr, total.runs, agents, days], [0, NO_RUNS, 0, [], []]);
  });

  test("a database that is not there is named, and not made", async () => {
    await using empty = await dataFolder();
    const { code, stdout, stderr } = await inProcess(["stats"], { env: empty.env });
    assert.deepEqual([code, stdout], [0, ""]);
    assert.match(stderr, /^There are no runs yet: no database at .*sous\.db\. sous demo makes one\.\n$/);
    assert.match((await inProcess(["stats"], { env: empty.env })).stderr, /no database/);
  });

  test("a time without runs says how to see the others", async () => {
    const { code, stdout, stderr } = await stats("--since", "2099-01-01");
    const sentence = "No run has started since then; sous stats without --since counts all.\n";
    assert.deepEqual([code, stdout, stderr], [0, "", sentence]);
  });
});

test("a mistake in the options ends sous stats with 2, and a file that is no database with 1", async () => {
  const wrong = await stats("--by", "agents");
  assert.deepEqual([wrong.code, wrong.stdout], [2, ""]);
  assert.match(wrong.stderr, /--by is one of agent, model, project, day; found "agents"; did you mean agent\?/);
  assert.equal((await stats("--since", "yesterday")).code, 2);
  assert.equal((await stats("agent")).code, 2);
  const file = join(folder.path, "notes.db");
  writeFileSync(file, "This is not a database.\n".repeat(100));
  assert.equal((await stats("--db-path", file)).code, 1);
});

function positive(counts: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
}

function top(fields: readonly JsonField[]): string[] {
  return fields.map(({ name }) => name).filter((name) => !/[.[]/.test(name));
}
