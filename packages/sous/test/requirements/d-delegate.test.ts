/** D1, D2: external agents behind a port are children like any other. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { calls, says, uses } from "../../src/testing/steps.ts";
import { ALLOW, fakeClient, recorder, registryWith } from "./embedding.ts";
import { readBy, runTree, statuses } from "./run-tree.ts";

suite("D1, D2: subagent_delegate", () => {
  const task = { task: "Fix it.", description: "a fix" };

  test("D1: hands the task to the external agent and gives back its answer, in the same tree and events", async () => {
    const { said, callbacks } = recorder();
    const client = fakeClient(
      async (_prompt, { onText }) => {
        onText("Fix");
        onText("ed.");
        return "Fixed.";
      },
      { inputTokens: 700, outputTokens: 30 },
    );
    const registry = registryWith({ client, callbacks, serverName: "local", agentId: "codex" });
    const { stage, result } = await runTree({
      script: {
        lead: [
          calls("subagent_delegate", task),
          calls("subagent_delegate", { ...task, agentId: "goose" }),
          says("Seen."),
        ],
      },
      lead: { delegate: false, tools: [...registry] },
      runtime: ALLOW,
    });
    assert.deepEqual(client.prompts, [
      { task: "Fix it.", serverName: "local", agentId: "codex" },
      { task: "Fix it.", serverName: "local", agentId: "goose" },
    ]);
    assert.match(readBy(stage, "subagent_delegate")[0] ?? "", /^Fixed\./);
    assert.deepEqual(statuses(result), { lead: "completed", "lead/a fix": "completed", "lead/a fix#2": "completed" });
    assert.equal(result.agents[1]?.usage.totalTokens, 730);
    assert.deepEqual(said.slice(0, 4), [
      "start delegate a fix",
      "delta delegate a fix: Fix",
      "delta delegate a fix: ed.",
      "complete delegate a fix: Fixed., 1 turns, true",
    ]);
  });

  test("D1: needs consent", async () => {
    const client = fakeClient(async () => "Fixed.");
    const { result } = await runTree({
      script: { lead: [calls("subagent_delegate", task), says("Seen.")] },
      lead: { delegate: false, tools: [...registryWith({ client })] },
    });
    assert.deepEqual([client.prompts.length, result.status, result.stopReason], [0, "incomplete", "consent"]);
  });

  test("D1: with only a client, subagent_spawn is an external run too", async () => {
    const client = fakeClient(async () => "Done.");
    const { stage } = await runTree({
      script: { lead: [calls("subagent_spawn", task), says("Seen.")] },
      lead: { delegate: false, tools: [...registryWith({ client, agentId: "codex" })] },
    });
    assert.equal(stage.eventsOf("run-start", "lead/a fix")[0]?.model, "external/codex");
    assert.equal(client.prompts.length, 1);
  });

  test("D2: a failure of the client is a failure of the child", async () => {
    const { said, callbacks } = recorder();
    const client = fakeClient(() => Promise.reject(new Error("server gone")));
    const { stage, result } = await runTree({
      script: { lead: [calls("subagent_delegate", task), says("Seen.")] },
      lead: { delegate: false, tools: [...registryWith({ client, callbacks })] },
      runtime: ALLOW,
    });
    assert.match(
      readBy(stage, "subagent_delegate")[0] ?? "",
      /^Subagent failed: The external agent failed: server gone/,
    );
    assert.deepEqual([result.status, statuses(result)["lead/a fix"]], ["completed", "failed"]);
    assert.deepEqual(said, ["start delegate a fix", "error delegate a fix: The external agent failed: server gone; "]);
  });

  test("D2: cancel reaches the external agent, and one that does not listen is not waited for", async () => {
    let wasStopped = false;
    const client = fakeClient((_prompt, { signal }) => {
      signal.addEventListener("abort", () => {
        wasStopped = true;
      });
      return new Promise(() => {});
    });
    const { result } = await runTree({
      script: { lead: [calls("subagent_delegate", task), says("Seen.")] },
      lead: { delegate: false, tools: [...registryWith({ client })] },
      runtime: ALLOW,
      during: ({ handle, at }) => at(1000, () => handle.cancel("lead/a fix")),
    });
    assert.deepEqual([wasStopped, statuses(result)["lead/a fix"], result.durationMs], [true, "cancelled", 1000]);
  });

  test("D1: what it used counts against the budget, or its estimate", async () => {
    for (const usage of [{ inputTokens: 50_000, outputTokens: 900 }, undefined]) {
      const client = fakeClient(async () => "x".repeat(30_000), usage);
      const { stage, result } = await runTree({
        script: {
          lead: [
            calls("subagent_delegate", task),
            [calls("subagent_delegate", task), uses({ input: 1, output: 1 })],
            says("Seen."),
          ],
        },
        lead: { delegate: false, tools: [...registryWith({ client })] },
        runtime: { ...ALLOW, limits: { children: { tokens: 6000 } } },
      });
      assert.equal(client.prompts.length, 1);
      assert.match(readBy(stage, "subagent_delegate")[1] ?? "", /^Token limit exceeded: \d+\/6000/);
      assert.equal(result.usage.estimated, usage === undefined);
    }
  });
});
