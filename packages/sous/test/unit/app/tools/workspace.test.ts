import assert from "node:assert/strict";
import { mkdir, rename, symlink, unlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { suite, test } from "node:test";
import { openKnownFile, openWorkspace, readFolder } from "../../../../src/app/tools/workspace.ts";
import { ToolFailure } from "../../../../src/core/errors.ts";
import { answer, temporaryTree } from "../../../support/app/tools/temporary-tree.ts";

const CANARY = "the canary sings";
const OUTSIDE = /^failed: .* leads outside the workspace\. Give a path inside it/;

/** A workspace beside things that must never be read, with links that lead to them. */
async function besideCanaries() {
  const tree = await temporaryTree({
    "work/src/inside.txt": "inside\n",
    "work-evil/canary.txt": CANARY,
    "outside/canary.txt": CANARY,
    "outside/.gitignore": "inside.txt\n",
    "canary.txt": CANARY,
  });
  const work = join(tree.path, "work");
  await symlink("../canary.txt", join(work, "file-link"));
  await symlink("../outside", join(work, "folder-link"));
  await symlink("file-link", join(work, "link-to-link"));
  await symlink("src/inside.txt", join(work, "good-link"));
  await symlink("nowhere", join(work, "broken-link"));
  await symlink("loop-link", join(work, "loop-link"));
  return { tree: tree.path, work, [Symbol.asyncDispose]: () => tree[Symbol.asyncDispose]() };
}

suite("B5.1: nothing outside the workspace is read", async () => {
  const ways = (tree: string): Record<string, string> => ({
    "two dots": "../canary.txt",
    "two dots inside a path": "src/../../canary.txt",
    "an absolute path": join(tree, "canary.txt"),
    "a folder whose name begins alike": "../work-evil/canary.txt",
    "the same by an absolute path": join(tree, "work-evil/canary.txt"),
    "a link to a file": "file-link",
    "a link to a link": "link-to-link",
    "a file behind a link to a folder": "folder-link/canary.txt",
    "a device": "/dev/zero",
    "the memory of this process": "/proc/self/environ",
  });
  for (const way of Object.keys(ways(""))) {
    test(`nothing outside is read by ${way}`, async () => {
      await using place = await besideCanaries();
      const path = ways(place.tree)[way] ?? "";
      assert.match(await answer("read_file", { path }, place.work), OUTSIDE);
      assert.match(await answer("grep", { pattern: "canary", path }, place.work), OUTSIDE);
    });
  }

  test("grep, glob and list_files do not look into a folder behind a link, or above", async () => {
    await using place = await besideCanaries();
    for (const path of ["folder-link", "..", "../outside", place.tree, "/"]) {
      assert.match(await answer("list_files", { path }, place.work), OUTSIDE);
      assert.match(await answer("glob", { pattern: "**", path }, place.work), OUTSIDE);
      assert.match(await answer("grep", { pattern: "canary", path }, place.work), OUTSIDE);
    }
  });

  test("a search of the whole workspace follows no link", async () => {
    await using place = await besideCanaries();
    assert.equal(await answer("grep", { pattern: "canary" }, place.work), "No matches.");
    assert.equal(await answer("glob", { pattern: "**" }, place.work), "src/inside.txt");
    assert.match(await answer("glob", { pattern: "../**" }, place.work), /^failed: .* is not a pattern inside/);
  });

  test("a path that was checked and then led outside by a link in its last or an earlier place is not read", async () => {
    await using place = await besideCanaries();
    const workspace = await openWorkspace(place.work);
    await mkdir(join(place.tree, "outside/below"));
    for (const path of ["file-link", "folder-link/canary.txt", "folder-link/.gitignore"]) {
      await assert.rejects(openKnownFile(workspace, join(place.work, path), path), ToolFailure);
    }
    for (const path of ["folder-link", "folder-link/below"]) {
      await assert.rejects(readFolder(workspace, join(place.work, path), path), ToolFailure);
    }
  });

  test("a link that takes the place of a file between check and open is not followed", async () => {
    await using place = await besideCanaries();
    const path = join(place.work, "swapped.txt");
    await assertNeverSings(200, "swapped.txt", place.work, async () => {
      await writeFile(`${path}.new`, "inside");
      await rename(`${path}.new`, path);
      await unlink(path);
      await symlink("../canary.txt", path);
      await unlink(path);
    });
  });

  test("a link that takes the place of a folder between check and open is not followed", async () => {
    await using place = await besideCanaries();
    const path = join(place.work, "swapped");
    await mkdir(join(place.work, "kept"));
    await writeFile(join(place.work, "kept/canary.txt"), "inside");
    await assertNeverSings(100, "swapped/canary.txt", place.work, async () => {
      await rename(join(place.work, "kept"), path);
      await rename(path, join(place.work, "kept"));
      await symlink("../outside", path);
      await unlink(path);
    });
  });
});

/** Reads a path again and again, by all tools, while `swap` changes what lies there. */
async function assertNeverSings(times: number, path: string, work: string, swap: () => Promise<void>): Promise<void> {
  let isOver = false;
  let swaps = 0;
  const swapping = (async () => {
    for (; !isOver; swaps++) await swap();
  })();
  const answers = new Set<string>();
  const isRace = () => answers.size > 3;
  try {
    for (let index = 0; index < times || (!isRace() && index < 20 * times); index++) {
      // On a single core both may go in step, and the reads would always come at the same moment of a swap.
      for (let turns = index % 7; turns > 0; turns--) await new Promise((next) => setImmediate(next));
      answers.add(await answer("read_file", { path }, work));
      answers.add(await answer("grep", { pattern: "." }, work));
      answers.add(await answer("list_files", { path: path.split("/")[0] ?? "" }, work));
    }
  } finally {
    isOver = true;
    await swapping;
  }
  for (const each of answers) assert.ok(!each.includes(CANARY) && !each.includes(".gitignore"), each);
  // The race was real: the reads saw the path in more than one state.
  assert.ok(swaps > 0 && isRace(), JSON.stringify([swaps, ...answers]));
}

suite("B5.1: only regular files are opened", () => {
  test("a socket is refused", async () => {
    await using place = await besideCanaries();
    await using server = createServer();
    await new Promise<void>((resolve) => server.listen(join(place.work, "socket"), resolve));
    assert.equal(
      await answer("read_file", { path: "socket" }, place.work),
      "failed: socket is not a regular file (a device, pipe, socket or link) and is not opened.",
    );
  });

  test("a device inside the workspace is refused", async () => {
    assert.equal(
      await answer("read_file", { path: "zero" }, "/dev"),
      "failed: zero is not a regular file (a device, pipe, socket or link) and is not opened.",
    );
  });
});

suite("paths inside the workspace", () => {
  test("a link that stays inside works, and so does an absolute path", async () => {
    await using place = await besideCanaries();
    assert.equal(await answer("read_file", { path: "good-link" }, place.work), "1\tinside");
    assert.equal(await answer("read_file", { path: join(place.work, "src/inside.txt") }, place.work), "1\tinside");
    assert.equal(await answer("read_file", { path: "./src/../src/inside.txt" }, place.work), "1\tinside");
  });

  test("a workspace that is reached through a link is a workspace", async () => {
    await using place = await besideCanaries();
    await symlink("work", join(place.tree, "work-link"));
    assert.equal(await answer("read_file", { path: "src/inside.txt" }, join(place.tree, "work-link")), "1\tinside");
    assert.match(await answer("read_file", { path: "../canary.txt" }, join(place.tree, "work-link")), OUTSIDE);
  });

  test("a workspace that is not there is named", async () => {
    await using tree = await temporaryTree();
    const gone = join(tree.path, "gone");
    const message = `failed: No folder at ${gone}. Use list_files on its parent to see the names.`;
    assert.equal(await answer("list_files", {}, gone), message);
    assert.equal(await answer("read_file", { path: "a" }, gone), message);
  });

  test("a name that begins with two dots is a name", async () => {
    await using tree = await temporaryTree({ "..rc": "a", "...": "b" });
    assert.equal(await answer("read_file", { path: "..rc" }, tree.path), "1\ta");
    assert.equal(await answer("read_file", { path: "..." }, tree.path), "1\tb");
  });

  test("a failure says what to try next", async () => {
    await using place = await besideCanaries();
    const failures = {
      missing: await answer("read_file", { path: "src/nothing.ts" }, place.work),
      below: await answer("read_file", { path: "src/inside.txt/x" }, place.work),
      broken: await answer("read_file", { path: "broken-link" }, place.work),
      loop: await answer("read_file", { path: "loop-link" }, place.work),
      folder: await answer("read_file", { path: "src" }, place.work),
      file: await answer("list_files", { path: "src/inside.txt" }, place.work),
      missingFolder: await answer("list_files", { path: "lib" }, place.work),
      nul: await answer("read_file", { path: "a\0b" }, place.work),
      long: await answer("read_file", { path: "x".repeat(300) }, place.work),
    };
    assert.deepEqual(failures, {
      missing: "failed: No file at src/nothing.ts. Use glob to find its name.",
      below: "failed: No file at src/inside.txt/x. Use glob to find its name.",
      broken: "failed: No file at broken-link. Use glob to find its name.",
      loop: "failed: loop-link is a link that leads nowhere. Name the file itself.",
      folder: "failed: src is a folder. Use list_files to see what it holds.",
      file: "failed: src/inside.txt is not a folder. Use read_file for a file.",
      missingFolder: "failed: No folder at lib. Use list_files on its parent to see the names.",
      nul: "failed: A path cannot hold a NUL byte.",
      long: `failed: The path is too long: ${"x".repeat(80)}…`,
    });
  });
});
