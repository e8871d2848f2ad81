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

/** By their rows in the table of the page. */
const CHANGES = {
  "an event type": NEW_EVENT,
  "a stop reason": NEW_STOP_REASON,
  "a limit": NEW_LIMIT,
  "a column of a run": NEW_COLUMN,
  "a built-in tool": NEW_TOOL,
  "a key of agent files": NEW_AGENT_KEY,
};

/** A table that a new stop reason was forgotten in. */
const FORGETFUL = `import type { StopReason } from "./core/outcome.ts";
export const EXITS: Record<StopReason, number> = { turns: 6, consent: 7 };
`;

// All at once: to start the compiler takes longer than to check what is added.
test("the compiler finds a forgotten word, and misses none when an event, a stop reason, a limit, a column, a tool and a key are added in their files", async () => {
  using sources = new ChangedSources(...Object.values(CHANGES), { "forgetful.ts": FORGETFUL });
  const errors = await sources.compile();
  assert.match(errors, /^src\/forgetful\.ts\(2,14\): error TS2741: Property 'patience' is missing in type [^\n]*\n$/);
});

test("the architecture page says how many source files each change touches", () => {
  const page = readFileSync(join(rootFolder, "docs/explanation/architecture.md"), "utf8");
  for (const [change, files] of Object.entries(CHANGES)) {
    const [, now] = new RegExp(`^\\| ${change} \\| \\d+ \\| (\\d+) \\|`, "m").exec(page) ?? [];
    assert.equal(Object.keys(files).length, Number(now), change);
  }
});
