/** Options that no function has are refused, with the one that was probably meant. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import * as z from "zod";
import { createAcpClient } from "../../../src/acp-client.ts";
import { builtInTools, loadAgents } from "../../../src/agent-files.ts";
import { readOnlyTools } from "../../../src/app/tools/read-only.ts";
import { createLifecycleLog } from "../../../src/bridges/telemetry/log.ts";
import { meterRuns } from "../../../src/bridges/telemetry/otel-meter.ts";
import { traceRuns } from "../../../src/bridges/telemetry/spans.ts";
import { cassetteModel, scriptFromCassette } from "../../../src/cassette.ts";
import { agent } from "../../../src/core/agent.ts";
import { UserError } from "../../../src/core/errors.ts";
import { mergeProviderOptions } from "../../../src/core/model-options.ts";
import { ToolRegistry, tool } from "../../../src/core/tool.ts";
import { rerun } from "../../../src/rerun.ts";
import {
  createRuntime,
  fanOut,
  fork,
  registerSubagentTools,
  resume,
  run,
  subagentFactory,
} from "../../../src/runtime.ts";
import { openMemoryStore } from "../../../src/storage/store/memory.ts";
import { openPostgresStore } from "../../../src/storage/store/postgres/store.ts";
import { openSqliteStore } from "../../../src/storage/store/sqlite/store.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { says } from "../../../src/testing/steps.ts";

// biome-ignore lint/suspicious/noExplicitAny: what JavaScript lets through.
type Any = any;

const model = scriptedModel({ "**": [says("Done.")] });
const scout = agent({ name: "scout", model });
const runtime = createRuntime();
const store = openMemoryStore();
const echo = { name: "echo", description: "Echoes", inputSchema: z.object({}), execute: () => "" };

const WRONG: readonly [name: string, call: () => unknown, message: string | RegExp][] = [
  [
    "agent()",
    () => agent({ name: "x", maxSteps: 3 } as Any),
    'agent() has no option "maxSteps": did you mean maxTurns?',
  ],
  [
    "a misspelled option",
    () => agent({ name: "x", temparature: 1 } as Any),
    'agent() has no option "temparature": did you mean temperature?',
  ],
  ["another spelling", () => agent({ name: "x", max_turns: 1 } as Any), /did you mean maxTurns\?$/],
  ["another library's word", () => agent({ name: "x", system: "Be brief." } as Any), /did you mean instructions\?$/],
  [
    "with()",
    () => scout.with({ toolchoice: "auto" } as Any),
    /^agent\(\) has no option "toolchoice": did you mean toolChoice\?$/,
  ],
  [
    "hooks",
    () => agent({ name: "x", hooks: { beforeToolcall: () => undefined } } as Any),
    /did you mean beforeToolCall\?$/,
  ],
  [
    "a budget",
    () => agent({ name: "x", budget: { token: 5 } } as Any),
    /^agent x: budget has no option "token": did you mean tokens\?$/,
  ],
  [
    "tool()",
    () => tool({ ...echo, parameters: {} } as Any),
    'tool() has no option "parameters": did you mean inputSchema?',
  ],
  [
    "createRuntime()",
    () => createRuntime({ stores: store } as Any),
    /^createRuntime\(\) has no option "stores": did you mean store\?$/,
  ],
  [
    "models",
    () => createRuntime({ models: { price: {} } } as Any),
    /^models has no option "price": did you mean prices\?$/,
  ],
  ["run()", () => run(scout, "Go.", { maxTurns: 3 } as Any), /^run\(\) has no option "maxTurns": /],
  ["run() with a budget", () => run(scout, "Go.", { budget: { cost: 1 } } as Any), /did you mean costUsd\?$/],
  [
    "run() with limits",
    () => run(scout, "Go.", { limits: { maxDept: 1 } } as Any),
    /^limits has no option "maxDept": did you mean maxDepth\?$/,
  ],
  [
    "run() with a conversation",
    () => run(scout, "Go.", { conversation: { maxToken: 1 } } as Any),
    /did you mean maxTokens\?$/,
  ],
  ["run() of a runtime", () => runtime.run(scout, "Go.", { store } as Any), /^run\(\) has no option "store": /],
  ["fanOut()", () => fanOut(scout, ["Go."], { limit: 3 } as Any), /did you mean concurrency\?$/],
  ["budget", () => run(scout, "Go.", { budget: { seconds: 3 } as Any }), /did you mean durationMs\?$/],
  ["resume()", () => resume("x", { store, messages: "Go on." } as Any), /did you mean message\?$/],
  ["fork()", () => fork("x", { store, turn: 3 } as Any), /^fork\(\) has no option "turn"/],
  [
    "readOnlyTools()",
    () => readOnlyTools({ folder: "/srv" } as Any),
    'readOnlyTools() has no option "folder": did you mean root?',
  ],
  [
    "readOnlyTools() with a path",
    () => readOnlyTools("/srv" as Any),
    "readOnlyTools() takes its options as an object; found /srv",
  ],
  ["builtInTools()", () => builtInTools({ rot: "/srv" } as Any), /did you mean root\?$/],
  [
    "subagentFactory()",
    () => subagentFactory({ registry: new ToolRegistry(), modle: model } as Any),
    /did you mean model\?$/,
  ],
  [
    "registerSubagentTools()",
    () => registerSubagentTools(new ToolRegistry(), { model, maxDept: 1 } as Any),
    /did you mean maxDepth\?$/,
  ],
  ["scriptedModel()", () => scriptedModel({ "**": [says("Done.")] }, { prices: {} } as Any), /did you mean price\?$/],
  ["cassetteModel()", () => cassetteModel("x.json", { recorded: "x" } as Any), /did you mean record\?$/],
  ["scriptFromCassette()", () => scriptFromCassette("x.json", { mach: "turn" } as Any), /did you mean match\?$/],
  ["meterRuns()", () => meterRuns({ meterProviders: {} } as Any), /did you mean meterProvider\?$/],
  [
    "createLifecycleLog()",
    () => createLifecycleLog({ write: () => {}, levels: "info" } as Any),
    /did you mean level\?$/,
  ],
  ["traceRuns()", () => traceRuns({ captureContents: true } as Any), /did you mean captureContent\?$/],
  [
    "createAcpClient()",
    () => createAcpClient({ servers: {}, permission: "deny" } as Any),
    /did you mean permissions\?$/,
  ],
  ["a budget in dollars", () => run(scout, "Go.", { budget: { usd: 1 } } as Any), /did you mean costUsd\?$/],
  [
    "a name that every object has",
    () => agent({ name: "x", constructor: () => undefined } as Any),
    /^agent\(\) has no option "constructor": it has name, /,
  ],
  ["options that are no object", () => agent("scout" as Any), "agent() takes its options as an object; found scout"],
];

const LATER_WRONG: readonly [name: string, call: () => Promise<unknown>, message: RegExp][] = [
  ["loadAgents()", () => loadAgents({ folder: ".", tool: [] } as Any), /did you mean tools\?$/],
  ["openSqliteStore()", () => openSqliteStore("never-made.db", { readonly: true } as Any), /did you mean readOnly\?$/],
  [
    "openPostgresStore()",
    () => openPostgresStore({ connectionstring: "x" } as Any),
    /did you mean connectionString\?$/,
  ],
  ["rerun()", () => rerun("x", { store, livetools: true } as Any), /did you mean liveTools\?$/],
];

suite("an unknown option", () => {
  for (const [name, call, message] of LATER_WRONG) {
    test(`an unknown option of ${name} rejects with a UserError`, async () => {
      await assert.rejects(call, (error: unknown) => {
        assert(error instanceof UserError);
        assert.match(error.message, message);
        return true;
      });
    });
  }

  for (const [name, call, message] of WRONG) {
    test(`an unknown option of ${name} is a UserError`, () => {
      assert.throws(call, (error: unknown) => {
        assert(error instanceof UserError);
        if (typeof message === "string") assert.equal(error.message, message);
        else assert.match(error.message, message);
        return true;
      });
    });
  }

  test("an unknown option that is undefined counts as not given", () => {
    assert.equal(agent({ name: "x", maxSteps: undefined } as Any).name, "x");
  });
});

test("a definition may be spread into another", async () => {
  const copy = agent({ ...scout, name: "copy" });
  const { text } = await run(copy, "Go.");
  assert.equal(text, "Done.");
});

test("the options of a run and of its runtime may be given together", async () => {
  const { status } = await run(scout, "Go.", {
    store,
    requireStore: true,
    budget: { tokens: 100_000 },
    limits: { maxDepth: 2 },
  });
  assert.equal(status, "completed");
});

suite("a wrong value", () => {
  const VALUES: readonly [options: object, message: RegExp][] = [
    [{ temperature: 3 }, /^agent x: temperature must be between 0 and 2; found 3$/],
    [{ temperature: Number.NaN }, /^agent x: temperature must be/],
    [{ temperature: "1" }, /^agent x: temperature must be/],
    [{ effort: "huge" }, /^agent x: effort must be "none" or "minimal" or .*; found "huge"$/],
    [
      { toolChoice: "any" },
      /^agent x: toolChoice must be "auto", "none", "required" or \{ tool: "name" \}; found "any"$/,
    ],
    [{ toolChoice: { tool: 7 } }, /^agent x: toolChoice must be/],
    [{ toolChoice: 1n }, /^agent x: toolChoice must be .*; found 1$/],
    [{ providerOptions: new Map([["openai", {}]]) }, /^agent x: providerOptions must be an object by provider/],
    [{ providerOptions: { openai: new Map() } }, /^agent x: providerOptions: openai must be an object of options$/],
    [{ providerOptions: [] }, /^agent x: providerOptions must be an object by provider/],
    [{ providerOptions: { openai: 7 } }, /^agent x: providerOptions: openai must be an object of options$/],
    [
      { providerOptions: { openai: { key: () => "secret" } } },
      /^agent x: providerOptions: openai.key must be a JSON value$/,
    ],
    [{ providerOptions: { openai: { at: new Date(0) } } }, /openai.at must be a JSON value$/],
    [{ providerOptions: { openai: { n: 1n } } }, /openai.n must be a JSON value$/],
  ];
  for (const [options, message] of VALUES) {
    test(`${message.source} is refused`, () => {
      assert.throws(() => agent({ name: "x", ...options } as Any), { name: "UserError", message });
    });
  }

  test("a value that contains itself is refused", () => {
    const loop: Any = {};
    loop.self = loop;
    assert.throws(() => agent({ name: "x", providerOptions: { openai: loop } }), /openai.self must be a JSON value$/);
    assert.throws(() => agent({ name: "x", toolChoice: loop }), /^UserError: agent x: toolChoice must be/);
  });

  test("a value that is in itself many times over is refused at once", () => {
    let wide: Any = [1];
    for (let level = 0; level < 40; level++) wide = [wide, wide];
    assert.throws(
      () => agent({ name: "x", providerOptions: { openai: { wide } } }),
      /openai.wide must be a JSON value$/,
    );
  });

  test("options under the name of a prototype are options like others", () => {
    const given: Any = JSON.parse('{"__proto__":{"speed":"fast"},"openai":{"a":1}}');
    const merged = mergeProviderOptions({ openai: { b: 2 } }, given);
    assert.equal(Object.getPrototypeOf(merged), Object.prototype);
    assert.deepEqual(merged?.openai, { a: 1, b: 2 });
  });

  test("a wrong value cannot be put in later: the options of a definition are copies", () => {
    const options = { openai: { serviceTier: "flex" } };
    const made = agent({ name: "x", providerOptions: options });
    options.openai.serviceTier = "priority";
    assert.deepEqual(made.providerOptions, { openai: { serviceTier: "flex" } });
  });
});
