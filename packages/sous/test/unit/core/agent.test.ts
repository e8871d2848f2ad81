/** A definition is a value: nothing that happens later changes it. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type AgentDefinition, agent } from "../../../src/core/agent.ts";
import { tool } from "../../../src/core/tool.ts";

test("C1: a definition does not change with the lists it was made from, and a changed copy leaves it alone", () => {
  const look = tool({ name: "look", description: "Look.", inputSchema: { type: "object" }, execute: () => "A wall." });
  const tools = [look];
  const subagents: AgentDefinition[] = [];
  const lead = agent({ name: "lead", tools, subagents, deny: ["write"] });
  tools.push(look);
  subagents.push(agent({ name: "late" }));
  assert.deepEqual([lead.tools, lead.subagents, lead.deny], [[look], [], ["write"]]);

  const wide = lead.with({ tools: { look } });
  assert.deepEqual([wide.name, wide.tools, wide.deny], ["lead", { look }, ["write"]]);
  assert.deepEqual(lead.tools, [look]);
  assert.throws(() => (lead.tools as unknown[]).push(look), TypeError);
});

test("C1: what people and models read of a definition is text", () => {
  for (const field of ["nickname", "description", "instructions"]) {
    assert.throws(() => agent({ name: "lead", [field]: 7 }), {
      name: "UserError",
      message: `agent lead: ${field} must be text; found 7`,
    });
  }
});
