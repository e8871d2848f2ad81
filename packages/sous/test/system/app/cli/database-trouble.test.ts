/** A database that cannot be used: one sentence, the right code, and nothing is overwritten. */

import assert from "node:assert/strict";
import { lstat, mkdir, readdir, readFile, readlink, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { suite, test } from "node:test";
import { replay } from "../../../../src/app/cli/commands/replay.ts";
import { CommandError } from "../../../../src/app/cli/exit-codes.ts";
import { openForRun, openRuns } from "../../../../src/app/cli/stored/database.ts";
import { StoreError, UserError } from "../../../../src/core/errors.ts";
import { openSqliteStore } from "../../../../src/storage/store/sqlite/store.ts";
import { inProcess } from "../../../support/app/cli/in-process.ts";
import { keepSampleRuns } from "../../../support/app/cli/kept-runs.ts";
import { dataFolder, sous } from "../../../support/app/cli/sous-process.ts";
import { temporaryTree } from "../../../support/app/tools/temporary-tree.ts";
import { OLDER_SQLITE_BUDGETS } from "../../../support/storage/store/older-budgets.ts";
import { SQLITE_WITHOUT_PLACING } from "../../../support/storage/store/without-placing.ts";

type Trouble = { name: string; make(file: string): Promise<unknown>; sentence: RegExp };

const TROUBLES: Trouble[] = [
  { name: "a directory", make: (file) => mkdir(file), sentence: / is a directory and not a database: / },
  {
    name: "a symbolic link",
    make: async (file) => {
      await makeDatabase(`${file}.real`);
      await symlink(`${file}.real`, file);
    },
    sentence: / is a symbolic link and not a database: /,
  },
  {
    name: "a file of another program",
    make: (file) => writeFile(file, "Dear diary,\n".repeat(1000)),
    sentence: / is not a database of sous: give another file with --db-path$/,
  },
  {
    name: "a database of another program",
    make: async (file) => change(file, "CREATE TABLE bookmarks (address TEXT)"),
    sentence: / is not a database of sous: give another file with --db-path$/,
  },
  {
    name: "a database of a newer version",
    make: async (file) => {
      await makeDatabase(file);
      change(file, "PRAGMA user_version = 999");
    },
    sentence: / was written by a newer version of sous \(schema 999; this one knows \d+\): update sous, /,
  },
  {
    name: "a damaged database",
    make: async (file) => {
      await makeDatabase(file);
      const bytes = await readFile(file);
      // All but the header, by which it is known to be ours.
      bytes.fill(0xa5, 100);
      await writeFile(file, bytes);
    },
    sentence: / is damaged \(.*\): restore a copy, or give another file with --db-path$/,
  },
];

async function makeDatabase(file: string): Promise<void> {
  await using store = await openSqliteStore(file);
  await keepSampleRuns(store);
}

function change(file: string, sql: string): void {
  const database = new DatabaseSync(file);
  database.exec(sql);
  database.close();
}

/** What is at a place, without following it. */
async function contentOf(path: string): Promise<unknown> {
  const found = await lstat(path);
  if (found.isSymbolicLink()) return [await readlink(path), await contentOf(`${path}.real`)];
  return found.isDirectory() ? readdir(path) : readFile(path, "base64");
}

/** What a person would read. */
async function sentenceOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    if (error instanceof CommandError || error instanceof UserError || error instanceof StoreError)
      return error.message;
    throw error;
  }
  return assert.fail("It did not complain");
}

/** Everything on stderr that is not the progress of the run. */
function linesAboutStore(stderr: string): string[] {
  return stderr.split("\n").filter((line) => line !== "" && !line.startsWith("lead"));
}

test("a database of an older version that cannot be brought up to date is said to be one, with the reason", async () => {
  await using tree = await temporaryTree({});
  const file = join(tree.path, "older.db");
  await makeDatabase(file);
  const older = `${OLDER_SQLITE_BUDGETS} ${SQLITE_WITHOUT_PLACING} ALTER TABLE runs DROP COLUMN questions; DROP TABLE tallies; PRAGMA user_version = 2`;
  change(file, `${older}; CREATE TABLE bookmarks (address TEXT)`);
  await assert.rejects(
    openRuns(file, "read"),
    new CommandError(
      `${file} was written by an older version of sous and cannot be brought up to date: ` +
        `${file} holds "bookmarks", which sous did not put there: give another file with --db-path`,
    ),
  );
});

