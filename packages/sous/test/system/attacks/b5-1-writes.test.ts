/** B5.1 and B4.5: paths that try to lead the tools that write to another place. Judged by what is on disk afterwards. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { link, mkdir, readFile, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { temporaryTree } from "../../support/app/tools/temporary-tree.ts";
import { answerOf, contentsOf, edit, write } from "../../support/app/tools/write-tools.ts";
import { importWithout } from "../../support/mutation.ts";

const CANARY = "the canary sings\n";

/** A workspace beside things that must stay as they are, with links that lead to them. */
async function besideCanaries() {
  const tree = await temporaryTree({
    "work/src/inside.txt": "inside\n",
    "work/.git/hooks/": "",
    "work/.git/config": CANARY,
    "work-evil/canary.txt": CANARY,
    "outside/canary.txt": CANARY,
    "canary.txt": CANARY,
  });
  const work = join(tree.path, "work");
  await symlink("../canary.txt", join(work, "file-link"));
  await symlink("../nowhere.txt", join(work, "new-file-link"));
  await symlink("../outside", join(work, "folder-link"));
  await symlink("../new-folder", join(work, "new-folder-link"));
  await symlink("file-link", join(work, "link-to-link"));
  await symlink("src/inside.txt", join(work, "inner-link"));
  await symlink(".git/hooks", join(work, "hooks-link"));
  await symlink("../.git", join(work, "src/git-link"));
  await symlink("loop-link", join(work, "loop-link"));
  await link(join(tree.path, "canary.txt"), join(work, "hard-link"));
  execFileSync("mkfifo", [join(work, "pipe")]);
  return { tree: tree.path, work, [Symbol.asyncDispose]: () => tree[Symbol.asyncDispose]() };
}

suite("B5.1: nothing outside the workspace is written", () => {
  const ways = (tree: string): Record<string, string> => ({
    "two dots": "../canary.txt",
    "two dots to a new file": "../new.txt",
    "two dots inside a path": "src/../../canary.txt",
    "two dots behind a folder that is not there": "no/../../canary.txt",
    "an absolute path": join(tree, "canary.txt"),
    "a folder whose name begins alike": "../work-evil/canary.txt",
    "the same by an absolute path": join(tree, "work-evil/canary.txt"),
    "a link to a file": "file-link",
    "a link to a file that is not there": "new-file-link",
    "a link to a link": "link-to-link",
    "a file behind a link to a folder": "folder-link/canary.txt",
    "a new file behind a link to a folder": "folder-link/new.txt",
    "new folders behind a link to a folder": "folder-link/a/b/new.txt",
    "a new file behind a link to a folder that is not there": "new-folder-link/new.txt",
    "a link that leads to itself": "loop-link",
    "a file behind a link that leads to itself": "loop-link/x",
    "a link inside the workspace": "inner-link",
    "a pipe": "pipe",
    "a device": "/dev/full",
    "a file of the system": "/proc/self/comm",
    "the top folder": ".",
    "a folder": "src",
    "a folder with a slash": "src/",
    "a new name with a slash": "new/",
    "a file as a folder": "src/inside.txt/new",
    "a NUL byte": "src/inside.txt\0.md",
    "a name that is too long": "n".repeat(300),
    "a path that is too long": `${"n/".repeat(3000)}x`,
    "a path of too many folders": `${"n/".repeat(1000)}x`,
    "a file behind a link to the hooks of git": "hooks-link/pre-commit",
    "a file behind a link to git": "src/git-link/config",
  });
  // Nothing changes, so the rows share a place.
  let place: Awaited<ReturnType<typeof besideCanaries>>;
  before(async () => {
    place = await besideCanaries();
  });
  after(() => place[Symbol.asyncDispose]());
  for (const way of Object.keys(ways(""))) {
    test(`B5.1: nothing outside the workspace is written by ${way}`, async () => {
      const path = ways(place.tree)[way] ?? "";
      const whole = await contentsOf(place.tree);
      assert.match(await write({ path, content: "taken" }, place.work), /^failed: /);
      assert.match(await edit({ path, old: "canary", new: "taken" }, place.work), /^failed: /);
      assert.deepEqual(await contentsOf(place.tree), whole);
    });
  }

  test("B5.1: two dots behind a link go back in the text, not behind the link", async () => {
    await using place = await besideCanaries();
    assert.match(
      await write({ path: "folder-link/../canary.txt", content: "mine" }, place.work),
      /^Created canary.txt/,
    );
    assert.equal(await readFile(join(place.tree, "canary.txt"), "utf8"), CANARY);
    assert.equal(await readFile(join(place.work, "canary.txt"), "utf8"), "mine");
  });

  test("B5.1: a socket is not written", async () => {
    await using place = await besideCanaries();
    const server = createServer().listen(join(place.work, "socket"));
    await new Promise((resolve) => server.once("listening", resolve));
    assert.match(await write({ path: "socket", content: "taken" }, place.work), /^failed: .*not a regular file/);
    await new Promise((resolve) => server.close(resolve));
  });

  test("B5.1: a hard link to a file outside is neither replaced nor edited, and nothing of it is shown", async () => {
    await using place = await besideCanaries();
    const whole = await contentsOf(place.tree);
    assert.match(await write({ path: "hard-link", content: "mine" }, place.work), /^failed: hard-link is a hard link/);
    const edited = await edit({ path: "hard-link", old: "sings", new: "is mute" }, place.work);
    assert.match(edited, /^failed: hard-link is a hard link/);
    assert.doesNotMatch(edited, /canary/);
    assert.deepEqual(await contentsOf(place.tree), whole);
  });

  test("B5.1: no write reaches the outside in 200 races with a folder that becomes a link to the outside", async () => {
    await using place = await besideCanaries();
    const at = (name: string): string => join(place.work, name);
    await mkdir(at("real"));
    await symlink("../outside", at("link"));
    await rename(at("real"), at("race"));
    let written = 0;
    for (let race = 0; race < 200; race++) {
      const path = race % 2 === 0 ? "race/new.txt" : `race/deep${race}/new.txt`;
      const writing = write({ path, content: "taken" }, place.work);
      // Swapped at another moment of the write each time.
      for (let pause = 0; pause < race % 10; pause++) await stat(place.work);
      await rename(at("race"), at("real"));
      // In between there is no folder of this name, and the write may make one.
      while (!(await isRenamed(at("link"), at("race")))) await rm(at("race"), { recursive: true, maxRetries: 5 });
      if ((await writing).startsWith("Created") || (await writing).startsWith("Replaced")) written += 1;
      await rename(at("race"), at("link"));
      await rename(at("real"), at("race"));
    }
    assert.deepEqual(await contentsOf(join(place.tree, "outside")), { "canary.txt": CANARY });
    assert.notEqual(written, 200);
  });

  test("B5.1: the folder that was opened is asked where it lies, should the check before it be deceived", async () => {
    await using place = await besideCanaries();
    const tools = import.meta.resolve("../../../src/app/tools/edit-file.ts");
    const deceived = await importWithout<typeof import("../../../src/app/tools/edit-file.ts")>(tools, {
      guard: "real-folder-inside",
    });
    const input = { path: "folder-link/new.txt", content: "taken" };
    assert.match(await answerOf(deceived.writeFileTool(), input, place.work), /^failed: .* outside the workspace/);
    assert.deepEqual(await contentsOf(join(place.tree, "outside")), { "canary.txt": CANARY });
  });
});

