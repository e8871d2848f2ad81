/** A child that fails for the rate of its model is told, and fails its tree where all children are needed. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../../src/core/agent.ts";
import { createRuntime } from "../../../../src/runtime.ts";
import { scriptedModel } from "../../../../src/testing/scripted-model.ts";
import { calls, fails, type Step, says } from "../../../../src/testing/steps.ts";
import { createWorld } from "../../../../src/testing/world.ts";
import { parallelOutput, readBy, runTree } from "../../../support/requirements/run-tree.ts";

const LIMITED: readonly Step[] = [fails("rate_limit", { retryAfterMs: 3_600_000 })];
const BROKEN: readonly Step[] = [fails("invalid_request")];
const DONE: readonly Step[] = [says("Done.")];

function child(label: string) {
  return calls("subagent", { label, task_prompt: `Do ${label}.` });
}

function inParallel(labels: readonly string[], more: Record<string, unknown> = {}) {
  return calls("parallel_subagent", {
    tasks: labels.map((label) => ({ label, task_prompt: `Do ${label}.` })),
    ...more,
  });
}

type Script = Parameters<typeof runTree>[0]["script"];

function trial(script: Script, requireAll = true) {
  return runTree({ script, run: { requireAll } });
}

suite("I3: a child that fails for the rate of its model", () => {
  test("I3: its parent reads why, its agent says why, and the run completes where not all children are needed", async () => {
    const { result, stage } = await trial({ lead: [child("a"), says("Seen.")], "lead/a": LIMITED }, false);
    assert.equal(result.status, "completed");
    assert.match(
      readBy(stage, "subagent")[0] ?? "",
      /rate_limit\. It asks to wait 60 minutes, and sous waits for at most 10/,
    );
    const [lead, a] = result.agents;
    assert.deepEqual([lead?.error, a?.error?.type, a?.error?.kind], [undefined, "model", "rate_limit"]);
  });

  test("I3: with requireAll the run fails with the number of such children, the first of them and its reason", async () => {
    const { result } = await trial({
      lead: [inParallel(["a", "b", "c"]), says("Seen.")],
      "lead/a": DONE,
      "lead/b": LIMITED,
      "lead/c": BROKEN,
    });
    assert.deepEqual([result.status, result.error?.type, result.text], ["failed", "model", "Seen."]);
    assert.match(result.error?.message ?? "", /^2 of 3 children failed: lead\/b: The script fails with rate_limit\. /);
  });

  test("I3: with requireAll a child of a child counts, too", async () => {
    const { result } = await trial({
      lead: [child("a"), says("Seen.")],
      "lead/a": [child("deep"), says("It did not work.")],
      "lead/a/deep": BROKEN,
    });
    assert.equal(result.status, "failed");
    assert.match(result.error?.message ?? "", /^1 of 2 children failed: lead\/a\/deep: /);
  });

  test("I3: with requireAll a child that worked when it was asked again is no failure", async () => {
    const { result } = await runTree({
      script: {
        lead: ({ messages }) => {
          const reads = messages.filter(({ role }) => role === "tool").length;
          const [id = ""] = /(?<=subagent_id: )\w+/.exec(JSON.stringify(messages)) ?? [];
          return (
            [child("a"), calls("subagent_send", { subagent_id: id, message: "Again." }), says("Seen.")][reads] ??
            says("")
          );
        },
        "lead/a": [fails("invalid_request"), says("Now it works.")],
      },
      run: { requireAll: true },
    });
    assert.deepEqual(
      [result.status, result.agents.map(({ status }) => status)],
      ["completed", ["completed", "completed"]],
    );
  });

  test("I3: a task of fail_fast that fails for the rate fails the run, and one that fails otherwise does not", async () => {
    const script = (steps: readonly Step[]): Script => ({
      lead: [inParallel(["a", "b"], { fail_fast: true, max_concurrent: 1 }), says("Seen.")],
      "lead/a": steps,
      "lead/b": DONE,
    });
    const limited = await trial(script(LIMITED), false);
    assert.match(limited.result.error?.message ?? "", /^1 of 1 children failed: lead\/a: /);
    assert.deepEqual(
      parallelOutput(limited.stage).results.map(({ success }) => success),
      [false, false],
    );
    const broken = await trial(script(BROKEN), false);
    assert.equal(broken.result.status, "completed");
  });

  test("I3: a run that is continued needs all of its children as before", async () => {
    const world = createWorld({ seed: 1, lateness: 0 });
    const script = { lead: [child("a"), fails("invalid_request"), says("Seen.")], "lead/a": BROKEN };
    const lead = agent({ name: "lead", model: scriptedModel(script, { clock: world.clock }), delegate: true });
    const runtime = createRuntime({ host: world.host });
    const first = await world.run(() => runtime.run(lead, "Look.", { requireAll: true }).result);
    assert.match(first.error?.message ?? "", /^The script fails/);
    const again = await world.run(() => runtime.resume(first.runId, { agent: lead }).result);
    assert.deepEqual([again.status, again.text], ["failed", "Seen."]);
    assert.match(again.error?.message ?? "", /^1 of 1 children failed: lead\/a: /);
  });
});
