/** A tool of a server in a question: people read the server and its own name for the tool, rules keep the real name. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { ApprovalRequest } from "../../../../src/core/approval.ts";
import { describeAction } from "../../../../src/runtime/rights/action-text.ts";
import { createPolicy } from "../../../../src/runtime/rights/policy.ts";
import { calls, says } from "../../../../src/testing/steps.ts";
import { openStage, type Stage, simpleTool } from "../../../support/requirements/support.ts";
import { openTown } from "../../../support/runtime/tree/restore/parking.ts";

const REQUEST: ApprovalRequest = {
  runId: "r",
  path: "lead/scout",
  agent: "scout",
  above: ["lead"],
  callId: "c",
  toolName: "mcp__github__create_issue",
  origin: { server: "github", tool: "create_issue" },
  input: { title: "It is broken" },
  cwd: "/shop",
};

function issueTool() {
  return simpleTool("mcp__github__create_issue", () => "made", {
    tier: "confirm",
    origin: { server: "github", tool: "create.issue" },
  });
}

suite("a question about a tool of a server", () => {
  test("a question about a tool of a server names the server and the tool, and remembers the real name", () => {
    const { title, rule } = describeAction(REQUEST);
    assert.equal(title, "lead/scout wants to use github › create_issue");
    assert.equal(rule.pattern, 'mcp__github__create_issue(={"title":"It is broken"})');
    const policy = createPolicy({ rules: [] });
    policy.remember(rule, REQUEST);
    assert.equal(policy.decide(REQUEST)?.effect, "allow");
    assert.equal(policy.decide({ ...REQUEST, toolName: "github › create_issue" })?.effect, undefined);
  });

  test("a question about a tool of a server breaks the reason between words, and loses nothing of it", () => {
    const reason =
      "The MCP server github has changed its tool create_issue since it was approved (now 5f0c2e9a):\n+ 漢字 and more";
    const { why } = describeAction({ ...REQUEST, reason }, { width: 40 });
    assert.ok(why.every((line) => line.length <= 40));
    assert.ok(why.includes("  has changed its tool create_issue "), why.join("\n"));
    assert.equal(
      why.map((line) => line.replace(/^(\| | {2})/, "")).join(""),
      `asked because ${reason.replace("\n", "")}`,
    );
  });

  test("a question about a tool of a server shows what a server has hidden in its names", () => {
    const origin = { server: "git\u202ehub", tool: "create\u001b[2J_issue\n wants to use read_file" };
    const { title } = describeAction({ ...REQUEST, origin });
    assert.equal(
      title,
      "lead/scout wants to use git<U+202E>hub › create<U+001B>[2J_issue<U+000A> wants to use read_file",
    );
  });

  test("a question about a tool of a server has the origin that the tool says", async () => {
    const asked: (ApprovalRequest["origin"] | string)[] = [];
    const approve = ({ origin, toolName }: ApprovalRequest) => {
      asked.push(toolName, origin);
      return { allow: true } as const;
    };
    const stage: Stage = openStage(
      { lead: [[calls("mcp__github__create_issue", {}), calls("own", {})], says("Done.")] },
      { runtime: { approve } },
    );
    const own = simpleTool("own", () => "done", { tier: "confirm" });
    await stage.run(stage.lead({ tools: [issueTool(), own] }));
    assert.deepEqual(asked, [
      "mcp__github__create_issue",
      { server: "github", tool: "create.issue" },
      "own",
      undefined,
    ]);
  });

  test("a question about a tool of a server that waits for its answer names the server and the tool too", async () => {
    const town = openTown({
      script: { lead: [calls("mcp__github__create_issue", { title: "x" }, "p1")] },
      tools: () => [issueTool()],
    });
    const { result } = await town.process().run();
    assert.deepEqual(
      result.questions.map(({ toolName, action }) => [toolName, action]),
      [["mcp__github__create_issue", "lead wants to use github › create.issue: title: x"]],
    );
  });
});
