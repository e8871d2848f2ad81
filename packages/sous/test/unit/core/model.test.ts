/** Names of models that a call and `models.allow` may have. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAllowEntries, isAllowEntry, whyNotNamed } from "../../../src/core/model.ts";
import { createRuntime } from "../../../src/runtime.ts";

test("no call names an external agent as its model, whatever is allowed", () => {
  for (const name of ["external/claude", "external/claude-code"]) {
    for (const allow of [[], [name], ["external/*"]])
      assert.match(whyNotNamed(name, "external", allow) ?? "", /^external\/\S+ is an external agent, and no call may/);
  }
});

test("models.allow cannot have an external agent", () => {
  for (const entry of ["external/claude", "external/*"]) {
    assert.equal(isAllowEntry(entry), false);
    assert.throws(() => checkAllowEntries(["openai/*", entry]), {
      name: "UserError",
      message: `models.allow cannot have "${entry}": an external agent is named by a definition or by subagent_delegate, never as the model of a call`,
    });
  }
  assert.ok(isAllowEntry("externals/claude"));
  assert.throws(() => createRuntime({ models: { allow: ["external/claude"] } }), /models\.allow cannot have/);
});
