/** Tests of the agents of `review.ts`: real parts and one fake, the model. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { run } from "sous";
import { calls, createWorld, hangs, says, scriptedModel } from "sous/testing";
import { reviewLead } from "./review.ts";

const delegates = calls("subagent_reviewer", { task: "Review answer.ts." });

// #region report
test("the lead reads the reviewer's report", async () => {
  const model = scriptedModel({
    lead: [delegates, says("Merge it.")],
    "lead/reviewer": [calls("read_file", { path: "answer.ts" }), says("Nothing to complain about.")],
  });
  const { text, agents } = await run(reviewLead(model), "Review this change.");
  assert.equal(text, "Merge it.");
  assert.deepEqual(
    agents.map(({ path, status }) => `${path} ${status}`),
    ["lead completed", "lead/reviewer completed"],
  );
});
// #endregion

// #region requests
test("the lead itself cannot read files, and the reviewer sees its task alone", async () => {
  const model = scriptedModel({ lead: [delegates, says("Merge it.")], "lead/reviewer": [says("Fine.")] });
  await run(reviewLead(model), "Review this change.");
  const [lead, reviewer] = model.requests;
  assert.deepEqual(lead?.tools, ["subagent_reviewer", "subagent_report"]);
  assert.deepEqual(reviewer?.tools, ["read_file"]);
  assert.deepEqual(reviewer?.messages, [{ role: "user", content: [{ type: "text", text: "Review answer.ts." }] }]);
});
// #endregion

// #region time
test("a reviewer that hangs is stopped after a minute, and the lead continues", async () => {
  const world = createWorld({ seed: 1, lateness: 0 });
  const model = scriptedModel({ lead: [delegates, says("Ask again later.")], "lead/reviewer": [hangs()] });
  const { text, agents } = await world.run(() => run(reviewLead(model), "Review this change.", { host: world.host }));
  assert.equal(text, "Ask again later.");
  assert.equal(agents[1]?.status, "timeout");
  assert.equal(world.clock.monotonic(), 60_000);
});
// #endregion
