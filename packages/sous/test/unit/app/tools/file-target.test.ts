/** Changes between the looks of a write: a folder that is swapped, a file that goes. */

import assert from "node:assert/strict";
import { renameSync, symlinkSync } from "node:fs";
import { chown, readdir, readFile, rename, rm, stat, symlink, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { suite, test } from "node:test";
import { type FileTarget, openTarget } from "../../../../src/app/tools/file-target.ts";
import {
  openKnownFile,
  openWorkspace,
  type ProtectedPaths,
  protectPaths,
  readFolder,
} from "../../../../src/app/tools/workspace.ts";
import { answer, temporaryTree } from "../../../support/app/tools/temporary-tree.ts";
import { contentsOf, edit, write } from "../../../support/app/tools/write-tools.ts";

const CANARY = "the canary sings";
const OUTSIDE = /leads outside the workspace/;
const GONE = /or its folder is gone\. Use list_files/;
const { signal } = new AbortController();

async function besideCanary() {
  const tree = await temporaryTree({
    "work/a/b/old.txt": "old\n",
    "work/.git/b/old.txt": CANARY,
    "outside/b/old.txt": CANARY,
  });
  const work = join(tree.path, "work");
  const workspace = await openWorkspace(work);
  return { tree: tree.path, work, workspace, [Symbol.asyncDispose]: () => tree[Symbol.asyncDispose]() };
}

type Place = Awaited<ReturnType<typeof besideCanary>>;

function openAs(place: Place, path: string, protectedPaths = protectPaths(place.workspace)): Promise<FileTarget> {
  return openTarget(place.workspace, path, { protectedPaths, makeFolders: true });
}

/** Judges as ever, and puts a link in the place of the folder `a` when the judgement before the folder is opened is made. */
function swapping(place: Place, leadsTo: string): ProtectedPaths {
  const judge = protectPaths(place.workspace);
  let judgements = 0;
  return {
    reason(asked, real) {
      judgements += 1;
      if (judgements === 2) {
        renameSync(join(place.work, "a"), join(place.tree, "moved"));
        symlinkSync(leadsTo, join(place.work, "a"));
      }
      return judge.reason(asked, real);
    },
  };
}

/** The folder `a` is another one from now on. */
async function swap(place: Place, leadsTo: string): Promise<void> {
  await rename(join(place.work, "a"), join(place.tree, "moved"));
  await symlink(leadsTo, join(place.work, "a"));
}

/** Runs as a system that does not name open files. */
async function withoutNamedHandles<T>(work: () => Promise<T>): Promise<T> {
  const platform = Object.getOwnPropertyDescriptor(process, "platform");
  assert.ok(platform);
  Object.defineProperty(process, "platform", { ...platform, value: "freebsd" });
  try {
    return await work();
  } finally {
    Object.defineProperty(process, "platform", platform);
  }
}

async function assertNothingStaysOpen(work: () => Promise<void>): Promise<void> {
  const before = (await readdir("/proc/self/fd")).length;
  for (let times = 0; times < 5; times++) await work();
  // What others have closed meanwhile is not open.
  const after = (await readdir("/proc/self/fd")).length;
  assert.ok(after <= before, `${after} files are open, ${before} were before`);
}

suite("B5.1: a folder that is swapped while a file is written", () => {
  const isLinux = process.platform === "linux";
  const rows: [what: string, leadsTo: string, refusal: RegExp][] = [
    ["for a link to a place outside", "../outside", OUTSIDE],
    ["for a link to the settings of git", ".git", /is not written: /],
  ];
  for (const [what, leadsTo, refusal] of rows) {
    test(`B5.1: ${what} is refused, and stays open nowhere`, { skip: !isLinux }, () =>
      assertNothingStaysOpen(async () => {
        await using place = await besideCanary();
        await assert.rejects(openAs(place, "a/b/old.txt", swapping(place, leadsTo)), refusal);
      }),
    );
    test(`B5.1: ${what} is refused where the system does not name open files`, () =>
      withoutNamedHandles(async () => {
        await using place = await besideCanary();
        await assert.rejects(openAs(place, "a/b/old.txt", swapping(place, leadsTo)), OUTSIDE);
      }));
  }

  for (const name of ["old.txt", "new.txt"]) {
    test(`B5.1: a file is not written elsewhere after it was opened: ${name}`, async () => {
      await using place = await besideCanary();
      await using target = await openAs(place, `a/b/${name}`);
      await swap(place, "../outside");
      await assert.rejects(target.replace(Buffer.from("new"), signal), OUTSIDE);
      assert.deepEqual(await contentsOf(join(place.tree, "outside")), { b: "folder", "b/old.txt": CANARY });
      assert.deepEqual(await contentsOf(join(place.tree, "moved")), { b: "folder", "b/old.txt": "old\n" });
    });
    test(`B5.1: a file is not written elsewhere where the system does not name open files either: ${name}`, () =>
      withoutNamedHandles(async () => {
        await using place = await besideCanary();
        await using target = await openAs(place, `a/b/${name}`);
        await swap(place, "../outside");
        await assert.rejects(target.replace(Buffer.from("new"), signal), OUTSIDE);
        assert.deepEqual(await contentsOf(join(place.tree, "outside")), { b: "folder", "b/old.txt": CANARY });
      }));
  }
});

suite("H6: where the system does not name open files", () => {
  test("H6: files are read, listed, written and edited where the system does not name open files", () =>
    withoutNamedHandles(async () => {
      await using place = await besideCanary();
      assert.equal(await answer("read_file", { path: "a/b/old.txt" }, place.work), "1\told");
      assert.equal(await answer("list_files", { path: "a/b" }, place.work), "old.txt");
      assert.equal(await answer("grep", { pattern: "old" }, place.work), "a/b/old.txt:1:old");
      assert.match(await write({ path: "a/c/d/new.txt", content: "new\n" }, place.work), /^Created a\/c\/d\/new\.txt/);
      assert.match(await edit({ path: "a/b/old.txt", old: "old", new: "newer" }, place.work), /^Edited a\/b\/old\.txt/);
      assert.equal(await readFile(join(place.work, "a/c/d/new.txt"), "utf8"), "new\n");
      assert.equal(await readFile(join(place.work, "a/b/old.txt"), "utf8"), "newer\n");
    }));

  test("B5.1: a path that was checked and then led outside by a link is refused", () =>
    withoutNamedHandles(async () => {
      await using place = await besideCanary();
      const file = join(place.work, "a/b/old.txt");
      await swap(place, "../outside");
      await assert.rejects(openKnownFile(place.workspace, file, "a/b/old.txt"), OUTSIDE);
      await assert.rejects(readFolder(place.workspace, join(place.work, "a/b"), "a/b"), OUTSIDE);
    }));
});

test("B4: a place that cannot be looked at counts as one where something lies", async () => {
  await using place = await besideCanary();
  await symlink("loop", join(place.work, "loop"));
  const { reason } = protectPaths(place.workspace);
  const plain = join(place.work, "plain.txt");
  assert.match(
    reason(plain, join(place.work, "loop/config")) ?? "",
    /^it is reached through a link, and with HEAD beside/,
  );
  assert.equal(reason(plain, join(place.work, "a/config")), undefined);
});

suite("H6: a file or folder that changes while a file is written", () => {
  test("H6: a file that is gone before it is read or replaced is said to be gone", async () => {
    await using place = await besideCanary();
    await using target = await openAs(place, "a/b/old.txt");
    await unlink(join(place.work, "a/b/old.txt"));
    await assert.rejects(target.read(), GONE);
    await assert.rejects(target.replace(Buffer.from("new"), signal), GONE);
    assert.deepEqual(await readdir(join(place.work, "a/b")), []);
  });

  test("H6: a folder that is gone before its new file is written is said to be gone", async () => {
    await using place = await besideCanary();
    await using target = await openAs(place, "a/c/new.txt");
    await rm(join(place.work, "a/c"), { recursive: true, maxRetries: 5 });
    await assert.rejects(target.replace(Buffer.from("new"), signal), GONE);
  });

  test("H6: a file that another program makes or changes in the meantime stays as it is", async () => {
    await using place = await besideCanary();
    await using made = await openAs(place, "a/b/new.txt");
    await using changed = await openAs(place, "a/b/old.txt");
    await writeFile(join(place.work, "a/b/new.txt"), "theirs");
    await writeFile(join(place.work, "a/b/old.txt"), "theirs");
    const message = /was changed by another program at this moment\. Read it again/;
    await assert.rejects(changed.read(), message);
    for (const target of [made, changed]) await assert.rejects(target.replace(Buffer.from("ours"), signal), message);
    assert.deepEqual(await contentsOf(join(place.work, "a/b")), { "new.txt": "theirs", "old.txt": "theirs" });
  });

  const isPrivileged = process.getuid?.() === 0;
  test("H6: a file keeps its owner when it is replaced by a privileged user", { skip: !isPrivileged }, async () => {
    await using place = await besideCanary();
    const file = join(place.work, "a/b/old.txt");
    await chown(file, 4321, 1234);
    assert.match(await write({ path: "a/b/old.txt", content: "new" }, place.work), /^Replaced/);
    const { uid, gid } = await stat(file);
    assert.deepEqual([uid, gid, await readFile(file, "utf8")], [4321, 1234, "new"]);
  });
});

test("two edits of one file at the same moment both stay, through whatever folder each names it", async () => {
  await using tree = await temporaryTree({ "a/count.txt": "1\n2\n3\n" });
  await symlink("a", join(tree.path, "b"));
  const edits = await Promise.all([
    edit({ path: "a/count.txt", old: "1", new: "one" }, tree.path),
    edit({ path: "b/count.txt", old: "2", new: "two" }, tree.path),
    edit({ path: "a/../a/count.txt", old: "3", new: "three" }, tree.path),
  ]);
  for (const said of edits) assert.match(said, /^Edited a\/count\.txt/);
  assert.equal(await readFile(join(tree.path, "a/count.txt"), "utf8"), "one\ntwo\nthree\n");
});
