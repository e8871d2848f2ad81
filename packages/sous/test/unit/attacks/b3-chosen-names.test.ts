/** B3.3, F3: a name that a call chooses carries no secret out of a run, and makes no series that stays for ever. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { createLifecycleLog } from "../../../src/bridges/telemetry/log.ts";
import { measureRuns } from "../../../src/bridges/telemetry/metrics.ts";
import type { KnownModels } from "../../../src/bridges/telemetry/model-names.ts";
import { createRegistry } from "../../../src/bridges/telemetry/registry.ts";
import { measureStore } from "../../../src/bridges/telemetry/totals-metrics.ts";
import { type AgentOptions, agent } from "../../../src/core/agent.ts";
import type { SousEvent } from "../../../src/core/event.ts";
import type { RuntimeOptions } from "../../../src/core/runtime.ts";
import { pricedName } from "../../../src/runtime/budget/prices.ts";
import { runtimeOn } from "../../../src/runtime.ts";
import { exportTree } from "../../../src/storage/store/export/tree.ts";
import { openSqliteStore } from "../../../src/storage/store/sqlite/store.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { calls, type Script, type Step, says, uses } from "../../../src/testing/steps.ts";
import { temporaryTree } from "../../support/app/tools/temporary-tree.ts";
import { samplesOf } from "../../support/bridges/telemetry/metric-text.ts";
import { tracedProcess } from "../../support/bridges/telemetry/traced.ts";
import { MADE_UP_KEYS, randomText } from "../../support/runtime/secrets/made-up-keys.ts";

const USED = uses({ input: 100, output: 10 });

type Given = { runtime?: RuntimeOptions; lead?: Partial<AgentOptions>; known?: KnownModels };

/** A root on `own/main` whose calls may name any model of `own`, `anthropic` and `made`; every one of them answers. */
async function runOn(script: Script, { runtime, lead, known }: Given = {}) {
  await using place = await temporaryTree({});
  const file = join(place.path, "runs.db");
  const store = await openSqliteStore(file);
  const scripted = scriptedModel({ "**": () => [says("Here."), USED], ...script });
  const priceOf = (id: string) => (id.startsWith("made/priced") ? { input: 1, output: 1 } : undefined);
  const registry = createRegistry();
  const { onEvent: trace, spans } = tracedProcess({ models: known?.models });
  const lines: string[] = [];
  const log = createLifecycleLog({ write: (line) => void lines.push(line), level: "debug" });
  const events: SousEvent[] = [];
  const listener = (event: SousEvent) => void events.push(event);
  const on = runtimeOn((choice) => ({ ...scripted, id: String(choice), price: priceOf(String(choice)) }), {
    store,
    models: { allow: ["anthropic/*", "made/*"] },
    onEvent: [measureRuns(registry, known), trace, log.onEvent, listener],
    ...runtime,
  });
  const root = agent({ name: "lead", model: "own/main", delegate: true, maxTurns: 100, ...lead });
  const result = await on.run(root, "Go.").result;
  const stored = createRegistry();
  await measureStore(store, stored, known).refresh();
  const exports = await Promise.all(
    (["json", "html", "md"] as const).map((format) => exportTree(store, result.runId, format)),
  );
  const records = JSON.stringify([await store.list(), await store.totals()]);
  await store[Symbol.asyncDispose]();
  const shown = spans.map(({ name, attributes, events: noted, status }) => [name, attributes, noted, status]);
  const outlets = {
    events: JSON.stringify(events),
    records,
    database: readFileSync(file, "latin1"),
    exports: exports.join("\n"),
    spans: JSON.stringify(shown),
    "live metrics": registry.render(),
    "stored metrics": stored.render(),
    log: lines.join("\n"),
    result: JSON.stringify(result),
  };
  return { outlets, events, spans, live: registry.render(), stored: stored.render() };
}

const SHAPELESS = randomText("a key in a name", 40);
const ENVIRONMENT = { DEPLOY_TOKEN: SHAPELESS };

/** Secrets of many kinds, each as it may stand in a name. */
const SECRETS: readonly (readonly [kind: string, secret: string])[] = [
  ...MADE_UP_KEYS.filter(([, key]) => key.length < 180 && /^[A-Za-z0-9][\w.:@+-]*$/.test(key)),
  ["a known value", SHAPELESS],
  ["a known value in a longer name", `claude-${SHAPELESS}-latest`],
  ["a known value with a version", `${SHAPELESS}@20250101`],
  ["a known value as hex", Buffer.from(SHAPELESS).toString("hex")],
  ["a known value as base64", Buffer.from(`${SHAPELESS}`).toString("base64url")],
];

