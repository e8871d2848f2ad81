/** Agent files that are found, the one of two that wins, and files that are not read at all. */

import assert from "node:assert/strict";
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { suite, test } from "node:test";
import { loadAgentFiles, readAgentsMd } from "../../../../src/app/config/agents/load.ts";
import { readProject } from "../../../../src/app/config/trust/files.ts";
import { temporaryTree } from "../../../support/app/tools/temporary-tree.ts";

const file = (name: string, more = "") => `---\nname: ${name}\ndescription: Of ${name}.\n${more}---\nDo it.\n`;

suite("agents of files", () => {
  test("C1: agents are found in the folders of four programs, each in its own dialect", async () => {
    await using project = await temporaryTree({
      ".sous/agents/a.md": file("a"),
      ".claude/agents/b.md": file("b", "maxTurns: 3\n"),
      ".claude/agents/README.md": "# Our agents\n",
      ".gemini/agents/c.md": file("c", "timeout_mins: 2\n"),
      ".gemini/agents/_draft.md": file("draft"),
      ".opencode/agent/d.md": "---\ndescription: Of d.\nsteps: 4\n---\nDo it.\n",
      ".opencode/agents/e.md": "---\ndescription: Of e.\n---\nDo it.\n",
      ".claude/agents/deeper/f.md": file("f"),
      "agents/g.md": file("g"),
    });
    const { agents, problems } = await loadAgentFiles({
      userFolders: [],
      projectFiles: (await readProject(project.path)).files,
    });
    assert.deepEqual(problems, []);
    assert.deepEqual(
      agents.map(({ name, dialect, scope, file }) => [name, dialect, scope, file]),
      [
        ["a", "sous", "project", ".sous/agents/a.md"],
        ["b", "claude", "project", ".claude/agents/b.md"],
        ["f", "claude", "project", ".claude/agents/deeper/f.md"],
        ["c", "gemini", "project", ".gemini/agents/c.md"],
        ["d", "opencode", "project", ".opencode/agent/d.md"],
        ["e", "opencode", "project", ".opencode/agents/e.md"],
      ],
    );
  });

  test("C1: an agent without a name is named for its file, and the name in a file wins in every dialect", async () => {
    const unnamed = "---\ndescription: Reads.\n---\nDo it.\n";
    await using project = await temporaryTree({
      ".sous/agents/one.md": unnamed,
      ".claude/agents/two.md": unnamed,
      ".gemini/agents/three.md": unnamed,
      ".opencode/agent/four.md": unnamed,
      ".opencode/agent/five.md": file("five-by-name"),
      ".opencode/agent/team/six.md": unnamed,
      ".claude/agents/six.md": file("another"),
    });
    const { agents } = await loadAgentFiles({ userFolders: [], projectFiles: (await readProject(project.path)).files });
    assert.deepEqual(
      agents.map(({ name, file }) => [file, name]),
      [
        [".sous/agents/one.md", "one"],
        [".claude/agents/six.md", "another"],
        [".claude/agents/two.md", "two"],
        [".gemini/agents/three.md", "three"],
        [".opencode/agent/five.md", "five-by-name"],
        [".opencode/agent/four.md", "four"],
        [".opencode/agent/team/six.md", "team-six"],
      ],
    );
  });

  test("B4.3: agents of the user win over those of a project, ours over those of others, and both files are named", async () => {
    await using place = await temporaryTree({
      "user/agents/twin.md": file("twin", "tools: [read_file]\n"),
      "project/.sous/agents/twin.md": file("twin"),
      "project/.sous/agents/other.md": file("other", "tools: [grep]\n"),
      "project/.claude/agents/other.md": file("other"),
    });
    const userFolder = join(place.path, "user/agents");
    const { agents, problems } = await loadAgentFiles({
      userFolders: [userFolder],
      projectFiles: (await readProject(join(place.path, "project"))).files,
    });
    assert.deepEqual(
      agents.map(({ name, tools }) => [name, tools]),
      [
        ["twin", ["read_file"]],
        ["other", ["grep"]],
      ],
    );
    assert.deepEqual(
      Object.fromEntries(problems.map(({ file, severity, message }) => [file, [severity, message.split(" ")[0]]])),
      {
        ".sous/agents/twin.md": ["warning", join(userFolder, "twin.md")],
        ".claude/agents/other.md": ["warning", ".sous/agents/other.md"],
      },
    );
  });

  test("B5.1: links that lead out of their folder are not followed", async () => {
    await using place = await temporaryTree({
      "secret/agents/stolen.md": file("stolen"),
      "project/.sous/agents/own.md": file("own"),
      "project/.gemini/": "",
    });
    const project = join(place.path, "project");
    await symlink(join(place.path, "secret/agents/stolen.md"), join(project, ".sous/agents/leads-out.md"));
    await symlink("../../.sous/agents/own.md", join(project, ".sous/agents/up-and-down.md"));
    await symlink("own.md", join(project, ".sous/agents/stays.md"));
    await symlink("nowhere.md", join(project, ".sous/agents/dangling.md"));
    await symlink(join(place.path, "secret"), join(project, ".claude"));
    await symlink(join(place.path, "secret/agents"), join(project, ".gemini/agents"));
    const { agents, problems } = await loadAgentFiles({
      userFolders: [],
      projectFiles: (await readProject(project)).files,
    });
    assert.deepEqual(
      agents.map(({ name }) => name),
      ["own"],
    );
    assert.deepEqual(problems.map(({ file }) => file).sort(), [
      ".claude/agents",
      ".gemini/agents",
      ".sous/agents/dangling.md",
      ".sous/agents/leads-out.md",
      // Links that stay are followed, and find a name that is taken.
      ".sous/agents/stays.md",
      ".sous/agents/up-and-down.md",
    ]);
  });

  test("an entry that is not a file, too large or broken is one problem, and stops nothing", async () => {
    await using project = await temporaryTree({
      ".sous/agents/good.md": file("good"),
      ".sous/agents/huge.md": `---\nname: huge\n---\n${"x".repeat(300_000)}`,
      ".sous/agents/nul.md": "---\nname: nul\n---\na\0b",
      ".sous/agents/plain.md": "no front matter",
      ".sous/agents/folder.md/": "",
    });
    const { agents, problems } = await loadAgentFiles({
      userFolders: ["/nowhere"],
      projectFiles: (await readProject(project.path)).files,
    });
    assert.deepEqual(
      agents.map(({ name }) => name),
      ["good"],
    );
    assert.deepEqual(
      problems.map(({ file, severity }) => [file, severity]),
      [
        [".sous/agents/huge.md", "error"],
        [".sous/agents/nul.md", "error"],
        [".sous/agents/plain.md", "warning"],
      ],
    );
  });

  test("at most 500 agents are read, and the first that is left out is named", async () => {
    await using project = await temporaryTree(
      Object.fromEntries(
        Array.from({ length: 503 }, (_, index) => [`.sous/agents/a${1000 + index}.md`, file(`a${1000 + index}`)]),
      ),
    );
    const { agents, problems } = await loadAgentFiles({
      userFolders: [],
      projectFiles: (await readProject(project.path)).files,
    });
    assert.equal(agents.length, 500);
    assert.equal(problems.length, 1);
  });
});

