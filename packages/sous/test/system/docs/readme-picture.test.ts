/** The picture at the top of the readme is how `sous demo` ends, apart from its figures. UPDATE_SNAPSHOTS=1 draws it again. */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { sous } from "../../support/app/cli/sous-process.ts";
import { temporaryTree } from "../../support/app/tools/temporary-tree.ts";
import { rootFolder } from "../../support/source-files.ts";
import { comparable } from "./transcript-text.ts";

test("the readme shows the tree that sous demo ends with", async () => {
  await using place = await temporaryTree({ "one.py": "def first():\n  pass\n", "notes.txt": "Nothing to see.\n" });
  const { code, stdout, stderr } = await sous(["demo", "--ephemeral"], { cwd: place.path });
  assert.equal(code, 0, stderr);
  const output = `${stdout}\n${stderr}`;
  const printed = pictureIn(output.slice(output.indexOf("\nlead   ") + 1));
  const file = join(rootFolder, "README.md");
  const page = readFileSync(file, "utf8");
  const shown = PICTURE.exec(page)?.[1] ?? "";
  if (process.env.UPDATE_SNAPSHOTS === "1") writeFileSync(file, page.replace(shown, printed));
  else assert.equal(comparable(shown), comparable(printed), file);
});

const PICTURE = /```text\n(lead .*?)```/s;

/** From the root to the sum. */
function pictureIn(text: string): string {
  const [, picture] = /^(lead .*?^5 agents[^\n]*\n)/ms.exec(text) ?? [];
  return picture ?? assert.fail(text);
}
