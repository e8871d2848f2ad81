/** The output of `sous stats`: pictures at many widths, and hostile names. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { statsLines } from "../../../../src/app/cli/stats/stats-lines.ts";
import { type Grouping, readStats, Stats } from "../../../../src/app/cli/stats/sums.ts";
import { barText } from "../../../../src/app/cli/stats/table.ts";
import { chooseStyle } from "../../../../src/app/cli/terminal/style.ts";
import { displayWidth, inert } from "../../../../src/app/cli/terminal/text.ts";
import type { Tally } from "../../../../src/core/totals.ts";
import { assertGolden } from "../../../support/app/cli/golden.ts";
import { HOSTILE_LABEL } from "../../../support/app/cli/kept-runs.ts";
import { DAY_MS, FIRST_DAY, refusal, runTally, sampleMonth, tokens } from "../../../support/app/cli/sample-tallies.ts";

process.env.HOME = "/home/kim";

const PLAIN = chooseStyle({ color: "never", isAscii: false, isTerminal: true, env: {} });
const ASCII = chooseStyle({ color: "never", isAscii: true, isTerminal: true, env: {} });

type View = { columns?: number; by?: Grouping; since?: number; isAscii?: boolean };

function picture(tallies: Iterable<Tally>, { columns = 79, by, since, isAscii = false }: View = {}): string[] {
  return statsLines(counted(tallies), { since, by, output: { columns, style: isAscii ? ASCII : PLAIN } });
}

function counted(tallies: Iterable<Tally>): Stats {
  const stats = new Stats();
  for (const tally of tallies) stats.add(tally);
  return stats;
}

suite("sous stats as a picture", () => {
  for (const columns of [20, 39, 60, 79, 120, 199]) {
    test(`the picture fits ${columns} columns, and no line is wider`, () => {
      const lines = picture(sampleMonth(), { columns });
      assert.deepEqual(
        lines.filter((line) => displayWidth(line) > columns),
        [],
      );
      assertGolden(`stats-${columns}.txt`, lines);
    });
  }

  test("the picture shows one table alone, in ASCII, since a time", () => {
    const lines = [
      ...picture(sampleMonth(), { by: "day", isAscii: true, since: FIRST_DAY }),
      ...picture(sampleMonth(), { by: "agent", isAscii: true }),
    ];
    assert.deepEqual(lines.join("").match(/[^ -~]/gu) ?? [], []);
    assertGolden("stats-by.txt", lines);
  });
});

test("F5: an unknown cost is named as such beside the known one, and alone", () => {
  const [priced, unpriced] = [runTally({ costUsd: 1.2 }), runTally({ costUsd: null })];
  const spent = (tallies: Tally[]) => picture(tallies)[2] ?? "";
  assert.match(spent([priced, unpriced, unpriced, unpriced]), / · \$1\.20 \+ 3 runs of unknown cost · /);
  assert.match(spent([unpriced]), / tok · 1 run of unknown cost · /);
  assert.match(spent([priced]), / · \$1\.20 · 1\.5s at work$/);
  assert.match(picture([priced, unpriced], { by: "agent" }).at(-1) ?? "", /\$1\.20 \+ \$\?$/);
});

test("tokens that were estimated are marked, for their agent and for the sum", () => {
  const estimated = runTally({ agent: "external", usage: { ...tokens(10, 1), estimated: true } });
  const lines = picture([runTally(), estimated], { by: "agent" });
  assert.match(lines[2] ?? "", /^~1\.1k tok/);
  assert.match(lines.find((line) => line.startsWith("external")) ?? "", / ~11 /);
  assert.ok(!lines.find((line) => line.startsWith("scout"))?.includes("~"));
});

test("names of agents and folders cannot act on a terminal", () => {
  const tallies = [runTally({ agent: HOSTILE_LABEL, model: HOSTILE_LABEL, project: `/tmp/${HOSTILE_LABEL}` })];
  const text = picture(tallies).join("\n");
  assert.equal(text, inert(text));
  assert.equal(text.split("\n").filter((line) => line.startsWith("evil")).length, 2);
});

test("a day without runs between others has a row and no bar; a bar shows any cost that is not zero", () => {
  const days = [runTally(), runTally({ startedAt: FIRST_DAY + 2 * DAY_MS, costUsd: 1000 })];
  const rows = picture(days, { by: "day" }).slice(-3);
  assert.deepEqual(
    rows.map((row) => row.replace(/█+/, "█")),
    ["2026-10-20     1          1    1.1k     $0.01  ▏", "2026-10-22     1          1    1.1k  $1000.00  █"].toSpliced(
      1,
      0,
      "2026-10-21",
    ),
  );
});

test("bars are of tokens when no cost is known", () => {
  const unpriced = { costUsd: null } as const;
  const tallies = [
    runTally(unpriced),
    runTally({ ...unpriced, usage: tokens(2000, 100), startedAt: FIRST_DAY + DAY_MS }),
  ];
  const bars = picture(tallies, { by: "day" }).map((line) => line.match(/█/g)?.length ?? 0);
  const [half = 0, whole = 0] = bars.slice(-2);
  assert.ok(whole > 10 && half === whole / 2, `${half} of ${whole}`);
});

test("a bar is as long as its share", () => {
  const eighths = PLAIN.glyphs.bar;
  assert.deepEqual(
    [0, 0.0001, 0.5, 0.55, 1, 7, Number.NaN].map((share) => barText(share, 10, eighths)),
    ["", "▏", "█████", "█████▌", "██████████", "██████████", ""],
  );
  assert.deepEqual(
    [0.01, 0.5].map((share) => barText(share, 10, ASCII.glyphs.bar)),
    ["#", "#####"],
  );
});

test("every table has all runs, and refused children are errors and no runs", () => {
  const stats = counted([...sampleMonth(), refusal({ errorType: "store" })]);
  const { total } = stats;
  assert.deepEqual([total.runs, total.refusals.depth_limit, total.refusals.store], [240, 2, 1]);
  assert.equal(
    Object.values(total.statuses).reduce((sum, each) => sum + each, 0),
    240,
  );
  for (const by of ["agent", "model", "project", "day"] as const) {
    const groups = stats.groups(by).map(({ sums }) => sums);
    const sum = (pick: (sums: Stats["total"]) => number) => groups.reduce((all, each) => all + pick(each), 0);
    assert.equal(
      sum(({ runs }) => runs),
      240,
      by,
    );
    assert.equal(
      sum(({ usage }) => usage.totalTokens),
      total.usage.totalTokens,
      by,
    );
    assert.equal(
      sum(({ unpricedRuns }) => unpricedRuns),
      total.unpricedRuns,
      by,
    );
    assert.ok(Math.abs(sum(({ costUsd }) => costUsd) - total.costUsd) < 1e-9, by);
  }
});

test("names without number are counted together after 10,000 of them", () => {
  const names = Array.from({ length: 12_000 }, (_, index) => runTally({ agent: `agent-${index}` }));
  const groups = counted(names).groups("agent");
  assert.deepEqual([groups.length, groups[0]?.name, groups[0]?.sums.runs], [10_001, "other", 2000]);
  assert.match(picture(names, { by: "agent" }).at(-1) ?? "", /^9,901 more agents: --json has all$/);
});

test("a time that is no date has a day that is not known", () => {
  const stats = counted([runTally({ startedAt: 9e15 })]);
  assert.deepEqual(
    stats.groups("day").map(({ name }) => name),
    [undefined],
  );
  assert.match(picture([runTally({ startedAt: 9e15 })], { by: "day" }).join("\n"), /\(unknown\)/);
});

test("totals are read page by page, and unended runs once, with the folder of their root", async () => {
  const pages = [[runTally()], [runTally(), refusal()], []];
  const asked: (string | undefined)[] = [];
  const root = { id: "root", rootId: "root", parentId: null, cwd: "/srv/root" };
  const child = { id: "child", rootId: "root", parentId: "root", cwd: undefined };
  const open = { ...runTally(), status: "running", durationMs: undefined, path: "", label: "", agentId: "" };
  const unended = [child, { ...child, rootId: "earlier" }].map((run) => ({ ...open, ...run })) as never[];
  const stats = await readStats(
    {
      totals: async ({ after } = {}) => {
        asked.push(after);
        const index = Number(after ?? 0);
        const isComplete = index === pages.length - 1;
        return { tallies: pages[index] ?? [], unended: isComplete ? unended : [], mark: String(index + 1), isComplete };
      },
      run: async (id) => (id === "root" ? (root as never) : undefined),
    },
    undefined,
  );
  assert.deepEqual(asked, [undefined, "1", "2"]);
  assert.deepEqual([stats.total.runs, stats.total.statuses.running], [4, 2]);
  const projects = stats.groups("project").map(({ name, sums }) => [name, sums.runs]);
  assert.deepEqual(projects, [
    ["/home/kim/shop", 2],
    ["/srv/root", 1],
    [undefined, 1],
  ]);
});
