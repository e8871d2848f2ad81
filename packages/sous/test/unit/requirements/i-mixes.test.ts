/** I2: whatever mix of endings, limits and orders: every task has its result, and nobody runs beyond the limits. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { agent } from "../../../src/core/agent.ts";
import type { Model } from "../../../src/core/model.ts";
import { isSuccess } from "../../../src/core/outcome.ts";
import { type Answer, after, calls, fails, hangs, refuses, says } from "../../../src/testing/steps.ts";
import { between, chance, pick, seededRandom } from "../../../src/testing/world.ts";
import { inParallel, parallelOutput, runTree } from "../../support/requirements/run-tree.ts";
import { type Stage, simpleTool } from "../../support/requirements/support.ts";

type Kind = {
  /** What the child's model says; none for a task that never becomes a child. */
  turns?: readonly Answer[];
  task?: Record<string, unknown>;
  status: string | undefined;
  error?: RegExp;
};

const KINDS = {
  works: { turns: [[after(700), says("Done.")]], status: "complete" },
  crashes_in_tool: { turns: [calls("crash"), says("Did without it.")], status: "complete" },
  runs_out: { turns: [[after(300), says("Half."), calls("look")]], task: { max_turns: 1 }, status: "incomplete" },
  needs_approval: { turns: [calls("write"), says("Wrote it.")], status: "incomplete" },
  hangs: {
    turns: [hangs()],
    task: { timeout_ms: 500 },
    status: "timeout",
    error: /^Subagent timed out after 500 ms \(hangs\)$/,
  },
  stopped: { turns: [hangs()], status: "cancelled", error: /^Subagent cancelled \(stopped\)$/ },
  refuses: { turns: [[after(100), says("No."), refuses()]], status: "refused", error: /model refused the task$/ },
  fails: { turns: [[after(400), fails("auth", { message: "no key" })]], status: "failed", error: /no key$/ },
  crashes: { turns: [fails(new TypeError("boom"))], status: "failed", error: /The model failed: boom$/ },
  throws_text: { task: { agent: "throws_text" }, status: "failed", error: /The model failed: just text$/ },
  throws_oddly: { task: { agent: "throws_oddly" }, status: "failed", error: /The model failed: \[object Object\]$/ },
  says_nothing: { turns: [says(""), says(" ")], status: "failed", error: /empty answer twice$/ },
  unknown_agent: { task: { agent: "nobody" }, status: undefined, error: /^Unknown agent: nobody\./ },
  unknown_tool: { task: { allowed_tools: ["fly"] }, status: undefined, error: /^Unknown tool in allowed_tools: fly\./ },
  unknown_model: { task: { model: "nowhere/x" }, status: undefined, error: /"nowhere"/ },
  odd_schema: { task: { output_schema: { type: "odd" } }, status: undefined, error: /JSON Schema cannot be used/ },
  own_task: { task: { task_prompt: "Go." }, status: undefined, error: /^This is the task you were given/ },
  poor: { task: { agent: "poor" }, status: undefined, error: /^Token limit exceeded: \d+\/10 \(spent / },
} as const satisfies Record<string, Kind>;

const NAMES = Object.keys(KINDS) as [keyof typeof KINDS, ...(keyof typeof KINDS)[]];

const SCRIPT = Object.fromEntries(
  Object.entries<Kind>(KINDS).flatMap(([name, { turns = [] }]) => [
    [`lead/${name}`, turns],
    [`lead/${name}#*`, turns],
  ]),
);

function throwing(thrown: unknown): Model {
  return { id: "scripted/throwing", answer: () => Promise.reject(thrown) };
}

const AGENTS = [
  agent({ name: "throws_text", model: throwing("just text") }),
  agent({ name: "throws_oddly", model: throwing(Object.create(null)) }),
  agent({ name: "poor", budget: { tokens: 10 } }),
];

const crash = () => {
  throw Object.create(null);
};
const TOOLS = [simpleTool("look"), simpleTool("crash", crash), simpleTool("write", undefined, { tier: "confirm" })];

type Mix = { names: readonly (keyof typeof KINDS)[]; maxConcurrent: number; whole: number; failFast: boolean };

async function runMix({ names, maxConcurrent, whole, failFast }: Mix) {
  const tasks = names.map((label) => ({ label, ...(KINDS as Record<string, Kind>)[label]?.task }));
  const { stage, result, returned } = await runTree({
    script: {
      lead: [inParallel(tasks, { max_concurrent: maxConcurrent, fail_fast: failFast }), says("Seen.")],
      ...SCRIPT,
    },
    lead: { tools: TOOLS },
    runtime: { limits: { maxConcurrent: whole, summary: "never" }, agents: AGENTS },
    during: ({ handle, stage: { when }, at }) => {
      for (const name of names) {
        if (name !== "stopped") continue;
        const isIt = (path: string) => path.startsWith("lead/stopped");
        when(
          ({ type, path }) => type === "turn-start" && isIt(path),
          ({ path }) => at(200, () => handle.cancel(path)),
        );
      }
    },
  });
  assert.ok(isSuccess(result));
  assert.equal(returned[0]?.result.success, true);
  return { output: parallelOutput(stage), stage };
}

/** The most children that were alive at one moment. */
function mostAtOnce(stage: Stage): number {
  let alive = 0;
  let most = 0;
  for (const { type, depth } of stage.events) {
    if (depth !== 1) continue;
    if (type === "run-start") most = Math.max(most, ++alive);
    if (type === "run-end") alive -= 1;
  }
  return most;
}

test("I2: a mix of every kind of ending at once gives a result for each, in order, and the call succeeds", async () => {
  const { output } = await runMix({ names: NAMES, maxConcurrent: 50, whole: 50, failFast: false });
  for (const [index, name] of NAMES.entries()) {
    const kind: Kind = KINDS[name];
    const { label, success, completion_status, error } = output.results[index] ?? assert.fail();
    const isGood = kind.status === "complete" || kind.status === "incomplete";
    assert.deepEqual([label, success, completion_status], [name, isGood, kind.status]);
    if (kind.error === undefined) assert.equal(error, undefined);
    else assert.match(error ?? "", kind.error);
  }
  assert.deepEqual([output.results.length, output.successful, output.failed], [NAMES.length, 4, NAMES.length - 4]);
  assert.equal(output.total_duration_ms, 700);
});

test("I2: the results of every mix are those of the tasks, the counts add up and no limit is passed", async () => {
  const seeds = [...Array.from({ length: 60 }, (_, index) => index), Math.floor(Date.now() / 1000)];
  for (const seed of seeds) {
    const random = seededRandom(seed, "mix");
    const mix: Mix = {
      names: Array.from({ length: between(random, 1, 10) }, () => pick(random, NAMES)),
      maxConcurrent: between(random, 1, 4),
      whole: between(random, 1, 4),
      failFast: chance(random, 0.4),
    };
    const { output, stage } = await runMix(mix);
    const note = `seed ${seed}: ${JSON.stringify(mix)}`;
    assert.deepEqual(
      output.results.map(({ label }) => label),
      mix.names,
      note,
    );
    const good = output.results.filter(({ success }) => success).length;
    assert.deepEqual([output.successful, output.failed], [good, mix.names.length - good], note);
    assert.ok(mostAtOnce(stage) <= Math.min(mix.maxConcurrent, mix.whole), note);
    for (const [index, name] of mix.names.entries()) {
      const { success, completion_status: status, subagent_id, duration_ms } = output.results[index] ?? assert.fail();
      const expected = mix.failFast && status === "cancelled" ? status : KINDS[name].status;
      assert.equal(status, expected, note);
      assert.equal(success, status === "complete" || status === "incomplete", note);
      const end = stage.eventsOf("run-end").find(({ agentId }) => agentId === subagent_id);
      assert.deepEqual([duration_ms, success], end ? [end.durationMs, isSuccess(end)] : [0, false], note);
    }
    assert.equal(output.failed > 0, !mix.names.every(isGood), note);
  }
});

function isGood(name: keyof typeof KINDS): boolean {
  const { status } = KINDS[name];
  return status === "complete" || status === "incomplete";
}
