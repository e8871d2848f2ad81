/**
 * A key of agent files is a field, a reader and a row of its dialect; known keys, the draft, the definition and the lines of
 * `sous agents show` follow.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { openOutput } from "../../../../src/app/cli/terminal/output.ts";
import { ChangedSources, type SourceChanges } from "../../../support/changed-sources.ts";

/** `max_cost: 0.5` becomes the budget of the agent. */
const NEW_KEY: SourceChanges = {
  "app/config/agents/file.ts": [
    ["  readonly timeoutMs?: number;\n", "$&  readonly budget?: { readonly costUsd: number };\n"],
    ['  "timeoutMs",\n', '$&  "budget",\n'],
  ],
  "app/config/agents/fields.ts": [
    [
      "export const readDelegate: KeyReader",
      `export const readMaxCost: KeyReader = (draft, key) => {
  const value = draft.settings[key];
  if (typeof value === "number" && value > 0) draft.set("budget", { costUsd: value }, [key], String(value));
  else draft.refuse("SOUS-A003", [key], \`\${key} must be greater than 0\`, \`write \\\`\${key}: 0.5\\\`\`);
};

$&`,
    ],
  ],
  "app/config/agents/dialects.ts": [
    ["  readMaxOutputTokens,\n", "  readMaxCost,\n$&"],
    ["  max_output_tokens: readMaxOutputTokens,\n", "$&  max_cost: readMaxCost,\n"],
  ],
};

const sources = new ChangedSources(NEW_KEY);
after(() => sources[Symbol.dispose]());

async function read(front: string) {
  const { readAgentFile } =
    await sources.load<typeof import("../../../../src/app/config/agents/read.ts")>("app/config/agents/read.ts");
  const text = `---\nname: scout\ndescription: Finds.\n${front}\n---\nFind.\n`;
  return readAgentFile({ file: "agents/scout.md", text, dialect: "sous", scope: "user" });
}

test("a new key of agent files changes at most four source files", () => {
  assert.ok(Object.keys(NEW_KEY).length <= 4);
});

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