suite("a database that cannot be used", { concurrency: true }, () => {
  suite("a database that is not one", () => {
    for (const { name, make, sentence } of TROUBLES) {
      test(`${name} is refused as a database`, async () => {
        await using folder = await dataFolder();
        await mkdir(dirname(folder.file));
        await make(folder.file);
        const before = await contentOf(folder.file);
        const list = await sentenceOf(replay(["--list", "--db-path", folder.file]));
        assert.match(list, sentence);
        assert.ok(list.startsWith(folder.file) && !list.includes("\n"), "one sentence that begins with the file");
        const required = openForRun({ dbPath: folder.file, isEphemeral: false, isRequired: true });
        assert.equal(await sentenceOf(required), `The run cannot be stored, as --require-store wants it: ${list}`);
        assert.deepEqual(await contentOf(folder.file), before);
      });
    }

    test("a file that is not a database ends the command with 1 and one line", async () => {
      await using folder = await dataFolder();
      await mkdir(folder.file, { recursive: true });
      for (const parameters of [["replay", "--list"], ["replay", "--tree", "--id", "last"], ["resume"]]) {
        const { code, stdout, stderr } = await inProcess(parameters, { env: folder.env });
        const sentence = `${folder.file} is a directory and not a database: give another file with --db-path`;
        assert.deepEqual([code, stdout, stderr], [1, "", `error: ${sentence}\n`]);
      }
    });

    test("a database that another program has locked ends the command with 1 and one line", async () => {
      await using folder = await dataFolder();
      await makeDatabase(folder.file);
      const other = new DatabaseSync(folder.file);
      other.exec("BEGIN EXCLUSIVE");
      const { code, stdout, stderr } = await inProcess(["replay", "--prune", "2030-01-01"], { env: folder.env });
      other.close();
      assert.deepEqual([code, stdout], [1, ""]);
      assert.match(stderr, / is locked by another program: close that program, or wait until it is done\n$/);
    });

    test("an empty file counts as a new database", async () => {
      await using folder = await dataFolder();
      await mkdir(dirname(folder.file));
      await writeFile(folder.file, "");
      const { code, stdout, stderr } = await inProcess(["replay", "--list"], { env: folder.env });
      assert.deepEqual([code, stdout], [0, ""]);
      assert.match(stderr, /^There are no runs yet: /);
    });
  });

  suite("G3: sous demo with a store", () => {
    test("sous demo warns once about a store that cannot be opened, and continues", async () => {
      await using folder = await dataFolder();
      await using work = await temporaryTree({ "one.txt": "1\n" });
      await mkdir(folder.file, { recursive: true });
      const { code, stdout, stderr } = await inProcess(["demo"], { cwd: work.path, env: folder.env });
      assert.equal(code, 0);
      assert.match(stdout, /^files: 1 file: 1 \.txt\.$/m);
      const sentence = `${folder.file} is a directory and not a database: give another file with --db-path`;
      assert.deepEqual(linesAboutStore(stderr), [`warning: the run is not stored: ${sentence}`]);
    });

    test("sous demo on a full disk warns once and continues, and ends when the store is required", async () => {
      await using folder = await dataFolder();
      await using work = await temporaryTree({ "one.txt": "1\n" });
      const files = ["one.db", "two.db"].map((name) => join(folder.path, name)) as [string, string];
      for (const file of files) await (await openSqliteStore(file))[Symbol.asyncDispose]();
      // No file may grow much further: enough to begin, and not to end.
      const maxFileKb = Math.ceil((await stat(files[0])).size / 1024) + 16;
      const limited = (...parameters: string[]) => sous(parameters, { cwd: work.path, env: folder.env, maxFileKb });
      const goesOn = limited("demo", "--db-path", files[0]);
      const stops = limited("demo", "--require-store", "--db-path", files[1]);
      const { code, stdout, stderr } = await goesOn;
      assert.equal(code, 0);
      assert.match(stdout, /^files: 1 file: 1 \.txt\.$/m);
      const [warning = "", ...more] = linesAboutStore(stderr);
      assert.match(
        warning,
        /^warning: the run is not stored to its end, so it cannot be resumed: The store failed 4 times to keep event \d+: /,
      );
      assert.deepEqual(more, []);
      const stopped = await stops;
      assert.equal(stopped.code, 1);
      assert.match(stopped.stderr, /^error: The store failed 4 times to keep event \d+: .*$/m);
    });

    test("sous demo ends at once when a required store cannot be made", async () => {
      const { code, stdout, stderr } = await inProcess(["demo", "--require-store", "--db-path", "/proc/x/y/sous.db"]);
      assert.deepEqual([code, stdout], [1, ""]);
      assert.match(
        stderr,
        /^error: The run cannot be stored, as --require-store wants it: .* cannot be created \(.*\n$/,
      );
    });
  });
});
