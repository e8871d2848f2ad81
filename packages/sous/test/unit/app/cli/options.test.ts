/** Commands read what was typed, and say what makes no sense in it. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { CommandError } from "../../../../src/app/cli/exit-codes.ts";
import { databaseFile } from "../../../../src/app/cli/files/paths.ts";
import { findRun } from "../../../../src/app/cli/stored/find-run.ts";
import type { CommandEntry } from "../../../../src/app/cli/table/entry.ts";
import { readOptions, refusePositionals } from "../../../../src/app/cli/table/options.ts";
import { nearest } from "../../../../src/core/nearest.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { IDS, keepSampleRuns } from "../../../support/app/cli/kept-runs.ts";

/** What a command would print, and end with. */
function complaint(work: () => unknown): [exitCode: number, message: string] {
  try {
    work();
  } catch (error) {
    if (error instanceof CommandError) return [error.exitCode, error.message];
    throw error;
  }
  return assert.fail("It did not complain");
}

suite("options", () => {
  const entry = {
    name: "x",
    about: "",
    text: [],
    usage: [],
    examples: [],
    groups: [
      {
        title: "options",
        options: [
          { name: "list", short: "l", about: "" },
          { name: "limit", value: "N", default: "10", about: "" },
          { name: "id", short: "i", value: "ID", about: "" },
          { name: "status", value: "S", words: ["completed", "failed"], about: "" },
          { name: "allow", value: "RULE", allows: "", about: "" },
          { name: "offset", value: "N", allows: "0", about: "" },
          { name: "budget", value: "USD", about: "" },
          { name: "timeout", value: "TIME", about: "" },
          { name: "tools", value: "A,B", about: "" },
          { name: "since", value: "WHEN", about: "" },
        ],
      },
    ],
  } as const satisfies CommandEntry;
  const read = (...parameters: string[]) => readOptions(entry, parameters);

  test("options are read long and short, with their value behind them or joined to them", () => {
    assert.deepEqual({ ...read("-l", "--limit=3", "-i", "abc", "word").values }, { list: true, limit: 3, id: "abc" });
    assert.deepEqual(read("-li", "abc", "word").positionals, ["word"]);
    assert.deepEqual({ ...read().values }, { list: false, limit: 10 });
    assert.deepEqual(read("--allow", "a", "--allow=").values.allow, ["a", ""]);
    assert.equal(read("--status", "failed").values.status, "failed");
  });

  test("a mistake is told with what was meant", () => {
    const complaints: [parameters: string[], message: string][] = [
      [["--lmit", "3"], "sous x has no option --lmit; did you mean --limit? See sous x --help."],
      [["--frobnicate"], "sous x has no option --frobnicate. See sous x --help."],
      [["-x"], "sous x has no option -x. See sous x --help."],
      [["--__proto__"], "sous x has no option --__proto__. See sous x --help."],
      [["--li\u001b[2Jst"], "sous x has no option --list; did you mean --list? See sous x --help."],
      [["--limit"], "--limit needs a value"],
      [["--limit="], "--limit needs a value"],
      [["--limit", "--list"], '--limit needs a value; found "--list"'],
      [["--list=yes"], "--list takes no value"],
      [["--status", "complete"], '--status is one of completed, failed; found "complete"; did you mean completed?'],
    ];
    for (const [parameters, message] of complaints)
      assert.deepEqual(
        complaint(() => read(...parameters)),
        [2, message],
      );
  });

  test("a word that a command has no use for is refused", () => {
    assert.deepEqual(
      complaint(() => refusePositionals("sous x", ["a\nb"])),
      [2, 'sous x does not take "a b". See sous x --help.'],
    );
    refusePositionals("sous x", []);
  });

  test("numbers, amounts, times and lists are parsed", () => {
    const { values } = read("--limit", "7", "--offset=0", "--budget", "0.50", "--timeout", "5m", "--tools", "a,b c");
    assert.deepEqual(
      [values.limit, values.offset, values.budget, values.timeout, values.tools],
      [7, 0, 0.5, 300, ["a", "b", "c"]],
    );
    const complaints: [parameter: string, message: string][] = [
      ["--limit=0", '--limit must be a whole number of at least 1; found "0"'],
      ["--limit=1e3", '--limit must be a whole number of at least 1; found "1e3"'],
      ["--offset=-1", '--offset must be a whole number of at least 0; found "-1"'],
      ["--budget=0", '--budget is an amount of US dollars greater than 0, such as 0.50; found "0"'],
      ["--timeout=x", '--timeout is a time greater than 0, such as 90s, 5m or 2h; found "x"'],
    ];
    for (const [parameter, message] of complaints)
      assert.deepEqual(
        complaint(() => read(parameter)),
        [2, message],
      );
  });

  test("a moment is an age or a date", () => {
    const now = Date.UTC(2026, 10, 15, 12);
    const since = (given: string) => readOptions(entry, [`--since=${given}`], now).values.since;
    const moments = ["90s", "45m", "12h", "7d", "2w", "2026-11-01", "2026-11-01T10:00:00Z"].map((each) =>
      new Date(since(each) ?? 0).toISOString(),
    );
    assert.deepEqual(moments, [
      "2026-11-15T11:58:30.000Z",
      "2026-11-15T11:15:00.000Z",
      "2026-11-15T00:00:00.000Z",
      "2026-11-08T12:00:00.000Z",
      "2026-11-01T12:00:00.000Z",
      "2026-11-01T00:00:00.000Z",
      "2026-11-01T10:00:00.000Z",
    ]);
    for (const wrong of ["7", "d", "7y", "-7d", "yesterday", "2026-13-45", "1"]) {
      assert.deepEqual(
        complaint(() => since(wrong)),
        [2, `--since takes a time such as 45m, 12h, 7d or 2w, or a date such as 2026-11-15; found "${wrong}"`],
      );
    }
  });
});

