/** Loads every source file, because the coverage of the test runner leaves out what was never loaded. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { readManifest, sourceFiles, sourceFolder } from "../support/source-files.ts";

/** Files that act when they are loaded; each is started as a program instead. */
const PROGRAMS = new Set(["app/cli/main.ts"]);

test("every source file loads by itself", async () => {
  for (const { path } of sourceFiles()) {
    if (!PROGRAMS.has(path)) await import(pathToFileURL(join(sourceFolder, path)).href);
  }
});

test("the command tells its version", () => {
  const printed = execFileSync(process.execPath, [join(sourceFolder, "app/cli/main.ts"), "--version"], {
    encoding: "utf8",
  });
  assert.equal(printed.trim(), readManifest().version);
});
