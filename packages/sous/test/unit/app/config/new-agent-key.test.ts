/**
 * A key of agent files is a field, a reader, a row of its dialect and a line of the template; known keys, the draft, the definition
 * and the lines of `sous agents show` follow.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { openOutput } from "../../../../src/app/cli/terminal/output.ts";
import { ChangedSources } from "../../../support/changed-sources.ts";
import { NEW_AGENT_KEY } from "../../../support/core/new-words.ts";

const sources = new ChangedSources(NEW_AGENT_KEY);
after(() => sources[Symbol.dispose]());

async function read(front: string) {
  const { readAgentFile } =
    await sources.load<typeof import("../../../../src/app/config/agents/read.ts")>("app/config/agents/read.ts");
  const text = `---\nname: scout\ndescription: Finds.\n${front}\n---\nFind.\n`;
  return readAgentFile({ file: "agents/scout.md", text, dialect: "sous", scope: "user" });
}

test("a new key of agent files reaches the definition of the agent, with the line it came from", async () => {
  const { agent, problems } = await read("max_cost: 0.5");
  assert.deepEqual(problems, []);
  assert.ok(agent !== undefined);
  assert.deepEqual(agent.origins.fields.budget, { line: 4, text: "0.5" });
  const { toDefinition } =
    await sources.load<typeof import("../../../../src/app/config/agents/file.ts")>("app/config/agents/file.ts");
  assert.deepEqual(toDefinition(agent, { tools: [], delegates: false, rules: undefined }).budget, { costUsd: 0.5 });
});

test("a new key of agent files is shown with all that its agent may do", async () => {
  const { agent } = await read("max_cost: 0.5");
  assert.ok(agent !== undefined);
  const { toEffectiveRights } =
    await sources.load<typeof import("../../../../src/app/config/agents/rights.ts")>("app/config/agents/rights.ts");
  const { rightsLines } = await sources.load<typeof import("../../../../src/app/cli/commands/agent-lines.ts")>(
    "app/cli/commands/agent-lines.ts",
  );
  const output = openOutput(process.stdout, { color: "never", ascii: true });
  const lines = rightsLines(agent, toEffectiveRights(agent, []), [], output);
  assert.ok(
    lines.some((line) => /^ {2}budget +0\.5 +agents\/scout\.md:4 \(0\.5\)$/.test(line)),
    lines.join("\n"),
  );
});

test("a new key of agent files is refused with a wrong value, suggested for a misspelling and known where texts are quoted", async () => {
  assert.equal((await read("max_cost: none")).problems[0]?.message, "max_cost must be greater than 0");
  assert.equal((await read("max_cots: 1")).problems[0]?.fix, "did you mean max_cost?");
  const { isStructuredKey } = await sources.load<typeof import("../../../../src/app/config/agents/dialects.ts")>(
    "app/config/agents/dialects.ts",
  );
  assert.ok(isStructuredKey("max_cost"));
});

test("a new key of agent files is in the file that sous agents new writes, as C1 demands of every key", async () => {
  const { agentTemplate } = await sources.load<typeof import("../../../../src/app/cli/commands/agent-template.ts")>(
    "app/cli/commands/agent-template.ts",
  );
  assert.match(agentTemplate("scout"), /^# max_cost: 0\.5$/m);
});
