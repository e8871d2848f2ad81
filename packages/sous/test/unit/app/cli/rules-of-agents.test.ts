/** Rules of agent files bind everything below their agent, and there is one implementation of it: the loop's. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { builtInTools, loadAgents } from "../../../../src/agent-files.ts";
import { type Application, openApplication } from "../../../../src/app/cli/application/open.ts";
import { readOptions } from "../../../../src/app/cli/table/options.ts";
import { RUN } from "../../../../src/app/cli/table/run-entries.ts";
import { readRunFlags } from "../../../../src/app/cli/table/run-flags.ts";
import { type AgentDefinition, agent } from "../../../../src/core/agent.ts";
import type { Approve } from "../../../../src/core/approval.ts";
import type { SousEvent } from "../../../../src/core/event.ts";
import { createPolicy } from "../../../../src/runtime/rights/policy.ts";
import { createRuntime, type Runtime } from "../../../../src/runtime.ts";
import { parseScript } from "../../../../src/testing/script-file.ts";
import { scriptedModel } from "../../../../src/testing/scripted-model.ts";
import { type AgentStage, agentFile, agentStage, calls, DONE } from "../../../support/app/cli/agent-stage.ts";

/** `outer` calls `inner`, which has rules of its own and a child that a call makes up. */
const OUTER = agentFile(
  "outer",
  [
    "delegate: true",
    "permissions:",
    '  - deny: "write_file(src/**)"',
    '  - ask: "write_file(docs/**)"',
    '  - allow: "write_file(own/**)"',
  ].join("\n"),
);
const INNER = agentFile(
  "inner",
  [
    'tools: ["write_file", "read_file(docs/**)"]',
    "delegate: true",
    "permissions:",
    '  - deny: "write_file(docs/inner*)"',
    '  - allow: "write_file(own/**)"',
  ].join("\n"),
);

const TRIES = [
  ...["src/a", "docs/a", "docs/inner", "own/a", "free/a"].map((path) => calls("write_file", { path, content: "x" })),
  calls("read_file", { path: "a.txt" }),
];
const child = (task: string): object => calls("subagent", { label: "c", task });

const SCRIPT = {
  sous: [...TRIES, calls("subagent_outer", { task: "Work." }), ...DONE],
  "sous/outer": [...TRIES, calls("subagent", { label: "i", task: "Work.", agent: "inner" }), ...DONE],
  "sous/outer/i": [...TRIES, child("Do the first half."), ...DONE],
  "sous/outer/i/c": [...TRIES, child("Do the first quarter."), ...DONE],
  "sous/outer/i/c/c": [...TRIES, ...DONE],
};

const USERS = ["write_file(free/**)", "write_file(docs/**)", "subagent(*)"];

/** By path, what became of each try: done, asked about, or denied by a rule. */
type Decisions = Record<string, string>;

async function decisionsOf(runtime: Runtime, root: AgentDefinition, asked: Set<string>): Promise<Decisions> {
  const decisions: Decisions = {};
  const onEvent = (event: SousEvent): void => {
    if (event.type !== "tool-call-end" || event.toolName.includes("subagent")) return;
    const verdict = asked.has(event.callId) ? "ask" : event.isError ? "deny" : "done";
    decisions[event.path] = `${decisions[event.path] ?? ""} ${verdict}`.trimStart();
  };
  const result = await runtime.run(root, "Go.", { onEvent, limits: { maxDepth: 4 } }).result;
  assert.equal(result.status, "completed");
  return decisions;
}

function openCommand(here: AgentStage, ask: Approve): Promise<Application> {
  const { values } = readOptions(RUN, ["--model", `script/${join(here.path, "answers.json")}`, "--ephemeral"]);
  return openApplication({ flags: readRunFlags(values), cwd: here.root, env: here.env, ask, warn: () => {} });
}

async function throughCommand(here: AgentStage): Promise<Decisions> {
  const asked = new Set<string>();
  await using application = await openCommand(here, ({ callId }) => {
    asked.add(callId);
    return { allow: false };
  });
  return decisionsOf(application.runtime, application.agent, asked);
}

async function throughLibrary(here: AgentStage): Promise<Decisions> {
  const asked = new Set<string>();
  const tools = builtInTools({ root: here.root });
  const { agents, problems } = await loadAgents({ folder: join(here.path, "config/sous/agents"), tools });
  assert.deepEqual(problems, []);
  const model = scriptedModel(parseScript(readFileSync(join(here.path, "answers.json"), "utf8"), "answers.json"));
  const { decide } = createPolicy({
    rules: USERS.map((pattern) => ({ effect: "allow", pattern, origin: "user" }) as const),
  });
  const ask: Approve = ({ callId }) => {
    asked.add(callId);
    return { allow: false };
  };
  const runtime = createRuntime({ agents, approve: { decide, ask }, host: { cwd: here.root } });
  const root = agent({ name: "sous", model, tools, subagents: agents, delegate: true });
  return decisionsOf(runtime, root, asked);
}

function stage(script: object = SCRIPT): Promise<AgentStage> {
  return agentStage({
    "config/sous/config.yaml": `permissions:\n${USERS.map((pattern) => `  - allow: "${pattern}"\n`).join("")}`,
    "config/sous/agents/outer.md": OUTER,
    "config/sous/agents/inner.md": INNER,
    "answers.json": JSON.stringify(script),
    "project/src/": "",
    "project/docs/": "",
    "project/own/": "",
    "project/free/": "",
  });
}

suite("H3, B1.1: one tree is judged alike through the command line and through the library", () => {
  // In the order of the tries: src/a, docs/a, docs/inner, own/a, free/a, and reading a.txt.
  const EXPECTED: Decisions = {
    sous: "ask done done ask done done",
    "sous/outer": "deny ask ask done done done",
    "sous/outer/i": "deny ask deny done done deny",
    "sous/outer/i/c": "deny ask deny ask done deny",
    "sous/outer/i/c/c": "deny ask deny ask done deny",
  };

  test("H3, B1.1: the command line judges a tree by the rules of its agents", async () => {
    await using here = await stage();
    assert.deepEqual(await throughCommand(here), EXPECTED);
  });

  test("H3, B1.1: the library judges a tree by the rules of its agents", async () => {
    await using here = await stage();
    assert.deepEqual(await throughLibrary(here), EXPECTED);
  });
});

test("B5.7: an answer for always to a question of a file counts for the agent that asked, not for its child", async () => {
  const write = calls("write_file", { path: "docs/a", content: "x" });
  await using here = await stage({
    sous: [calls("subagent_outer", { task: "Work." }), ...DONE],
    "sous/outer": [write, write, child("Do the first half."), write, ...DONE],
    "sous/outer/c": [write, ...DONE],
  });
  const asked: string[] = [];
  await using application = await openCommand(here, (request) => {
    asked.push(request.path);
    const { rule } = application.describe(request);
    if (rule !== undefined && request.path === "sous/outer") application.remember(rule, request);
    return { allow: true };
  });
  await application.runtime.run(application.agent, "Go.");
  assert.deepEqual(asked, ["sous/outer", "sous/outer/c"]);
});
