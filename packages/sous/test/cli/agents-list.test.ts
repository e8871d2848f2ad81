/** `sous agents list` where some files have problems. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryTree } from "../tools/temporary-tree.ts";
import { sous } from "./sous-process.ts";

const withKeys = (keys: string) => `---\nname: writer\ndescription: Writes.\n${keys}---\nWrite.\n`;

test("E3: the list is shown with its agents, and says how many problems a check would show", async () => {
  for (const [keys, said] of [
    ["", ""],
    ["colour: red\n", "1 problem: sous agents check shows it\n"],
    ["colour: red\nshape: round\n", "2 problems: sous agents check shows them\n"],
  ] as const) {
    await using tree = await temporaryTree({ "work/": "", "config/sous/agents/writer.md": withKeys(keys) });
    const env = { HOME: tree.path, XDG_CONFIG_HOME: join(tree.path, "config"), XDG_STATE_HOME: tree.path };
    const { code, stdout, stderr } = await sous(["agents", "list"], { cwd: join(tree.path, "work"), env });
    assert.deepEqual([code, stderr], [0, said]);
    assert.match(stdout, /writer/);
  }
});
