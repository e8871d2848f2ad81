/** The figures of the page about performance are those of the run that is published. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { publishedFiles } from "../../../../../bench/lib/publish.mjs";
import { rootFolder } from "../../support/source-files.ts";

test("the tables and the chart of the performance page are what bench/published.json makes", () => {
  for (const [path, text] of Object.entries(publishedFiles(rootFolder)))
    assert.equal(readFileSync(join(rootFolder, path), "utf8"), text, `${path}: npm run bench -- --publish`);
});