/** The places for a name, as calls of the root. */
const PLANTS: Readonly<Record<string, (secret: string) => Step>> = {
  "a model": (secret) => calls("subagent", { label: "a", task_prompt: "Look.", model: `own/${secret}` }),
  "a model of several": (secret) =>
    calls("parallel_subagent", { tasks: [{ label: "a", task_prompt: "Look.", model: `made/${secret}` }] }),
  "the last part of a model": (secret) =>
    calls("subagent", { label: "a", task_prompt: "Look.", model: `made/group/${secret}` }),
  "a model in the background": (secret) =>
    calls("subagent", { label: "a", task_prompt: "Look.", model: `own/${secret}`, background: true }),
  "a label": (secret) => calls("subagent", { label: secret, task_prompt: "Look." }),
  "a label of several": (secret) =>
    calls("parallel_subagent", { tasks: [{ label: `x ${secret}`, task_prompt: "Look." }] }),
  "an agent": (secret) => calls("subagent", { label: "a", task_prompt: "Look.", agent: secret }),
  "a tool": (secret) => calls(secret, {}),
  "a tool to allow": (secret) => calls("subagent", { label: "a", task_prompt: "Look.", allowed_tools: [secret] }),
  "a child to continue": (secret) => calls("subagent_send", { subagent_id: secret, message: "And?" }),
};

suite("B3.3: a secret that is the name of", () => {
  for (const [plant, step] of Object.entries(PLANTS)) {
    test(`B3.3: ${plant} is in no outlet, whatever kind of secret it is`, async () => {
      assert.ok(SECRETS.length >= 30, String(SECRETS.length));
      const steps = SECRETS.map(([, secret]) => step(secret));
      const script = { lead: [...steps, [calls("subagent_wait", {})], [says("Done."), USED]] };
      const { outlets } = await runOn(script, { runtime: { host: { environment: ENVIRONMENT } } });
      for (const [outlet, text] of Object.entries(outlets)) {
        for (const [kind, secret] of SECRETS) {
          const isThere = text.includes(secret) || text.includes(secret.slice(8, 32));
          assert.ok(!isThere, `${kind} as ${plant} is in ${outlet}`);
        }
      }
    });
  }

  test("B3.3: a model that is refused for it is named in words that the model can act on", async () => {
    const step = PLANTS["a model"]?.(SHAPELESS) ?? says("");
    const { events } = await runOn(
      { lead: [step, says("Done.")] },
      { runtime: { host: { environment: ENVIRONMENT } } },
    );
    const refused = events.find((event) => event.type === "spawn-refused");
    assert.equal(
      refused?.message,
      '"own/[redacted: DEPLOY_TOKEN]" is not a model: write provider/model, or leave model out for your own',
    );
  });
});

const MADE_UP = Array.from({ length: 40 }, (_, index) => `made/up-${index}`);
const DATED = Array.from({ length: 40 }, (_, index) => `anthropic/claude-opus-4-5-202501${10 + index}`);
const TAGGED = Array.from({ length: 40 }, (_, index) => `anthropic/claude-opus-4-5@tag${index}`);

const child = (more: object): Step => calls("subagent", { label: "a", task_prompt: "Look.", ...more });

