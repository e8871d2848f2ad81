/** `sous trust`: what it asks a person at a terminal, and what each answer does. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { suite, test } from "node:test";
import { inProcess } from "../../../support/app/cli/in-process.ts";
import { TerminalInProcess, type TerminalOptions } from "../../../support/app/cli/terminal-in-process.ts";
import { temporaryTree } from "../../../support/app/tools/temporary-tree.ts";

async function stage(files: Record<string, string> = { "project/AGENTS.md": "Be kind.\n" }) {
  const tree = await temporaryTree({ "project/.git/HEAD": "", ...files });
  const env = { HOME: tree.path, XDG_CONFIG_HOME: join(tree.path, "config"), XDG_STATE_HOME: join(tree.path, "state") };
  const root = join(tree.path, "project");
  return {
    ...tree,
    root,
    run: (...parameters: string[]) => inProcess(["trust", ...parameters], { cwd: root, env }),
    atTerminal: (pipes: TerminalOptions["pipes"] = []) => new TerminalInProcess(["trust"], { cwd: root, env, pipes }),
    isTrusted: () => existsSync(join(tree.path, "state/sous/trust.json")),
  };
}

suite("sous trust at a terminal", () => {
  for (const [answer, isYes] of [
    ["y", true],
    ["YES ", true],
    ["", false],
    ["yep", false],
    ["ay", false],
  ] as const) {
    test(`sous trust takes ${JSON.stringify(answer)} for a ${isYes ? "yes" : "no"}`, async () => {
      await using here = await stage();
      await using command = here.atTerminal();
      await command.screen.until("Trust it? [y/N]");
      assert.match(command.screen.text(), /AGENTS\.md {2}9 bytes/);
      assert.equal(here.isTrusted(), false);
      command.type(`${answer}\r`);
      const said = isYes ? "Trusted, until one of these files changes." : "Not trusted: nothing of it is read.";
      await command.screen.until(said);
      assert.deepEqual([await command.ended, here.isTrusted()], [isYes ? 0 : 1, isYes]);
    });
  }

  test("no part of a long command begins a line, and an entry without a command is said to be one", async () => {
    const args = ["serve", `${"x ".repeat(47)}Trusted, until one of these files changes. `.repeat(3)];
    const mcpServers = { long: { command: "node", args }, bad: { comand: "node" } };
    await using here = await stage({ "project/.mcp.json": JSON.stringify({ mcpServers }) });
    await using command = here.atTerminal();
    await command.screen.until("Trust it? [y/N]");
    const lines = command.screen.text().split("\n");
    for (const line of lines.filter((each) => /x x|Trusted|until one/.test(each))) assert.match(line, /^ {2}/);
    assert.ok(lines.includes("  no command and no url  (bad in .mcp.json)"), lines.join("\n"));
  });

  for (const [name, key] of [
    ["Ctrl-C", "\u0003"],
    ["the end of input", "\u0004"],
  ] as const) {
    test(`sous trust takes ${name} for a no, and says so on a line of its own`, async () => {
      await using here = await stage();
      await using command = here.atTerminal();
      await command.screen.until("Trust it? [y/N]");
      command.type(key);
      await command.screen.until(/^Trust it\? \[y\/N\] \nNot trusted: nothing of it is read\.$/m);
      assert.deepEqual([await command.ended, here.isTrusted()], [1, false]);
    });
  }

  for (const stream of ["stdin", "stderr"] as const) {
    test(`sous trust asks no one when ${stream} is no terminal: the question could not be answered or not be seen`, async () => {
      await using here = await stage();
      await using command = here.atTerminal([stream]);
      await command.screen.until("error: No one can be asked: read the list above, then sous trust --yes");
      assert.deepEqual([await command.ended, here.isTrusted()], [7, false]);
    });
  }
});

suite("sous trust", () => {
  test("sous trust says that a project is trusted already, takes it back with --revoke, and says when nothing is to be taken", async () => {
    await using here = await stage();
    assert.equal((await here.run("--yes")).code, 0);
    const again = await here.run();
    assert.deepEqual([again.code, again.stdout.split("\n").at(-2)], [0, "It is trusted already."]);
    const revoked = await here.run("--revoke");
    assert.deepEqual([revoked.code, revoked.stdout], [0, `${here.root} is no longer trusted.\n`]);
    assert.equal((await here.run()).code, 7);
    const nothing = await here.run("--revoke");
    assert.deepEqual([nothing.code, nothing.stdout], [0, `${here.root} was not trusted.\n`]);
  });

  test("sous trust has nothing to ask about in a project without files for it, unless they were there when it was trusted", async () => {
    await using here = await stage();
    const file = join(here.root, "AGENTS.md");
    await here.run("--yes");
    await rm(file);
    const removed = await here.run();
    assert.equal(removed.code, 7);
    assert.match(removed.stdout, /^What has changed since it was trusted:\n {2}removed AGENTS\.md$/m);
    assert.equal((await here.run("--revoke")).code, 0);
    const none = await here.run();
    assert.deepEqual(
      [none.code, none.stdout, none.stderr],
      [0, `${here.root} has no files for sous: there is nothing to trust.\n`, ""],
    );
  });

  test("sous trust lists every file and every agent", async () => {
    const agents = Array.from({ length: 120 }, (_, index) => `a${index}`);
    const files = agents.map((name) => [`project/.sous/agents/${name}.md`, "---\n---\n"] as const);
    await using here = await stage(Object.fromEntries(files));
    const lines = (await here.run()).stdout.split("\n");
    for (const name of agents) {
      assert.ok(lines.includes(`  .sous/agents/${name}.md  8 bytes`), name);
      assert.ok(lines.includes(`  ${name}: the tools of its caller`), name);
    }
  });
});
