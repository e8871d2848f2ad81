import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { ConfigurationFolder } from "../../../support/app/config/configuration-files.ts";

test("E1: the named file must be a file: a pipe without a writer is refused at once", async () => {
  using folder = new ConfigurationFolder();
  execFileSync("mkfifo", [folder.file("pipe")]);
  const [problem] = await folder.problems({ configFlagFile: "pipe" });
  assert.equal(problem?.code, "SOUS-C001");
  assert.match(problem.message, /is not a regular file/);
});
