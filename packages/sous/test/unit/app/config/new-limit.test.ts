/** A limit is described once: a new one changes two files besides the one that enforces it, and everything else follows. */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { after, test } from "node:test";
import { ALL_LIMITS, LIMIT_SETTINGS } from "../../../../src/app/config/limit-settings.ts";
import type { StoredEvent } from "../../../../src/core/event.ts";
import { type DelegationLimits, LIMIT_NAMES, LIMITS, TURNS } from "../../../../src/core/words/limits.ts";
import { ConfigurationFolder } from "../../../support/app/config/configuration-files.ts";
import { ChangedSources, type SourceChanges } from "../../../support/changed-sources.ts";

const NEW_LIMIT: SourceChanges = {
  "core/words/limits.ts": [
    ["  maxConcurrent: number;\n", "$&  /** Children of one run. */\n  maxSiblings: number;\n"],
    [
      '  maxConcurrent: { default: 5, min: 1, narrows: "lower" },\n',
      '$&  maxSiblings: { default: 8, min: 2, max: 90, narrows: "lower" },\n',
    ],
  ],
  "app/config/limit-settings.ts": [
    [
      '  "limits.onFull": {\n',
      `  "limits.maxSiblings": {
    key: "agent.subagent.max_siblings",
    about: "How many children one run may have.",
    flag: { name: "max-siblings", value: "N", about: "children of one run (default 8)" },
  },
$&`,
    ],
  ],
};

const sources = new ChangedSources(NEW_LIMIT);
const folder = new ConfigurationFolder();
after(() => {
  sources[Symbol.dispose]();
  folder[Symbol.dispose]();
});

type Limits = DelegationLimits & { maxSiblings?: number };

async function loaded(user: string, parameters: readonly string[] = [], env: Record<string, string> = {}) {
  writeFileSync(folder.file("user.yaml"), user);
  const { loadConfiguration } = await sources.load<typeof import("../../../../src/app/config/load-configuration.ts")>(
    "app/config/load-configuration.ts",
  );
  const { readOptions } =
    await sources.load<typeof import("../../../../src/app/cli/table/options.ts")>("app/cli/table/options.ts");
  const { RUN } =
    await sources.load<typeof import("../../../../src/app/cli/table/run-entries.ts")>("app/cli/table/run-entries.ts");
  const { readRunFlags } =
    await sources.load<typeof import("../../../../src/app/cli/table/run-flags.ts")>("app/cli/table/run-flags.ts");
  const { settings } = readRunFlags(readOptions(RUN, parameters).values);
  const read = await loadConfiguration({ userFile: folder.file("user.yaml"), env, flags: settings, cwd: folder.path });
  const limits: Limits = read.configuration.agent.limits;
  return limits.maxSiblings;
}

const SET = "agent: { subagent: { max_siblings: 20 } }\n";

test("a new limit changes at most three source files, the one that enforces it included", () => {
  assert.ok(Object.keys(NEW_LIMIT).length + 1 <= 3);
});

test("a new limit is read from a file, a variable and a flag, and has its default", async () => {
  assert.equal(await loaded(""), 8);
  assert.equal(await loaded(SET), 20);
  assert.equal(await loaded(SET, [], { SOUS_AGENT_SUBAGENT_MAX_SIBLINGS: "30" }), 30);
  assert.equal(await loaded(SET, ["Go", "--max-siblings", "40"]), 40);
  await assert.rejects(
    loaded("agent: { subagent: { max_siblings: 91 } }\n"),
    /user\.yaml:1:36: agent\.subagent\.max_siblings must be at most 90 \(allowed: 2–90\); found 91/,
  );
});

test("a new limit is in the help and in the schema for editors", async () => {
  const { helpOn } =
    await sources.load<typeof import("../../../../src/app/cli/table/help.ts")>("app/cli/table/help.ts");
  assert.match(helpOn("run"), /--max-siblings N +children of one run \(default 8\)/);
  const { configurationSchema } =
    await sources.load<typeof import("../../../../src/app/config/explain.ts")>("app/config/explain.ts");
  const schema = { description: "How many children one run may have.", type: "integer", minimum: 2, maximum: 90 };
  assert.ok(
    JSON.stringify(configurationSchema()).includes(`"max_siblings":${JSON.stringify({ ...schema, default: 8 })}`),
  );
});

test("the text of each flag names the default and the bounds that its limit has", () => {
  const numbers: Record<string, number> = { maxTurns: TURNS.root };
  for (const name of LIMIT_NAMES) {
    const { default: value } = LIMITS[name];
    if (typeof value === "number") numbers[`limits.${name}`] = value;
  }
  const named = ALL_LIMITS.flatMap(([path, { flag }]) => {
    const words = /\(default (\d+)\)$/.exec(flag?.about ?? "");
    return words === null ? [] : [[path, Number(words[1])]];
  });
  assert.deepEqual(Object.fromEntries(named), {
    maxTurns: numbers["maxTurns"],
    "limits.maxDepth": numbers["limits.maxDepth"],
    "limits.maxConcurrent": numbers["limits.maxConcurrent"],
  });
  const { about } = LIMIT_SETTINGS["limits.maxDepth"].flag;
  assert.ok(about.includes(`${LIMITS.maxDepth.min} to ${LIMITS.maxDepth.max}`), about);
  assert.ok(LIMIT_SETTINGS["limits.defaultMaxTurns"].about.includes(`it has ${TURNS.named} then`));
});

test("a new limit is narrowed, and checked when a program gives it", async () => {
  const { checkLimits, DEFAULT_LIMITS, narrowerLimits } =
    await sources.load<typeof import("../../../../src/core/words/limits.ts")>("core/words/limits.ts");
  const narrowed = (maxSiblings: number) =>
    (narrowerLimits(DEFAULT_LIMITS, { maxSiblings } as Partial<Limits>) as Limits).maxSiblings;
  assert.deepEqual([narrowed(3), narrowed(50)], [3, 8]);
  assert.throws(
    () => checkLimits({ ...DEFAULT_LIMITS, maxSiblings: 1 } as Limits),
    /limits\.maxSiblings must be a whole number between 2 and 90; found 1/,
  );
});

test("a new limit is stored with a run, and checked when the run is read", async () => {
  const { agent, createRuntime, openMemoryStore } =
    await sources.load<typeof import("../../../../src/index.ts")>("index.ts");
  const { scriptedModel, says } = await sources.load<typeof import("../../../../src/testing.ts")>("testing.ts");
  const { parseStoredEvent } = await sources.load<typeof import("../../../../src/storage/store/event-schema.ts")>(
    "storage/store/event-schema.ts",
  );
  const store = openMemoryStore();
  const runtime = createRuntime({ store });
  const limits: Partial<Limits> = { maxSiblings: 4 };
  const lead = agent({ name: "lead", model: scriptedModel([says("Done.")]) });
  const { runId } = await runtime.run(lead, "Go", { limits });
  const [start] = await store.read(runId);
  const limitIn = (event: StoredEvent | undefined) =>
    event?.type === "run-start" ? (event.terms?.limits as Limits).maxSiblings : undefined;
  assert.equal(limitIn(start), 4);
  const stored = (maxSiblings: unknown) => {
    const event = JSON.parse(JSON.stringify(start));
    event.terms.limits.maxSiblings = maxSiblings;
    return limitIn(parseStoredEvent(event));
  };
  assert.equal(stored(7), 7);
  assert.throws(() => stored("many"), /terms\.limits\.maxSiblings/);
});