/** The models by which tokens are counted. */
function modelsIn(text: string): string[] {
  const series = Object.keys(samplesOf(text, "modelTokens"));
  return [...new Set(series.map((each) => /model="([^"]*)"/.exec(each)?.[1] ?? ""))].sort();
}

function requestModels(spans: Awaited<ReturnType<typeof runOn>>["spans"]): unknown[] {
  return [...new Set(spans.map(({ attributes }) => attributes["gen_ai.request.model"]))]
    .filter((each) => each !== undefined)
    .sort();
}

suite("F3: models that calls make up", () => {
  const TABLE = { pricedName };

  const doors: Readonly<Record<string, (models: readonly string[]) => Step[]>> = {
    subagent: (models) => models.map((model) => child({ model })),
    "one parallel_subagent": (models) => [
      calls("parallel_subagent", {
        tasks: models.map((model, index) => ({ label: `t${index}`, task_prompt: "Look.", model })),
      }),
    ],
    "an agent without a model": (models) => models.map((model) => child({ model, agent: "plain" })),
  };
  for (const [door, steps] of Object.entries(doors)) {
    test(`F3: forty by ${door} are other, in metrics of this process and of the database, and in spans`, async () => {
      const script = { lead: [...steps(MADE_UP), [says("Done."), USED]] };
      const { live, stored, spans, events } = await runOn(script, {
        runtime: { agents: [agent({ name: "plain" })], models: { allow: ["made/*"] } },
      });
      assert.equal(events.filter(({ type }) => type === "run-start").length, 41);
      assert.deepEqual(
        [modelsIn(live), modelsIn(stored)],
        [
          ["other", "own/main"],
          ["other", "own/main"],
        ],
      );
      assert.deepEqual(requestModels(spans), ["main", "other"]);
      assert.doesNotMatch(
        live + stored + JSON.stringify(spans.map(({ name, attributes }) => [name, attributes])),
        /up-\d/,
      );
    });
  }

  test("F3: what a child of such a model starts, and the child when it runs again, is other, too", async () => {
    const script: Script = {
      lead: [
        child({ model: "made/up-1" }),
        ({ messages }) =>
          calls("subagent_send", {
            subagent_id: /subagent_id: (\w+)/.exec(JSON.stringify(messages))?.[1],
            message: "Again.",
          }),
        [says("Done."), USED],
      ],
      "lead/a": [child({ label: "below", task_prompt: "Look below." }), [says("Here."), USED], [says("Again."), USED]],
      "lead/a/below": [[says("Below."), USED]],
    };
    const { live, stored, spans, events } = await runOn(script);
    assert.deepEqual(
      events.filter(({ type }) => type === "run-start").map(({ path }) => path),
      ["lead", "lead/a", "lead/a/below", "lead/a"],
    );
    assert.deepEqual(
      [modelsIn(live), modelsIn(stored), requestModels(spans)],
      [
        ["other", "own/main"],
        ["other", "own/main"],
        ["main", "other"],
      ],
    );
  });

  test("F3: forty versions of one model of the table are one series", async () => {
    for (const models of [DATED, TAGGED]) {
      const script = { lead: [...models.map((model) => child({ model })), [says("Done."), USED]] };
      const { live, stored, spans } = await runOn(script, { known: TABLE });
      const expected = ["anthropic/claude-opus-4-5", "own/main"];
      assert.deepEqual([modelsIn(live), modelsIn(stored)], [expected, expected]);
      assert.ok(requestModels(spans).length <= 2, String(requestModels(spans)));
    }
  });
});

suite("F3: a model by its name", () => {
  const shownFor = async (step: Step, given: Given = {}) => {
    const { live, stored, spans } = await runOn({ lead: [step, [says("Done."), USED]] }, given);
    const [inLive, inStored] = [live, stored].map((text) => modelsIn(text).filter((model) => model !== "own/main"));
    return { live: inLive, stored: inStored, spans: requestModels(spans).filter((model) => model !== "main") };
  };
  const scout = agent({ name: "scout", model: "made/local" });

  test("F3: that of the run above", async () => {
    for (const step of [child({}), child({ model: "own/main" })])
      assert.deepEqual(await shownFor(step), { live: [], stored: [], spans: [] });
  });

  test("F3: that of a definition without a price in a live process, and in a database when it is configured", async () => {
    const given = { runtime: { agents: [scout], models: { allow: [] } } };
    const { live, spans, stored } = await shownFor(child({ agent: "scout" }), given);
    assert.deepEqual([live, spans, stored], [["made/local"], ["local"], ["other"]]);
    const known = { models: ["made/local"] };
    assert.deepEqual((await shownFor(child({ agent: "scout" }), { ...given, known })).stored, ["made/local"]);
  });

  test("F3: one that is configured, though a call has chosen it", async () => {
    const known = { models: ["made/local"] };
    assert.deepEqual(await shownFor(child({ model: "made/local" }), { known }), {
      live: ["made/local"],
      stored: ["made/local"],
      spans: ["local"],
    });
  });

  test("F3: one with a price, by the user or in the table", async () => {
    assert.deepEqual(await shownFor(child({ model: "made/priced-x" })), {
      live: ["made/priced-x"],
      stored: ["made/priced-x"],
      spans: ["priced-x"],
    });
    const { live, stored } = await shownFor(child({ model: "anthropic/claude-haiku-4-5" }), { known: { pricedName } });
    assert.deepEqual([live, stored], [["anthropic/claude-haiku-4-5"], ["anthropic/claude-haiku-4-5"]]);
  });
});