suite("AGENTS.md", () => {
  test("AGENTS.md is read without characters that cannot be seen", async () => {
    await using project = await temporaryTree({ "AGENTS.md": "Use\u200b tabs.\u202e\u001b[31m\r\nBe\tbrief.\n" });
    const { text, isCut } = readAgentsMd((await readProject(project.path)).files) ?? {};
    assert.equal(text, "Use tabs.[31m\nBe\tbrief.");
    assert.equal(isCut, false);
  });

  test("AGENTS.md is cut at 64 KB, between characters, and says so", async () => {
    await using project = await temporaryTree({ "AGENTS.md": "é".repeat(40_000) });
    const { text = "", isCut } = readAgentsMd((await readProject(project.path)).files) ?? {};
    assert.equal(isCut, true);
    assert.match(text, /^é{32768}\n\n\[.*left out.\]$/);
  });

  test("AGENTS.md may be a link to a file beside it, and not to one outside", async () => {
    await using place = await temporaryTree({ "secret.md": "secret", "inside/CLAUDE.md": "Be brief.", "outside/": "" });
    await symlink("CLAUDE.md", join(place.path, "inside/AGENTS.md"));
    await symlink("../secret.md", join(place.path, "outside/AGENTS.md"));
    assert.equal(readAgentsMd((await readProject(join(place.path, "inside"))).files)?.text, "Be brief.");
    assert.equal(readAgentsMd((await readProject(join(place.path, "outside"))).files), undefined);
  });

  test("a missing, empty or binary AGENTS.md, or a folder of that name, is none", async () => {
    for (const content of [undefined, " \n", "a\0b"]) {
      await using project = await temporaryTree(content === undefined ? {} : { "AGENTS.md": content });
      assert.equal(readAgentsMd((await readProject(project.path)).files), undefined);
    }
    await using project = await temporaryTree({ "AGENTS.md/": "" });
    assert.equal(readAgentsMd((await readProject(project.path)).files), undefined);
  });
});
