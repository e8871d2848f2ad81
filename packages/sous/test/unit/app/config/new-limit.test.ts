/** A limit is described once: a new one changes the files of `NEW_LIMIT`, and everything else follows. */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { after, test } from "node:test";
import { ALL_LIMITS, LIMIT_SETTINGS } from "../../../../src/app/config/limit-settings.ts";
import type { StoredEvent } from "../../../../src/core/event.ts";
import { type DelegationLimits, LIMIT_NAMES, LIMITS, TURNS } from "../../../../src/core/words/limits.ts";
import type { Script } from "../../../../src/testing/steps.ts";
import { calls, says } from "../../../../src/testing/steps.ts";
import { ConfigurationFolder } from "../../../support/app/config/configuration-files.ts";
import { ChangedSources } from "../../../support/changed-sources.ts";
import { EVERY_EVENT } from "../../../support/core/every-event.ts";
import { NEW_LIMIT } from "../../../support/core/new-words.ts";
import { readGolden, runChanged } from "../../../support/core/next-version.ts";

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
    maxTurns: numbers.maxTurns,
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

test("a new limit is enforced: one child too many is refused, and the others are not", async () => {
  const child = (label: string) => calls("subagent", { label, task_prompt: "Look." });
  const script: Script = {
    lead: [[child("one"), child("two"), child("three")], says("Done.")],
    "**": [says("Seen.")],
  };
  const limits: Partial<Limits> = { maxSiblings: 2 };
  const { events } = await runChanged(sources, script, { limits });
  assert.deepEqual(
    events.filter(({ type }) => type === "run-start").map(({ path }) => path),
    ["lead", "lead/one", "lead/two"],
  );
  const refusals = events.filter((event) => event.type === "spawn-refused");
  assert.deepEqual(
    refusals.map(({ label, message }) => [label, message]),
    [["three", "A run may have at most 2 children"]],
  );
  assert.deepEqual(events.flatMap(limitIn), [2]);
});

test("a new limit is stored with a run, checked when the run is read, and has its default in runs from before", async () => {
  const { parseStoredEvent } = await sources.load<typeof import("../../../../src/storage/store/event-schema.ts")>(
    "storage/store/event-schema.ts",
  );
  const start = EVERY_EVENT["run-start"];
  const stored = (limits: object, version?: number) => {
    const terms = { ...start.terms, limits: { ...start.terms?.limits, ...limits } };
    return limitIn(parseStoredEvent({ ...start, terms }, version));
  };
  assert.deepEqual([stored({ maxSiblings: 7 }), stored({}, 1)], [[7], [8]]);
  assert.throws(() => stored({ maxSiblings: "many" }), /terms\.limits\.maxSiblings must be a number$/);
  assert.throws(() => stored({ maxDepth: undefined }, 1), /terms\.limits\.maxDepth must be a number$/);
  assert.throws(() => stored({ maxCousins: 1 }), /terms\.limits has the field maxCousins, which this version/);
  const golden = await readGolden(sources);
  assert.deepEqual(golden.flatMap(limitIn), [8, 8]);
});

/** The new limit of a tree, which the start of its root has. */
function limitIn(event: StoredEvent): (number | undefined)[] {
  const limits = event.type === "run-start" ? event.terms?.limits : undefined;
  return limits === undefined ? [] : [(limits as { maxSiblings?: number }).maxSiblings];
}
