/** sous in an agent in sous: the limits of the outer run come in a variable, and nothing here widens them. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { suite, test } from "node:test";
import { type Application, openApplication } from "../../../../src/app/cli/application/open.ts";
import { readOptions } from "../../../../src/app/cli/table/options.ts";
import { RUN } from "../../../../src/app/cli/table/run-entries.ts";
import { readRunFlags } from "../../../../src/app/cli/table/run-flags.ts";
import { encodeWithin } from "../../../../src/core/within.ts";
import { type AgentStage, agentStage, calls, DONE } from "../../../support/app/cli/agent-stage.ts";

const NONE = { depth: 1, maxDepth: 3, tokens: undefined, costUsd: undefined, durationMs: undefined };
const TOY = join(import.meta.dirname, "toy-agent.mjs");

function within(here: AgentStage, limits: Partial<typeof NONE> | Record<string, number>): void {
  here.env.SOUS_WITHIN = encodeWithin({ ...NONE, ...limits });
}

async function open(here: AgentStage, ...options: string[]): Promise<Application> {
  const { values } = readOptions(RUN, ["--model", "script/none.json", "--ephemeral", ...options]);
  const { root: cwd, env } = here;
  return openApplication({ flags: readRunFlags(values), cwd, env, ask: undefined, warn: () => {} });
}

suite("the limits of the outer run", () => {
  const CONFIG = { "config/sous/config.yaml": "agent: { max_tokens_total: 50000, timeout: 1h }\n" };

  test("the limits of the outer run narrow what flags and the configuration say, and are narrowed by them", async () => {
    await using here = await agentStage(CONFIG);
    within(here, { tokens: 1000, costUsd: 0.5, durationMs: 60_000 });
    await using narrowed = await open(here, "--max-tokens-total", "90000", "--budget", "9", "--timeout", "2h");
    assert.deepEqual(narrowed.runOptions.budget, {
      tokens: 1000,
      costUsd: 0.5,
      durationMs: 60_000,
      executions: undefined,
    });
    await using lower = await open(here, "--max-tokens-total", "10", "--budget", "0.1", "--timeout", "5s");
    assert.deepEqual(lower.runOptions.budget, { tokens: 10, costUsd: 0.1, durationMs: 5_000, executions: undefined });
    within(here, {});
    await using same = await open(here);
    assert.deepEqual(same.runOptions.budget, {
      tokens: 50_000,
      costUsd: undefined,
      durationMs: 3_600_000,
      executions: undefined,
    });
  });

  test("the outer run leaves as many levels as are left, and at the deepest no tool for children at all", async () => {
    await using here = await agentStage();
    within(here, { depth: 2, maxDepth: 3 });
    const child = calls("subagent", { label: "a", task_prompt: "One." });
    const deeper = {
      sous: [child, ...DONE],
      "sous/a": [calls("subagent", { label: "b", task_prompt: "Two." }), ...DONE],
    };
    const { starts } = await here.run({ ...deeper, "**": DONE }, "--max-depth", "5");
    assert.deepEqual(
      starts.map(({ path }) => path),
      ["sous", "sous/a"],
    );
    within(here, { depth: 3, maxDepth: 3 });
    const { results } = await here.run({ sous: [child, ...DONE] });
    assert.match(results[0]?.output ?? "", /^Unknown tool: subagent\./);
  });

  test("the limits of the outer run end a run that spends more", async () => {
    await using here = await agentStage();
    within(here, { tokens: 100 });
    const { result } = await here.run({ sous: [{ text: "x", usage: { input: 90, output: 30 } }] });
    assert.equal(result.status, "budget_exceeded");
  });

  test("the limits of the outer run are handed on to an external agent, less what was used", async () => {
    await using here = await agentStage({
      "config/sous/config.yaml": `agent_servers: { toy: { command: ${JSON.stringify(process.execPath)}, args: [${JSON.stringify(TOY)}] } }\n`,
    });
    within(here, { depth: 1, maxDepth: 3, tokens: 50_000, durationMs: 600_000 });
    const script = { sous: [calls("subagent_delegate", { task: "Look.", description: "look" }), ...DONE] };
    const { results } = await here.run(script, "--yes");
    const [, text = "{}"] = / within (\{.*?\})/.exec(results[0]?.output ?? "") ?? [];
    const handed = JSON.parse(text.replaceAll('\\"', '"'));
    assert.deepEqual([handed.depth, handed.max_depth], [1, 2], results[0]?.output);
    assert.ok(handed.tokens <= 50_000 && handed.seconds <= 600, text);
  });
});

suite("a variable that cannot be read", () => {
  for (const text of [
    "1",
    "{",
    '{"depth":1}',
    '{"depth":1,"max_depth":3,"tokens":-1}',
    '{"depth":1,"max_depth":3,"more":1}',
  ]) {
    test(`a variable that cannot be read is a mistake of configuration, and nothing starts: ${text}`, async () => {
      await using here = await agentStage();
      here.env.SOUS_WITHIN = text;
      const { code, stderr } = await here.command("run", "Go", "--model", "script/none.json");
      assert.equal(code, 3);
      assert.match(stderr, /^error: The variable SOUS_WITHIN does not hold the limits of an outer run; found /);
    });
  }

  test("an empty variable is unset, and the variable is known", async () => {
    await using here = await agentStage();
    here.env.SOUS_WITHIN = "";
    const { warnings, result } = await here.run({ sous: DONE });
    assert.deepEqual([result.status, warnings], ["completed", []]);
  });
});

test("a stored run is not continued inside of another run, and a copy of it has the limits of the outer run", async () => {
  await using here = await agentStage();
  const { result } = await here.run({ sous: [calls("read_file", { path: "a.txt" }), ...DONE] }, "--max-turns", "1");
  assert.equal(result.stopReason, "turns");
  within(here, { tokens: 10 });
  const refused = await here.command("resume", result.runId);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /A stored run has limits of its own, and this sous runs inside of another run/);
  const copy = await here.command("resume", result.runId, "--fork", "--max-turns", "3", "--json");
  assert.equal(JSON.parse(copy.stdout).status, "budget_exceeded", copy.stderr);
});
