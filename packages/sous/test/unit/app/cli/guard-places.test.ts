/** The places that no tool may write to without being asked, as the command finds them. */

import assert from "node:assert/strict";
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { guardPaths } from "../../../../src/app/cli/application/guards.ts";
import { temporaryTree } from "../../../support/app/tools/temporary-tree.ts";

test("B5.1: the command that gives the key guards only those of its words that are files", async () => {
  await using tree = await temporaryTree({ "work/key.sh": "echo key\n", "work/show/": "" });
  const cwd = join(await realpath(tree.path), "work");
  const request = { cwd, env: { HOME: tree.path }, configFile: undefined, dbPath: undefined, optionFiles: [] };
  const provider = { apiKeyCommand: "sh  key.sh show none" };
  const { refused } = await guardPaths(request, { model: undefined, provider } as never, undefined);
  assert.deepEqual(
    refused?.filter((path) => path.startsWith(cwd)),
    [join(cwd, "key.sh")],
  );
});
