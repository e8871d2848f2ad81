/** The tools of a run as they are shown and recorded, in one tree and in the next. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { type Tool, tool } from "../../../../src/core/tool.ts";
import type { ToolSet } from "../../../../src/core/tool-set.ts";
import { ShownTools } from "../../../../src/runtime/tree/state.ts";
import { toolSet } from "../../../../src/runtime/tree/tool-set.ts";

const look: Tool = tool({ name: "look", description: "Looks.", inputSchema: { type: "object" }, execute: () => "" });

async function setOf(...tools: Tool[]): Promise<ToolSet> {
  return await toolSet({ tools, isDeepest: false, instructions: undefined });
}

suite("the tools of a run", () => {
  test("a tool that tool() made is made ready once for all trees", async () => {
    assert.equal((await setOf(look)).byName.get("look"), (await setOf(look)).byName.get("look"));
  });

  test("a tool that is not frozen is shown as it is when a tree begins", async () => {
    const changing = { ...look };
    await setOf(changing);
    changing.description = "Looks twice.";
    assert.equal((await setOf(changing)).definitions[0]?.description, "Looks twice.");
  });

  test("a set is described in full once in a tree, and then by the same hash", async () => {
    const shown = new ShownTools();
    const first = shown.describe(await setOf(look));
    assert.deepEqual(
      first.shown?.map(({ name }) => name),
      ["look"],
    );
    const again = shown.describe(await setOf(look));
    assert.deepEqual([again.hash, again.shown], [first.hash, undefined]);
    assert.notEqual(shown.describe(await setOf({ ...look, tier: "confirm" })).hash, first.hash);
  });

  test("the record of a tool stays when its schema is changed later", async () => {
    const inputSchema = { type: "object", properties: {} as Record<string, object> };
    const { shown } = new ShownTools().describe(await setOf({ ...look, inputSchema }));
    inputSchema.properties.more = { type: "string" };
    assert.deepEqual(shown?.[0]?.inputSchema, { type: "object", properties: {} });
  });
});
