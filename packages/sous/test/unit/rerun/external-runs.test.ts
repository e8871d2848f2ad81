/** A tree with external agents is run again from its recording alone. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../src/core/agent.ts";
import { ModelError } from "../../../src/core/errors.ts";
import {
  type ExternalAgent,
  type ExternalAnswer,
  type ExternalHost,
  externalModel,
} from "../../../src/core/external-agent.ts";
import type { RunOptions } from "../../../src/core/runtime.ts";
import { noUsage } from "../../../src/core/usage.ts";
import { rerun } from "../../../src/rerun.ts";
import { createRuntime } from "../../../src/runtime.ts";
import { openMemoryStore } from "../../../src/storage/store/memory.ts";
import { checkHistory } from "../../../src/testing/checker.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { calls, says } from "../../../src/testing/steps.ts";
import { simpleTool } from "../../support/requirements/support.ts";

type Work = (host: ExternalHost, signal: AbortSignal) => Promise<Partial<ExternalAnswer>>;

function externalAgent(work: Work): ExternalAgent {
  return {
    serverName: "Claude Code",
    maxCostUsd: 0.5,
    timeoutMs: 60_000,
    open: async (_request, host) => ({
      id: "session-1",
      prompt: async (_text, signal) => ({
        stop: "done",
        usage: { ...noUsage(), inputTokens: 900, outputTokens: 40, totalTokens: 940 },
        costUsd: 0.02,
        ...(await work(host, signal)),
      }),
      close: async () => {},
    }),
  };
}

const about = { callId: "t1", name: "Edit", kind: "edit", title: "Edit a.ts", input: { path: "a.ts" } };

/** Runs a lead with one external agent, and again from what was stored. */
async function again(work: Work, options: { allow?: boolean; budget?: RunOptions["budget"] } = {}) {
  const { allow = true, budget } = options;
  const store = openMemoryStore();
  const runtime = createRuntime({
    store,
    approve: async ({ toolName }) => ({ allow: allow || toolName !== "subagent_delegate" }),
  });
  const write = simpleTool("write_file", () => "written", { tier: "confirm" });
  const lead = agent({
    name: "lead",
    model: scriptedModel({ lead: [calls("subagent_claude", { task: "Fix it." }), says("Done.")] }),
    tools: [write],
    subagents: [agent({ name: "claude", model: externalModel(externalAgent(work)), tools: [write] })],
  });
  const { runId } = await runtime.run(lead, "Go.", { budget });
  const events = await store.read(runId);
  const result = await rerun(runId, { store });
  const given = await rerun(runId, { store, agents: [lead] });
  return { events, result, given };
}

suite("D5: a tree with an external agent is run again without it", () => {
  const works: [name: string, work: Work, options?: Parameters<typeof again>[1]][] = [
    [
      "after calls with approval",
      async (host) => {
        host.onCall({ ...about, phase: "start" });
        const allowed = await host.approve({ callId: "t1", toolName: "write_file", input: { path: "a.ts" } });
        host.onCall({ ...about, phase: "end", output: `allowed: ${allowed}`, isError: false });
        host.onText("Fixed.");
        return {};
      },
    ],
    ["after a refusal to start it", async () => assert.fail("it was not allowed"), { allow: false }],
    ["after a failure", async () => Promise.reject(new ModelError("unknown", "claude died"))],
    [
      "after it used too much",
      async (host, signal) => {
        host.onText("So far.");
        host.onUsage({ tokens: 50_000, costUsd: undefined });
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        return { stop: "cancelled", usage: undefined, costUsd: undefined };
      },
      { budget: { tokens: 20_000 } },
    ],
    [
      "without a word about its bill",
      async (host) => {
        host.onText("Fixed.");
        return { usage: undefined, costUsd: undefined };
      },
    ],
  ];
  for (const [name, work, options] of works) {
    test(`a tree is run again without the agent ${name}`, async () => {
      const { events, result, given } = await again(work, options);
      assert.deepEqual(checkHistory(events), []);
      assert.equal(result.firstDifference?.sentence, undefined);
      assert.equal(given.firstDifference?.sentence, undefined);
      assert.deepEqual([result.matches, given.matches], [true, true]);
    });
  }
});
