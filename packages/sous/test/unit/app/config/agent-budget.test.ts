/** When one call of an agent is large beside a limit: at a quarter of it, by what the engine really reserves. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { AgentFile } from "../../../../src/app/config/agents/file.ts";
import { readAgentFile } from "../../../../src/app/config/agents/read.ts";
import { checkCallSize } from "../../../../src/app/config/agents/rights.ts";
import { agent } from "../../../../src/core/agent.ts";
import type { SousEvent } from "../../../../src/core/event.ts";
import { METERED_OUTPUT } from "../../../../src/core/limits.ts";
import { run } from "../../../../src/runtime.ts";
import { scriptedModel } from "../../../../src/testing/scripted-model.ts";
import { says } from "../../../../src/testing/steps.ts";

function fileWith(key: string): AgentFile {
  const text = `---\nname: scout\ndescription: Finds.\n${key}\n---\nFind.\n`;
  const { agent: read, problems } = readAgentFile({ file: "scout.md", text, dialect: "sous", scope: "user" });
  assert.ok(read !== undefined, JSON.stringify(problems));
  return read;
}

test("a call may take a quarter of the limit and not more", () => {
  const file = fileWith("max_output_tokens: 2500");
  assert.equal(checkCallSize(file, 10_000), undefined);
  assert.equal(checkCallSize(file, 9999)?.line, 4);
  assert.equal(checkCallSize(file, undefined), undefined);
});

test("a file that does not say how long an answer may be counts with what the engine reserves", () => {
  const file = fileWith("max_turns: 3");
  assert.equal(checkCallSize(file, 4 * METERED_OUTPUT), undefined);
  const { line, message = "" } = checkCallSize(file, 4 * METERED_OUTPUT - 1) ?? {};
  assert.equal(line, 1);
  assert.match(message, /^one call reserves 4096 tokens for its answer/);
});

test("a limit so small that nothing helps but a larger one is told so", () => {
  assert.match(
    checkCallSize(fileWith("max_turns: 3"), 3)?.fix ?? "",
    /^raise agent\.subagent\.max_total_tokens to 16384/,
  );
});

test("the check counts with what the engine reserves for an answer where tokens are limited", async () => {
  const events: SousEvent[] = [];
  const scout = agent({ name: "scout", model: scriptedModel(says("Done.")) });
  await run(scout, "Go.", { budget: { tokens: 100_000 }, onEvent: (event) => events.push(event) });
  const start = events.find((event) => event.type === "turn-start");
  assert.equal((start?.reserved ?? 0) - (start?.promptTokens ?? 0), METERED_OUTPUT);
});

test("a length of answers that is not a whole number keeps an agent from being loaded", () => {
  for (const value of ["0", "-1", "1.5", "many", "10000001"]) {
    const text = `---\nname: scout\ndescription: Finds.\nmax_output_tokens: ${value}\n---\nFind.\n`;
    const { agent: read, problems } = readAgentFile({ file: "scout.md", text, dialect: "sous", scope: "user" });
    assert.equal(read, undefined, value);
    assert.equal(problems[0]?.message, "max_output_tokens must be a whole number from 1 to 10000000");
  }
});
