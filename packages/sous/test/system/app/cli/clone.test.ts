/** In a clone the command runs from the sources, and what it prints to be typed next can be typed. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { inProcess } from "../../../support/app/cli/in-process.ts";
import { dataFolder } from "../../../support/app/cli/sous-process.ts";
import { packageFolder } from "../../../support/source-files.ts";

const COMMAND = join(packageFolder, "bin/sous.mjs");

test("J1: in a clone, the last line of the demo is a command that shows its tree", async () => {
  await using folder = await dataFolder();
  // As npx sets it.
  const env = { ...folder.env, npm_command: "exec" };
  const { stderr } = await inProcess(["demo"], { cwd: folder.path, env });
  const [, words = ""] = /^The run is stored: npx sous (replay --tree --id \w+)$/m.exec(stderr) ?? assert.fail(stderr);
  const { stdout } = await promisify(execFile)(process.execPath, [COMMAND, ...words.split(" ")], { env });
  assert.match(stdout, /^lead +✓ completed/m);
});