test("the nearest name is one that could have been meant, or none", () => {
  const names = ["demo", "replay", "resume"];
  const guesses = ["dmeo", "replya", "repaly", "resum", "rep", "chat", "x", "", "r".repeat(100)].map((each) =>
    nearest(each, names),
  );
  assert.deepEqual(guesses, [
    "demo",
    "replay",
    "replay",
    "resume",
    "replay",
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

suite("the database is", () => {
  test("the database is where the flag says, then the variable, then below the folder for data, never in the home directory itself", () => {
    const home = { HOME: "/home/ann" };
    const found = [
      databaseFile("/tmp/x.db", { ...home, SOUS_DB_PATH: "/tmp/y.db" }),
      databaseFile(undefined, { ...home, SOUS_DB_PATH: "~/y.db" }),
      databaseFile("~/z.db", home),
      databaseFile(undefined, { ...home, SOUS_DB_PATH: "", XDG_DATA_HOME: "/data" }),
      databaseFile(undefined, { ...home, XDG_DATA_HOME: "relative" }),
      databaseFile(undefined, home),
      databaseFile(undefined, { XDG_DATA_HOME: "/data" }),
      databaseFile("relative.db", {}),
    ];
    assert.deepEqual(found, [
      "/tmp/x.db",
      "/home/ann/y.db",
      "/home/ann/z.db",
      "/data/sous/sous.db",
      "/home/ann/.local/share/sous/sous.db",
      "/home/ann/.local/share/sous/sous.db",
      "/data/sous/sous.db",
      `${process.cwd()}/relative.db`,
    ]);
  });

  test("without a home there is no database, and that is said", () => {
    const sentence = "HOME is not set, so the folder for runs is not known: set XDG_DATA_HOME, or give --db-path FILE";
    for (const env of [{}, { HOME: "" }, { HOME: "here" }])
      assert.deepEqual(
        complaint(() => databaseFile(undefined, env)),
        [1, sentence],
      );
  });
});

const ANYWHERE = { cwd: "/srv/shop", elsewhere: "take", takenBy: (id: string) => `sous replay --id ${id}` } as const;

suite("a run is found by", async () => {
  const store = openMemoryStore();
  await keepSampleRuns(store);
  const found = async (given: string): Promise<string> => {
    try {
      return (await findRun(store, given, ANYWHERE)).id;
    } catch (error) {
      if (error instanceof CommandError && error.exitCode === 1) return error.message;
      throw error;
    }
  };

  test("a run is found by its id, the beginning of it, in small letters too, and `last` for the newest root", async () => {
    assert.equal(await found(IDS.scout), IDS.scout);
    assert.equal(await found(IDS.scout.toLowerCase()), IDS.scout);
    assert.equal(await found("01K2F9"), IDS.hostile);
    assert.equal(await found(" 01k2g0bb"), IDS.broken);
    assert.equal(await found("last"), IDS.broken);
  });

  test("a run is found by nothing else, and what is wrong is said with what to do", async () => {
    const list = "sous replay --list shows all.";
    assert.equal(await found("01K2"), `Unknown run 01K2. Give at least 6 characters of its id. ${list}`);
    assert.equal(await found("01K2ZZZZ"), `Unknown run 01K2ZZZZ. ${list}`);
    assert.equal(await found("%%%%%%\u001b[2J"), `Unknown run %%%%%%. ${list}`);
    assert.equal(
      await found("01K2F8Q6ZW"),
      `01K2F8Q6ZW is the beginning of several ids: ${IDS.reader} (lead/reader), ${IDS.scout} (lead/scout)`,
    );
    const nothing = findRun(openMemoryStore(), "last", ANYWHERE);
    await assert.rejects(nothing, { message: "There are no runs yet. sous demo makes one." });
  });
});
