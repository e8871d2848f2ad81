/** Code that opens a file closes it again, also when it refuses what it finds there. */

import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { mkdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import { suite, test } from "node:test";
import { openHistory } from "../../src/app/cli/chat/prompt-line.ts";
import { attachFiles } from "../../src/app/cli/chat/typed-line.ts";
import { readForeign, writePrivate } from "../../src/app/cli/files/file-access.ts";
import { readSmallFile } from "../../src/app/config/read-file.ts";
import { changeTrustRecords } from "../../src/app/config/trust/record.ts";
import { countLeftovers } from "../../src/app/process/group-record.ts";
import { openPrograms } from "../../src/app/process/programs.ts";
import { readRegular } from "../../src/machine/private-file.ts";
import { LostMarks, marksIn } from "../../src/storage/store/lost-marks.ts";
import { inspectDatabase } from "../../src/storage/store/sqlite/inspect.ts";
import { checkJournal, readHeader } from "../../src/storage/store/sqlite/schema.ts";
import { openSqliteStore } from "../../src/storage/store/sqlite/store.ts";
import { answer, temporaryTree } from "../support/app/tools/temporary-tree.ts";
import { edit, write } from "../support/app/tools/write-tools.ts";
import { openDescriptors } from "../support/left-open.ts";

const FILES = {
  "notes.md": "buy milk\n",
  "sub/more.md": "milk\n",
  "sub/.gitignore": "*.log\n",
  binary: "milk\0",
  "large.txt": "milk\n".repeat(1_200_000),
  "state/programs/": "",
};

type Action = (cwd: string) => Promise<unknown>;

const ACTIONS: Record<string, Action> = {
  "read_file of a text": (cwd) => answer("read_file", { path: "notes.md" }, cwd),
  "read_file of a binary file": (cwd) => answer("read_file", { path: "binary" }, cwd),
  "glob with rules of .gitignore": (cwd) => answer("glob", { pattern: "**/*.md" }, cwd),
  "grep in a folder": (cwd) => answer("grep", { pattern: "milk" }, cwd),
  "grep in a folder that finds enough in the first file": (cwd) => answer("grep", { pattern: "milk", limit: 1 }, cwd),
  "grep in a file": (cwd) => answer("grep", { pattern: "milk", path: "notes.md" }, cwd),
  "write_file into new folders": async (cwd) => {
    await write({ path: "new/one/two.txt", content: "x" }, cwd);
    rmSync(join(cwd, "new"), { recursive: true });
  },
  "write_file over a file": (cwd) => write({ path: "notes.md", content: "buy milk\n" }, cwd),
  "edit_file of a file": (cwd) => edit({ path: "notes.md", old: "buy", new: "buy" }, cwd),
  "edit_file of a binary file": (cwd) => edit({ path: "binary", old: "a", new: "b" }, cwd),
  "edit_file of a file that is too large": (cwd) => edit({ path: "large.txt", old: "a", new: "b" }, cwd),
  "an attached file": (cwd) => attachFiles("See.", [{ path: "notes.md", mustBeThere: true }], cwd),
  "an attached folder": (cwd) => attachFiles("See.", [{ path: "sub", mustBeThere: true }], cwd).catch(() => {}),
  "the lines of earlier chats": async (cwd) => (await openHistory(join(cwd, "history"))).add("hello"),
  "a file that is imported": (cwd) => readForeign(join(cwd, "notes.md")),
  "a file that is exported": (cwd) => writePrivate(join(cwd, "export.json"), "{}", true),
  "a configuration": (cwd) => readSmallFile(join(cwd, "notes.md"), 1_000),
  "a configuration that is too large": (cwd) => readSmallFile(join(cwd, "notes.md"), 1),
  "a file of a project": (cwd) => readRegular(join(cwd, "notes.md"), 1_000),
  "a file of a project that is too large": (cwd) => readRegular(join(cwd, "notes.md"), 1).catch(() => {}),
  "the record of trust": (cwd) => changeTrustRecords(join(cwd, "trust"), (records) => records),
  "the record of programs": async (cwd) => {
    const owner = { boot: "another", pid: 1, start: "1", mark: `${"a".repeat(32)}-` };
    writeFileSync(join(cwd, `state/programs/${owner.mark}groups`), `${JSON.stringify(owner)}\n`, { mode: 0o600 });
    countLeftovers(join(cwd, "state"));
  },
  "a program": async (cwd) => {
    await using programs = openPrograms({ environment: process.env });
    await programs.run({ program: "echo", args: ["x"], cwd, maxOutputBytes: 100 });
  },
  "a program that cannot be started": async (cwd) => {
    await using programs = openPrograms({ environment: process.env });
    await programs.run({ program: "echo", args: ["\0"], cwd, maxOutputBytes: 100 }).catch(() => {});
  },
  "a database, opened and closed": async (cwd) => {
    const store = await openSqliteStore(join(cwd, "sous.db"));
    await store[Symbol.asyncDispose]();
  },
  "a database, copied": async (cwd) => {
    await using store = await openSqliteStore(join(cwd, "sous.db"));
    await store.backup(join(cwd, "copy.db"));
    rmSync(join(cwd, "copy.db"));
  },
  "a database, copied with what is known of trees that were lost": async (cwd) => {
    const lostFolder = join(cwd, "lost");
    await using store = await openSqliteStore(join(cwd, "sous.db"), { lostFolder });
    new LostMarks(marksIn(lostFolder, store.file)).add("lead", "The disk was full");
    await store.backup(join(cwd, "copy.db"));
    rmSync(join(cwd, "copy.db"));
  },
  "a database with a journal beside it": async (cwd) => {
    const file = join(cwd, "journal.db");
    await (await openSqliteStore(file))[Symbol.asyncDispose]();
    writeFileSync(`${file}-journal`, "no journal");
    checkJournal(file);
    readHeader(file);
  },
  "the mark of a run that was lost": async (cwd) => {
    const marks = new LostMarks([{ folder: cwd, prefix: "lost-" }]);
    marks.add("lead", "The disk was full");
    marks.reasonFor("lead");
    marks.remove("lead");
  },
  "a database, looked into": async (cwd) => {
    await using _store = await openSqliteStore(join(cwd, "sous.db"));
    inspectDatabase(join(cwd, "sous.db"));
  },
};

suite("open files", () => {
  for (const [what, act] of Object.entries(ACTIONS)) {
    test(`${what} leaves no file open`, async () => {
      await using tree = await temporaryTree(FILES);
      const cwd = await realpath(tree.path);
      await mkdir(join(cwd, "trust"), { mode: 0o700 });
      // The first time more may be opened that stays, such as a library.
      await act(cwd);
      const before = openDescriptors();
      for (let time = 0; time < 3; time++) await act(cwd);
      // What others have closed meanwhile is not open.
      const after = openDescriptors();
      assert.ok(after <= before, `${after} files are open, ${before} were before`);
    });
  }
});
