/** A database that is deleted while a run goes on: nobody is told that the run was kept. */

import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { suite, test } from "node:test";
import { agent } from "../../../src/core/agent.ts";
import { createRuntime } from "../../../src/runtime.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { calls, says } from "../../../src/testing/steps.ts";
import { simpleTool } from "../../support/requirements/support.ts";
import { sqlitePlace } from "../../support/storage/store/sqlite-place.ts";

suite("G3: a run whose database is deleted just before its end", () => {
  for (const requireStore of [false, true]) {
    test(`a run whose database is deleted ${requireStore ? "fails when it requires its store" : "says that not everything was kept"}`, async () => {
      await using place = sqlitePlace();
      const store = await place.open();
      const erase = simpleTool("erase", () => rmSync(place.file));
      const lead = agent({ name: "lead", model: scriptedModel(calls("erase"), says("Done.")), tools: [erase] });
      const runtime = createRuntime({ store, requireStore });
      const result = await runtime.run(lead, "Go.").result;
      assert.equal(result.status, requireStore ? "failed" : "completed");
      assert.match(result.lost ?? "", /was deleted or replaced while it was open/);
    });
  }
});
