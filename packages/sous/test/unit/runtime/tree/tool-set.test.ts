/** The tools of a run as they are shown and recorded, in one tree and in the next. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { nowOrLater } from "../../src/core/now-or-later.ts";
import { type Tool, tool } from "../../src/core/tool.ts";
import type { ToolSet } from "../../src/core/tool-set.ts";
import { ShownTools } from "../../src/tree/shown-tools.ts";
import { toolSet } from "../../src/tree/tool-set.ts";

const look: Tool = tool({ name: "look", description: "Looks.", inputSchema: { type: "object" }, execute: () => "" });

function setOf(...tools: Tool[]): ToolSet {
  const set = nowOrLater(toolSet({ tools, isDeepest: false, instructions: undefined }));
  assert.ok(!(set instanceof Promise));
  return set;
}

suite("the tools of a run", () => {
  test("a tool that tool() made is made ready once for all trees", () => {
    assert.equal(setOf(look).byName.get("look"), setOf(look).byName.get("look"));
  });

  test("a tool that is not frozen is shown as it is when a tree begins", () => {
    const changing = { ...look };
    setOf(changing);
    changing.description = "Looks twice.";
    assert.equal(setOf(changing).definitions[0]?.description, "Looks twice.");
  });

  test("a set is described in full once in a tree, and then by the same hash", () => {
    const shown = new ShownTools();
    const first = shown.describe(setOf(look));
    assert.deepEqual(
      first.shown?.map(({ name }) => name),
      ["look"],
    );
    const again = shown.describe(setOf(look));
    assert.deepEqual([again.hash, again.shown], [first.hash, undefined]);
    assert.notEqual(shown.describe(setOf({ ...look, tier: "confirm" })).hash, first.hash);
  });

  test("what is recorded about a tool stays when its schema is changed later", () => {
    const inputSchema = { type: "object", properties: {} as Record<string, object> };
    const { shown } = new ShownTools().describe(setOf({ ...look, inputSchema }));
    inputSchema.properties.more = { type: "string" };
    assert.deepEqual(shown?.[0]?.inputSchema, { type: "object", properties: {} });
  });
});
