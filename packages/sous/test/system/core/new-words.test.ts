/** Each kind of change that the architecture page counts compiles, in as many files as the page says. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ChangedSources } from "../../support/changed-sources.ts";
import {
  NEW_AGENT_KEY,
  NEW_COLUMN,
  NEW_EVENT,
  NEW_LIMIT,
  NEW_STOP_REASON,
  NEW_TOOL,
} from "../../support/core/new-words.ts";
import { rootFolder } from "../../support/source-files.ts";

/** By their rows in the table of the page, each with the most files it may take. */
const CHANGES = {
  "an event type": { files: NEW_EVENT, most: 5 },
  "a stop reason": { files: NEW_STOP_REASON, most: 3 },
  "a limit": { files: NEW_LIMIT, most: 3 },
  "a column of a run": { files: NEW_COLUMN, most: 3 },
  "a built-in tool": { files: NEW_TOOL, most: 3 },
  "a key of agent files": { files: NEW_AGENT_KEY, most: 4 },
};

/** A table that a new stop reason was forgotten in. */
const FORGETFUL = `import type { StopReason } from "./core/outcome.ts";
export const EXITS: Record<StopReason, number> = { turns: 6, consent: 7 };
`;

// All at once: to start the compiler takes longer than to check what is added.
test("the compiler finds a forgotten word, and misses none when an event, a stop reason, a limit, a column, a tool and a key are added in their files", async () => {
  using sources = new ChangedSources(...Object.values(CHANGES).map(({ files }) => files), {
    "forgetful.ts": FORGETFUL,
  });
  const errors = await sources.compile();
  assert.match(errors, /^src\/forgetful\.ts\(2,14\): error TS2741: Property 'patience' is missing in type [^\n]*\n$/);
});

test("the architecture page says how many source files each change touches", () => {
  const page = readFileSync(join(rootFolder, "docs/explanation/architecture.md"), "utf8");
  for (const [change, { files, most }] of Object.entries(CHANGES)) {
    const [, now] = new RegExp(`^\\| ${change} \\| \\d+ \\| (\\d+) \\|`, "m").exec(page) ?? [];
    assert.equal(Object.keys(files).length, Number(now), change);
    assert.ok(Number(now) <= most, change);
  }
});