/** False when a folder is in the way. */
async function isRenamed(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EISDIR") return false;
    throw error;
  }
}

suite("B4.5: a file that other programs obey is not written, there or not", () => {
  const protectedNames: readonly string[] = [
    ".sous/config.yaml",
    ".sous/agents/helper.md",
    ".sous",
    ".claude/agents/helper.md",
    ".claude/settings.json",
    ".gemini/settings.json",
    ".opencode/agent/helper.md",
    ".mcp.json",
    ".git/config",
    ".git/hooks/pre-commit",
    ".git/HEAD",
    ".git",
    "package/.git/config",
    "package/.git",
    ".GIT/config",
    ".Git/hooks/post-checkout",
    ".git./config",
    ".git /config",
    ".git::$INDEX_ALLOCATION/config",
    ".g\u200cit/config",
    ".\uff47it/config",
    ".Sous/Config.yaml",
    ".SOUS/new.yaml",
    ".MCP.JSON",
    ".vscode/tasks.json",
    ".idea/workspace.xml",
    ".bashrc",
    "home/.zshrc",
    ".profile",
    ".envrc",
    ".config/fish/config.fish",
    "./src/../.git/config",
    "src/git-link/hooks/pre-commit",
    "hooks-link/pre-commit",
  ];
  let place: Awaited<ReturnType<typeof besideCanaries>>;
  before(async () => {
    place = await besideCanaries();
  });
  after(() => place[Symbol.asyncDispose]());
  for (const path of protectedNames) {
    test(`B4.5: ${JSON.stringify(path)} is not written`, async () => {
      const whole = await contentsOf(place.tree);
      assert.match(await write({ path, content: "obey" }, place.work), /^failed: .* is not written: /);
      assert.match(await edit({ path, old: "canary", new: "obey" }, place.work), /^failed: .* is not written: /);
      assert.deepEqual(await contentsOf(place.tree), whole);
    });
  }

  test("B4.5: the files of sous in the workspace are not written, by any name", async () => {
    await using place = await besideCanaries();
    await mkdir(join(place.work, "state/trust"), { recursive: true });
    await writeFile(join(place.work, "state/sous.db"), CANARY);
    await symlink("state", join(place.work, "state-link"));
    const refused = [join(place.work, "state/sous.db"), join(place.work, "state/trust"), "/nowhere/config.yaml"];
    const guards = { top: place.work, refused };
    const whole = await contentsOf(place.tree);
    const paths = ["sous.db", "SOUS.DB", "sous.db-wal", "sous.db-shm", "trust/new.json", "trust", "Trust/a/b.json"];
    for (const path of paths.flatMap((name) => [`state/${name}`, `state-link/${name}`])) {
      assert.match(await write({ path, content: "obey" }, place.work, { guards }), /^failed: /, path);
    }
    assert.deepEqual(await contentsOf(place.tree), whole);
    assert.match(await write({ path: "state/sous.dbx", content: "" }, place.work, { guards }), /^Created/);
  });

  test("B4.5: names that only look alike are written", async () => {
    await using place = await besideCanaries();
    const paths = [
      "AGENTS.md",
      ".gitignore",
      ".github/workflows/ci.yaml",
      "git/config",
      "src/sous/config.yaml",
      "mcp.json",
    ];
    for (const path of paths) assert.match(await write({ path, content: "x" }, place.work), /^Created/, path);
  });

  test("B4.5: without the check of names the same write is made, so the rows above can fail", async () => {
    await using place = await besideCanaries();
    const tools = import.meta.resolve("../../../src/app/tools/edit-file.ts");
    const { writeFileTool } = await importWithout<typeof import("../../../src/app/tools/edit-file.ts")>(tools, {
      guard: "protected-names",
    });
    const input = { path: "hooks-link/pre-commit", content: "obey" };
    assert.match(await answerOf(writeFileTool(), input, place.work), /^Created \.git\/hooks\/pre-commit/);
  });
});
