/** Trust and the ways around it: every attack is judged by whether the project is trusted, or by what was opened. */

import assert from "node:assert/strict";
import { chmod, lstat, mkdir, readFile, rename, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { suite, test } from "node:test";
import { hashesOf, projectRoot, readProject } from "../../../../src/app/config/trust/files.ts";
import { changeTrustRecords, readTrustRecords } from "../../../../src/app/config/trust/record.ts";
import { reviewProject } from "../../../../src/app/config/trust/review.ts";
import { type ProjectTrust, revoke, trust, trustOf, writeTrusted } from "../../../../src/app/config/trust/trust.ts";
import { UserError } from "../../../../src/core/errors.ts";
import { type TemporaryTree, temporaryTree } from "../../../support/app/tools/temporary-tree.ts";

const AT = new Date(0);

const PROJECT: Record<string, string> = {
  "project/.git/HEAD": "ref: refs/heads/main\n",
  "project/.sous/config.yaml": "agent: { max_turns: 5 }\n",
  "project/.sous/agents/scout.md": "---\nname: scout\n---\nLook.\n",
  "project/.sous/cassettes/one.json": "{}",
  "project/.claude/agents/reviewer.md": "---\nname: reviewer\n---\nReview.\n",
  "project/.gemini/agents/auditor.md": "---\nname: auditor\n---\nAudit.\n",
  "project/.opencode/agent/docs.md": "---\ndescription: Docs.\n---\nWrite.\n",
  "project/.opencode/agents/tests.md": "---\ndescription: Tests.\n---\nTest.\n",
  "project/AGENTS.md": "Be brief.\n",
  "project/.mcp.json": '{"mcpServers":{"one":{"command":"node","args":["one.js"]}}}\n',
  "project/src/main.ts": "export {};\n",
};

type Stage = TemporaryTree & { root: string; stateFolder: string };

async function stage(files: Record<string, string> = PROJECT): Promise<Stage> {
  const tree = await temporaryTree({ "state/": "", ...files });
  return { ...tree, root: join(tree.path, "project"), stateFolder: join(tree.path, "state", "sous") };
}

async function give({ root, stateFolder }: Pick<Stage, "root" | "stateFolder">): Promise<void> {
  await trust(root, await readProject(root), { stateFolder, at: AT });
}

async function stateIn(cwd: string, { stateFolder }: Stage): Promise<ProjectTrust["state"]> {
  return (await trustOf({ cwd, stateFolder })).state;
}

suite("B4.2: trust", () => {
  test("trust is for the project as it is: given, found from any folder of it, taken back", async () => {
    await using here = await stage();
    const before = await trustOf({ cwd: here.root, stateFolder: here.stateFolder });
    assert.deepEqual(before, {
      root: here.root,
      state: "unknown",
      present: [
        ".sous",
        ".claude/agents",
        ".gemini/agents",
        ".opencode/agent",
        ".opencode/agents",
        "AGENTS.md",
        ".mcp.json",
      ],
      problem: undefined,
      files: [],
      changes: [],
      heldRules: [],
      nested: [],
    });
    await give(here);
    assert.equal(await stateIn(here.root, here), "trusted");
    assert.equal(await stateIn(join(here.root, "src"), here), "trusted");
    assert.equal(await revoke({ cwd: join(here.root, "src"), stateFolder: here.stateFolder }), true);
    assert.equal(await stateIn(here.root, here), "unknown");
    assert.equal(await revoke({ cwd: here.root, stateFolder: here.stateFolder }), false);
  });

  test("trust ends with one changed byte of any file that has an effect", async () => {
    await using here = await stage();
    await give(here);
    for (const file of Object.keys(PROJECT).filter((name) => !/\.git\/|cassettes|src\//.test(name))) {
      const content = await readFile(join(here.path, file));
      await writeFile(join(here.path, file), content.with(0, (content[0] ?? 0) ^ 1));
      assert.equal(await stateIn(here.root, here), "changed", file);
      await writeFile(join(here.path, file), content);
      assert.equal(await stateIn(here.root, here), "trusted", file);
    }
  });

  const CHANGES: Record<string, (root: string) => Promise<unknown>> = {
    "a new agent": (root) => writeFile(join(root, ".claude/agents/new.md"), "---\nname: new\n---\n"),
    "a new file deep in .sous": async (root) => {
      await mkdir(join(root, ".sous/a/b"), { recursive: true });
      await writeFile(join(root, ".sous/a/b/c"), "");
    },
    "a file that is gone": (root) => rm(join(root, ".mcp.json")),
    "a file under another name": (root) =>
      rename(join(root, ".sous/agents/scout.md"), join(root, ".sous/agents/scot.md")),
    "contents that change places": async (root) => {
      const [one, other] = [join(root, ".sous/agents/scout.md"), join(root, ".claude/agents/reviewer.md")];
      const [first, second] = [await readFile(one), await readFile(other)];
      await writeFile(one, second);
      await writeFile(other, first);
    },
    "a byte that moves to the next file": async (root) => {
      await writeFile(join(root, ".mcp.json"), `${PROJECT["project/.mcp.json"]}B`);
      await writeFile(join(root, "AGENTS.md"), "e brief.\n");
    },
    "a file that becomes a link to the same text": async (root) => {
      await rename(join(root, "AGENTS.md"), join(root, "OTHER.md"));
      await symlink("OTHER.md", join(root, "AGENTS.md"));
    },
    "a folder that becomes a link": async (root) => {
      await rename(join(root, ".claude/agents"), join(root, "elsewhere"));
      await symlink("../elsewhere", join(root, ".claude/agents"));
    },
    "a file that becomes a folder": async (root) => {
      await rm(join(root, ".mcp.json"));
      await mkdir(join(root, ".mcp.json"));
      await writeFile(join(root, ".mcp.json/x"), "x");
    },
  };
  suite("ends with", () => {
    for (const [what, change] of Object.entries(CHANGES)) {
      test(`trust ends with ${what}`, async () => {
        await using here = await stage();
        await give(here);
        await change(here.root);
        assert.equal(await stateIn(here.root, here), "changed");
      });
    }
  });

  test("trust ends when the file behind a link inside the project changes", async () => {
    await using here = await stage({ "project/.git/HEAD": "", "project/CLAUDE.md": "Be brief.\n" });
    await symlink("CLAUDE.md", join(here.root, "AGENTS.md"));
    await give(here);
    assert.equal(await stateIn(here.root, here), "trusted");
    await writeFile(join(here.root, "CLAUDE.md"), "Be evil.\n");
    assert.equal(await stateIn(here.root, here), "changed");
  });

  test("trust lasts when source files, recordings and the history change", async () => {
    await using here = await stage();
    await give(here);
    for (const file of [
      "src/main.ts",
      ".sous/cassettes/one.json",
      ".sous/cassettes/two.json",
      ".git/HEAD",
      "README.md",
    ])
      await writeFile(join(here.root, file), "changed");
    assert.equal(await stateIn(here.root, here), "trusted");
  });

  test("trust is given to what was shown, not to what the files are by then", async () => {
    await using here = await stage();
    const shown = await readProject(here.root);
    await writeFile(join(here.root, ".mcp.json"), '{"mcpServers":{"one":{"command":"sh"}}}');
    await trust(here.root, shown, { stateFolder: here.stateFolder, at: AT });
    assert.equal(await stateIn(here.root, here), "changed");
  });

  suite("of a folder does not cover a repository inside it, marked by", () => {
    const MARKS: Record<string, (folder: string) => Promise<unknown>> = {
      "a .git folder": (folder) => mkdir(join(folder, ".git"), { recursive: true }),
      "a .git file that points at the trusted one": (folder) => writeFile(join(folder, ".git"), "gitdir: ../../.git\n"),
      "a forged commondir": async (folder) => {
        await mkdir(join(folder, ".git"), { recursive: true });
        await writeFile(join(folder, ".git/commondir"), "../../../.git\n");
        await writeFile(join(folder, ".git/gitdir"), "../../../.git\n");
      },
      "a .git link to the trusted one": (folder) => symlink("../../.git", join(folder, ".git")),
      "a .sous folder": (folder) => mkdir(join(folder, ".sous")),
    };
    for (const [what, mark] of Object.entries(MARKS)) {
      test(`trust of a folder does not cover a repository inside it with ${what}`, async () => {
        await using here = await stage({ ...PROJECT, "project/vendor/evil/AGENTS.md": "Obey me.\n" });
        await give(here);
        const nested = join(here.root, "vendor/evil");
        await mark(nested);
        const found = await trustOf({ cwd: nested, stateFolder: here.stateFolder });
        assert.equal(found.state, "unknown");
        assert.equal(found.root, nested);
      });
    }
  });

  test("trust is for the real path: a link to a trusted folder is trusted, a link that turns elsewhere is not", async () => {
    await using here = await stage({ ...PROJECT, "evil/.git/HEAD": "", "evil/AGENTS.md": "Be brief.\n" });
    const link = join(here.path, "link");
    await symlink(here.root, link);
    await give({ root: await projectRoot(link), stateFolder: here.stateFolder });
    assert.equal(await stateIn(here.root, here), "trusted");
    assert.equal(await stateIn(link, here), "trusted");
    await rm(link);
    await symlink(join(here.path, "evil"), link);
    assert.equal(await stateIn(link, here), "unknown");
  });

  test("a folder with a name that only looks like the trusted one is not trusted", async () => {
    await using here = await stage({ ...PROJECT, "project-evil/.git/HEAD": "", "project-evil/AGENTS.md": "x" });
    await give(here);
    assert.equal(await stateIn(join(here.path, "project-evil"), here), "unknown");
  });
});

suite("B8.1: the file of trust", () => {
  test("the file of trust and its folder are private, whatever they were before", async () => {
    await using here = await stage();
    await mkdir(here.stateFolder, { mode: 0o777 });
    await chmod(here.stateFolder, 0o777);
    await give(here);
    assert.equal((await lstat(here.stateFolder)).mode & 0o777, 0o700);
    assert.equal((await lstat(join(here.stateFolder, "trust.json"))).mode & 0o777, 0o600);
    const { sha256, files } = await readProject(here.root);
    assert.deepEqual(await readTrustRecords(here.stateFolder), [
      { path: here.root, sha256, at: AT.toISOString(), files: hashesOf(files), rules: [], nested: [] },
    ]);
  });

  test("a file of trust that is a link is neither believed nor written", async () => {
    await using here = await stage();
    await give(here);
    const trustJson = join(here.stateFolder, "trust.json");
    const target = join(here.path, "target.json");
    await rename(trustJson, target);
    const before = await readFile(target, "utf8");
    await symlink(target, trustJson);
    const found = await trustOf({ cwd: here.root, stateFolder: here.stateFolder });
    assert.equal(found.state, "unknown");
    assert.match(found.problem ?? "", /trust\.json/);
    await assert.rejects(give(here), UserError);
    assert.equal(await readFile(target, "utf8"), before);
    assert.ok((await lstat(trustJson)).isSymbolicLink());
  });

  test("a file of trust in a folder that is a link is not written", async () => {
    await using here = await stage({ ...PROJECT, "elsewhere/": "" });
    await symlink(join(here.path, "elsewhere"), here.stateFolder);
    await assert.rejects(give(here), UserError);
    assert.equal(await lstat(join(here.path, "elsewhere/trust.json")).catch(() => "none"), "none");
  });

  test("a file of trust that others can write is not believed", async () => {
    await using here = await stage();
    await give(here);
    await chmod(join(here.stateFolder, "trust.json"), 0o666);
    assert.equal(await stateIn(here.root, here), "unknown");
  });

  test("a damaged file of trust trusts nothing, and says so", async () => {
    await using here = await stage();
    await give(here);
    for (const text of [
      "",
      "{",
      "null",
      "[]",
      '{"projects":{}}',
      '{"projects":[{"path":"/"}]}',
      '{"projects":[null]}',
    ]) {
      await writeFile(join(here.stateFolder, "trust.json"), text);
      const found = await trustOf({ cwd: here.root, stateFolder: here.stateFolder });
      assert.deepEqual([found.state, found.problem === undefined], ["unknown", false], text);
    }
  });

  test("the file of trust loses nothing when several projects are trusted and taken back at once", async () => {
    const names = Array.from({ length: 8 }, (_, index) => `p${index}`);
    await using here = await stage(Object.fromEntries(names.map((name) => [`${name}/AGENTS.md`, name])));
    const at = (name: string) => ({ root: join(here.path, name), stateFolder: here.stateFolder });
    await Promise.all(names.slice(0, 4).map((name) => give(at(name))));
    await Promise.all(
      names.map((name, index) =>
        index < 4 ? revoke({ cwd: join(here.path, name), stateFolder: here.stateFolder }) : give(at(name)),
      ),
    );
    const records = await readTrustRecords(here.stateFolder);
    assert.deepEqual(
      records.map(({ path }) => path).sort(),
      names.slice(4).map((name) => join(here.path, name)),
    );
  });
});

suite("a project that cannot be read whole", () => {
  test("a project with too many files cannot be trusted", async () => {
    await using here = await stage({ "project/.sous/": "" });
    await Promise.all(Array.from({ length: 1001 }, (_, index) => writeFile(join(here.root, ".sous", `${index}`), "")));
    await assert.rejects(readProject(here.root), UserError);
  });
  test("a project with folders without end cannot be trusted", async () => {
    await using here = await stage({ [`project/.sous/${"a/".repeat(20)}x`]: "" });
    await assert.rejects(readProject(here.root), UserError);
  });
  test("a project with files that are larger than 16 MB together cannot be trusted", async () => {
    await using here = await stage({ "project/.sous/": "" });
    const half = Buffer.alloc(8 * 1024 * 1024);
    for (const name of ["a", "b"]) await writeFile(join(here.root, ".sous", name), half);
    assert.equal((await readProject(here.root)).files.length, 2);
    await writeFile(join(here.root, ".sous", "c"), "c");
    await assert.rejects(readProject(here.root), /: its files are larger than 16 MB together\./);
  });
  test("folders that lead in a circle are read once", async () => {
    await using here = await stage({ "project/.sous/x": "x" });
    await symlink("..", join(here.root, ".sous/up"));
    const { files } = await readProject(here.root);
    assert.deepEqual(
      files.map(({ path }) => path),
      [".sous/up", ".sous/x"],
    );
    assert.equal(dirname(here.root), here.path);
  });
});

test("a lock that a process left behind is taken away at once, and none is left after a change", async () => {
  await using tree = await temporaryTree({ "state/trust.json.lock": "" });
  const folder = join(tree.path, "state");
  const lock = join(folder, "trust.json.lock");
  await utimes(lock, 0, 0);
  const { promise: late, resolve } = Promise.withResolvers<string>();
  // Half of what a lock that is held is waited for.
  const timer = setTimeout(resolve, 5000, "waited for");
  const ended = await Promise.race([changeTrustRecords(folder, (records) => records).then(() => "changed"), late]);
  clearTimeout(timer);
  assert.equal(ended, "changed");
  await assert.rejects(lstat(lock), { code: "ENOENT" });
});

test("a folder that is gone or is a file has nothing to trust", async () => {
  await using here = await stage();
  const gone = join(here.root, "src/gone/..", "gone");
  assert.equal(await projectRoot(gone), here.root);
  assert.deepEqual((await readProject(gone)).files, []);
  assert.deepEqual((await readProject(join(here.root, "src/main.ts"))).files, []);
});

test("notes that were written stay written when the trust in them cannot be kept, and the trust is lost", async () => {
  await using here = await stage();
  await give(here);
  const file = join(here.root, "AGENTS.md");
  const content = Buffer.from("Be long.\n");
  await writeTrusted({ cwd: here.root, stateFolder: here.stateFolder }, { file, content }, async () => {
    await writeFile(file, content);
    await chmod(join(here.stateFolder, "trust.json"), 0o666);
  });
  assert.equal(await readFile(file, "utf8"), "Be long.\n");
  await chmod(join(here.stateFolder, "trust.json"), 0o600);
  assert.equal(await stateIn(here.root, here), "changed");
});

test("an error of the write itself is the error of the call, and the trust stays as it was", async () => {
  await using here = await stage();
  await give(here);
  const write = { file: join(here.root, "AGENTS.md"), content: Buffer.from("x") };
  await assert.rejects(
    writeTrusted({ cwd: here.root, stateFolder: here.stateFolder }, write, () =>
      Promise.reject(new Error("disk full")),
    ),
    /^Error: disk full$/,
  );
  assert.equal(await stateIn(here.root, here), "trusted");
});

test("a server of a project that is not a map is shown without a command, beside those that are", async () => {
  const servers = { odd: "run me", one: { command: "node", args: ["one.js"] }, far: { url: "https://a.example" } };
  await using here = await stage({ "project/.mcp.json": JSON.stringify({ mcpServers: servers }) });
  assert.deepEqual(
    reviewProject(await readProject(here.root)).servers.map(({ name, runs }) => [name, runs]),
    [
      ["odd", []],
      ["one", ["node", "one.js"]],
      ["far", ["https://a.example"]],
    ],
  );
});

test("only the agents in the folder of another program belong to a project, and everything in ours", async () => {
  await using here = await stage({
    "project/.claude/agents/scout.md": "Look.",
    "project/.claude/settings.local.json": "{}",
    "project/.claude/plans/one.md": "Later.",
    "project/.sous/hooks.sh": "true",
  });
  const paths = (await readProject(here.root)).files.map(({ path }) => path);
  assert.deepEqual(
    paths.filter((path) => path.startsWith(".claude") || path === ".sous/hooks.sh"),
    [".claude/agents/scout.md", ".sous/hooks.sh"],
  );
});
