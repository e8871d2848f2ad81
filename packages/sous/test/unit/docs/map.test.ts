/** The map of the house is complete: whoever adds a folder or a file beside them says there what it is for. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { rootFolder, sourceFolder } from "../../support/source-files.ts";
import { ROOMS } from "../../support/star.ts";

test("ARCHITECTURE.md names every room and folder of src/ and every file beside them, and nothing else", () => {
  const entries = readdirSync(sourceFolder, { withFileTypes: true });
  const folders = Object.entries(ROOMS).flatMap(([room, names]) => names.map((name) => `${room}/${name}/`));
  const present = entries.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name));
  const map = readFileSync(join(rootFolder, "ARCHITECTURE.md"), "utf8");
  const rows = [...map.matchAll(/^\| (`[a-z/-]+(?:\/|\.ts)`(?:, `[a-z-]+\.ts`)*) \|/gm)];
  const named = rows.flatMap(([, cell = ""]) => cell.replaceAll("`", "").split(", "));
  assert.deepEqual(named.sort(), [...present, ...folders].sort());
});
