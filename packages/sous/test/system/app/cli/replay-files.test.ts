/** `sous replay` and files: trees go out, come in, are copied and are forgotten; nothing is overwritten unasked. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { replay as replayCommand } from "../../../../src/app/cli/commands/replay.ts";
import { replayPrune } from "../../../../src/app/cli/replay/export.ts";
import { readOptions } from "../../../../src/app/cli/table/options.ts";
import { REPLAY } from "../../../../src/app/cli/table/stored-entries.ts";
import { openOutput } from "../../../../src/app/cli/terminal/output.ts";
import { openSqliteStore } from "../../../../src/storage/store/sqlite/store.ts";
import { inProcess } from "../../../support/app/cli/in-process.ts";
import { IDS, keepSampleRuns } from "../../../support/app/cli/kept-runs.ts";
import { runProcess } from "../../../support/app/cli/run-process.ts";
import { dataFolder, type Ended, MAIN } from "../../../support/app/cli/sous-process.ts";

const EVERYTHING = "This deletes everything that is stored: 3 trees. Delete all?";

let folder: Awaited<ReturnType<typeof dataFolder>>;
before(async () => {
  folder = await dataFolder();
  await using store = await openSqliteStore(folder.file);
  await keepSampleRuns(store);
});
after(() => folder[Symbol.asyncDispose]());

function replay(...parameters: string[]): Promise<Ended> {
  return inProcess(["replay", ...parameters], { env: folder.env });
}

async function idsIn(file: string): Promise<string[]> {
  await using store = await openSqliteStore(file, { readOnly: true });
  return (await store.list()).map(({ id }) => id);
}

suite("the files of sous replay", () => {
  suite("G6: a tree goes out and comes in", () => {
    test("an exported tree is the same text on stdout and in a file that only its owner may read", async () => {
      const file = join(folder.path, "tree.json");
      const [shown, written] = await Promise.all([
        replay("--export", "json", "--id", IDS.scout),
        replay("--export", "json", "--id", IDS.lead, "--output", file),
      ]);
      assert.deepEqual([shown.code, shown.stderr], [0, ""]);
      assert.deepEqual([written.code, written.stdout], [0, ""]);
      assert.equal(written.stderr, `Tree ${IDS.lead} is in ${file}.\n`);
      assert.equal(await readFile(file, "utf8"), shown.stdout);
      assert.equal(((await stat(file)).mode & 0o777).toString(8), "600");
      const other = join(folder.path, "other.db");
      const taken = await replay("--import", file, "--db-path", other);
      assert.deepEqual([taken.code, taken.stderr], [0, ""]);
      assert.equal(
        taken.stdout,
        `Imported tree ${IDS.lead}: 3 runs, 24 events.\nLook at it: sous replay --tree --id ${IDS.lead} --db-path ${other}\n`,
      );
      assert.deepEqual(await idsIn(other), [IDS.reader, IDS.scout, IDS.lead]);
      const again = await replay("--export", "json", "--id", IDS.lead, "--db-path", other);
      assert.equal(again.stdout, shown.stdout);
    });

    test("a tree goes through a pipe, and both the import and a copy say in JSON what was done", async () => {
      const tree = await replay("--export", "json", "--id", IDS.lead);
      const other = join(folder.path, "piped.db");
      const taken = await runProcess({
        cwd: folder.path,
        parameters: ["replay", "--import", "-", "--db-path", other, "--json"],
        input: tree.stdout,
      });
      assert.deepEqual([taken.code, taken.stderr], [0, ""]);
      assert.deepEqual(JSON.parse(taken.stdout), {
        schema: "sous.import.v1",
        root_id: IDS.lead,
        runs: 3,
        events: 24,
      });
      assert.deepEqual(await idsIn(other), [IDS.reader, IDS.scout, IDS.lead]);
      const copy = join(folder.path, "piped-copy.db");
      const made = await replay("--backup", copy, "--db-path", other, "--json");
      assert.deepEqual(JSON.parse(made.stdout), { schema: "sous.backup.v1", file: copy });
      assert.deepEqual(await idsIn(copy), await idsIn(other));
    });

    test("a tree is exported for people as Markdown and as HTML, with nothing in it that acts", async () => {
      const [markdown, html] = await Promise.all([
        replay("--export", "md", "--id", IDS.hostile),
        replay("--export", "html", "--id", IDS.hostile),
      ]);
      assert.deepEqual([markdown.code, html.code], [0, 0]);
      assert.match(html.stdout, /^<!doctype html>/i);
      for (const { stdout } of [markdown, html]) {
        // biome-ignore lint/suspicious/noControlCharactersInRegex: what must not be there.
        assert.doesNotMatch(stdout, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/);
      }
    });

    test("a file that is no tree is refused in one sentence, and so is a tree that is there already", async () => {
      const file = join(folder.path, "wrong.json");
      await writeFile(file, `{"events": "\u001b[2J"}`);
      const wrong = await replay("--import", file);
      assert.deepEqual([wrong.code, wrong.stdout], [1, ""]);
      assert.match(wrong.stderr, /^error: The file cannot be imported: [ -~]*\n$/);
      const missing = replayCommand(["--import", join(folder.path, "none.json"), "--db-path", folder.file]);
      await assert.rejects(missing, { name: "CommandError", message: /none\.json cannot be read: it does not exist/ });
      const folderAsFile = replayCommand(["--import", folder.path, "--db-path", folder.file]);
      await assert.rejects(folderAsFile, { name: "CommandError", message: / cannot be read: it is not a file$/ });
      const tree = await replay("--export", "json", "--id", IDS.hostile);
      await writeFile(file, tree.stdout);
      const twice = replayCommand(["--import", file, "--db-path", folder.file]);
      await assert.rejects(twice, {
        message: new RegExp(`^The file cannot be imported: run ${IDS.hostile} is in this store already; `),
      });
    });

    test("an export does not overwrite what is there unless it is asked to, and never follows a link", async () => {
      const [file, link] = [join(folder.path, "kept.md"), join(folder.path, "link.md")];
      await writeFile(file, "mine");
      await symlink(file, link);
      const write = (output: string, ...more: string[]) =>
        replayCommand(["--export", "md", "--id", IDS.lead, "--output", output, "--db-path", folder.file, ...more]);
      for (const output of [file, link]) {
        await assert.rejects(write(output), {
          name: "CommandError",
          message: `${output} already exists; --force replaces it`,
        });
      }
      const nowhere = join(folder.path, "no", "such", "folder.md");
      await assert.rejects(write(nowhere), { name: "CommandError", message: /folder\.md cannot be written: ENOENT/ });
      const forced = await replay("--export", "md", "--id", IDS.lead, "--output", link, "--force");
      assert.equal(forced.code, 0);
      assert.equal(await readFile(file, "utf8"), "mine");
      assert.match(await readFile(link, "utf8"), /^# /);
    });
  });

  suite("a database is copied and pruned", () => {
    test("a copy is made beside what is at work, and not over anything", async () => {
      const copy = join(folder.path, "copy.db");
      const made = await replay("--backup", copy);
      assert.deepEqual([made.code, made.stdout, made.stderr], [0, `A copy of ${folder.file} is in ${copy}.\n`, ""]);
      assert.deepEqual(await idsIn(copy), await idsIn(folder.file));
      const twice = replayCommand(["--backup", copy, "--db-path", folder.file]);
      await assert.rejects(twice, { message: `${copy} exists already: give a new file for the copy` });
    });

    test("old trees are forgotten, and their space is given back", async () => {
      const file = join(folder.path, "old.db");
      {
        await using store = await openSqliteStore(file);
        await keepSampleRuns(store);
      }
      const forgotten = await replay("--prune", "2026-11-15T12:30Z", "--db-path", file);
      assert.deepEqual([forgotten.code, forgotten.stdout, forgotten.stderr], [0, "Deleted 1 tree.\n", ""]);
      const left = (await readdir(folder.path)).filter((name) => name.startsWith("old.db"));
      const texts = await Promise.all(left.map((name) => readFile(join(folder.path, name), "latin1")));
      assert.ok(!texts.join("").includes("Where do we check permissions?"), `it is still in one of ${left.join(", ")}`);
      assert.deepEqual(left, ["old.db"], "the database is closed");
      assert.deepEqual(await idsIn(file), [IDS.broken, IDS.hostile]);
      const json = await replay("--prune", "2030-01-01", "--db-path", file, "--json");
      assert.deepEqual(JSON.parse(json.stdout), { schema: "sous.prune.v1", trees: 2 });
    });

    test("a person who would delete everything is asked first, with how much that is", async () => {
      const file = join(folder.path, "all.db");
      {
        await using store = await openSqliteStore(file);
        await keepSampleRuns(store);
      }
      const all = await idsIn(file);
      const asked: string[] = [];
      const printed: string[] = [];
      const prune = (answer: boolean, ...parameters: string[]): Promise<number> => {
        const { values } = readOptions(REPLAY, ["--prune", ...parameters]);
        const output = openOutput(process.stdout, { color: "never", ascii: false });
        const parts = {
          otherId: "",
          values,
          file,
          flags: { dbPath: file, configFile: undefined },
          output: { ...output, print: (lines: readonly string[]) => printed.push(...lines) },
        };
        return replayPrune(parts, async (question) => {
          asked.push(question);
          return answer;
        });
      };
      assert.equal(await prune(false, "2100-01-01"), 1);
      assert.deepEqual([asked, printed, await idsIn(file)], [[EVERYTHING], ["Nothing was deleted."], all]);
      assert.equal(await prune(false, "2026-11-15T12:30Z"), 0);
      assert.deepEqual(
        [asked.length, printed.at(-1)],
        [1, "Deleted 1 tree."],
        "something is left, so no question is asked",
      );
      assert.equal(await prune(false, "2100-01-01", "--yes"), 0);
      assert.deepEqual([asked.length, printed.at(-1), await idsIn(file)], [1, "Deleted 2 trees.", []]);
      assert.equal(await prune(false, "2100-01-01"), 0);
      assert.deepEqual([asked.length, printed.at(-1)], [1, "Deleted 0 trees."], "nothing is there to be lost");
    });
  });

  test("a reader that goes away ends the command without a word", async () => {
    const child = spawn(process.execPath, [MAIN, "replay", "--list"], {
      env: folder.env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    child.stdout.destroy();
    let stderr = "";
    child.stderr.on("data", (chunk) => (stderr += chunk));
    const code = await new Promise((resolve) => child.on("close", resolve));
    assert.deepEqual([code, stderr], [141, ""]);
  });
});
