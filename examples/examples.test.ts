/** Every example runs as a program of its own, without a key, and prints what is kept beside it. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { builtSous } from "../packages/sous/test/built-sous.ts";

const folders = readdirSync(import.meta.dirname, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name);

test("the ladder has its ten steps", () => {
  const steps = folders.filter((name) => /^\d/.test(name)).map((name) => name.slice(0, 2));
  assert.deepEqual(steps, ["01", "02", "03", "04", "05", "06", "07", "08", "09", "10"]);
});

for (const folder of folders) {
  test(`${folder} prints what it promises; UPDATE_SNAPSHOTS=1 promises anew`, async () => {
    const actual = await runExample(folder);
    const expected = join(import.meta.dirname, folder, "expected.txt");
    if (process.env.UPDATE_SNAPSHOTS === "1") writeFileSync(expected, actual);
    assert.equal(actual, readFileSync(expected, "utf8"));
  });
}

/** Nothing of the environment but the path and the compiled sources: an example that needs a key fails here. */
async function runExample(folder: string): Promise<string> {
  const { PATH = "", NODE_COMPILE_CACHE, TMPDIR, SOUS_TEST_SHARED } = process.env;
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ["--conditions=sous-source", join(import.meta.dirname, folder, "main.ts")],
    { env: { PATH, NODE_COMPILE_CACHE, TMPDIR, SOUS_TEST_SHARED, ...builtSous }, timeout: 60_000 },
  );
  assert.equal(stderr, "");
  return stdout;
}
