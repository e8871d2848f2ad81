/** The rules of the user come before the tier of a tool and before the person. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import * as z from "zod";
import { agent } from "../../../../src/core/agent.ts";
import type { ApprovalPolicy, ApprovalRequest, Approve, RuleAnswer } from "../../../../src/core/approval.ts";
import { type ToolTier, tool } from "../../../../src/core/tool.ts";
import { createRuntime } from "../../../../src/runtime.ts";
import { scriptedModel } from "../../../../src/testing/scripted-model.ts";
import { calls, says } from "../../../../src/testing/steps.ts";

suite("H4: rules", () => {
  const cases: [
    tier: ToolTier,
    rule: RuleAnswer | undefined,
    person: boolean | undefined,
    ran: boolean,
    status: string,
  ][] = [
    ["observe", undefined, undefined, true, "completed"],
    ["observe", { effect: "deny", reason: "deny touch (test)" }, true, false, "completed"],
    ["observe", { effect: "ask" }, undefined, false, "incomplete"],
    ["observe", { effect: "ask" }, true, true, "completed"],
    ["confirm", undefined, undefined, false, "incomplete"],
    ["confirm", { effect: "allow" }, undefined, true, "completed"],
    ["confirm", { effect: "deny", reason: "deny touch (test)" }, true, false, "completed"],
    ["confirm", { effect: "ask" }, false, false, "completed"],
  ];
  for (const [tier, rule, person, ran, status] of cases) {
    test(`a tool of tier ${tier} ${ran ? "runs" : "does not run"} with the rule ${rule?.effect ?? "none"} and the answer ${person ?? "none"}`, async () => {
      const asked: ApprovalRequest[] = [];
      let touched = 0;
      const touch = tool({
        name: "touch",
        description: "Touches",
        tier,
        inputSchema: z.object({ path: z.string() }),
        execute: () => `touched ${++touched}`,
      });
      const policy: ApprovalPolicy = {
        decide: (request) => {
          asked.push(request);
          return rule;
        },
      };
      if (person !== undefined) policy.ask = (() => ({ allow: person })) as Approve;
      const model = scriptedModel({ lead: [calls("touch", { path: "a" }), says("Done.")] });
      const runtime = createRuntime({ approve: policy, host: { cwd: "/work" } });
      const result = await runtime.run(agent({ name: "lead", model, tools: [touch] }), "Touch a.");
      assert.deepEqual([touched, result.status], [ran ? 1 : 0, status]);
      const call = { path: "lead", name: "lead", toolName: "touch", input: { path: "a" }, cwd: "/work" };
      const isPersonAsked = person !== undefined && rule?.effect === "ask";
      assert.deepEqual(
        asked.map(({ path, agent: name, toolName, input, cwd }) => ({ path, name, toolName, input, cwd })),
        isPersonAsked ? [call, call] : [call],
      );
    });
  }
});
