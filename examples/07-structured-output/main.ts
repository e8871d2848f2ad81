/**
 * An answer that is a value: checked against a schema, repaired once, typed. Providers that take a schema are sent it in every
 * turn, so a repair is seldom needed there.
 */

import { agent, RunError, run } from "sous";
import { says, scriptedModel } from "sous/testing";
import { z } from "zod";

// #region schema
const Hits = z.object({ hits: z.array(z.object({ file: z.string(), line: z.int() })) });

// With a key in ANTHROPIC_API_KEY: model: "anthropic/claude-sonnet-4-5";
const scout = agent({
  name: "scout",
  outputSchema: Hits,
  model: scriptedModel(
    says('{ "hits": [{ "file": "src/rights.ts", "line": "seven" }] }'),
    says('{ "hits": [{ "file": "src/rights.ts", "line": 7 }] }'),
  ),
});
// #endregion

// #region run
const { output } = await run(scout, "Where do we check permissions?", {
  onEvent(event) {
    if (event.type === "notice") console.log(`${event.reason}:\n${event.text}\n`);
  },
});
for (const { file, line } of output?.hits ?? []) console.log(`line ${line} of ${file}`);
// #endregion

// #region fails
const stubborn = scout.with({ model: scriptedModel(says("In src/rights.ts."), says("I said it already.")) });
try {
  await run(stubborn, "Where do we check permissions?");
} catch (error) {
  if (!(error instanceof RunError)) throw error;
  console.log(`\n${error.result.status}, after: ${error.result.text}`);
}
// #endregion
