/** An event is described once: a new stored event changes the files of `NEW_EVENT`, and is redacted, stored, compared and shown. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import type { StoredEvent } from "../../../src/core/event.ts";
import { ChangedSources } from "../../support/changed-sources.ts";
import { NEW_EVENT, NEXT_VERSION } from "../../support/core/new-words.ts";
import { MADE_UP_KEYS } from "../../support/runtime/secrets/made-up-keys.ts";

const sources = new ChangedSources(NEW_EVENT);
after(() => sources[Symbol.dispose]());

test("a new stored event is redacted, stored, read back, compared and shown", async () => {
  const [, key = ""] = MADE_UP_KEYS.find(([name]) => name === "GitHub token") ?? [];
  const [{ createRuntime }, { agent }, { scriptedModel }, { says }] = await load(
    ...["runtime.ts", "core/agent.ts", "testing/scripted-model.ts", "testing/steps.ts"],
  );
  const [{ openSqliteStore }, { exportTree }, { importTree }, { openMemoryStore }] = await load(
    ...["storage/store/sqlite/store.ts", "storage/store/export/tree.ts", "storage/store/import/tree.ts"],
    "storage/store/memory.ts",
  );
  const file = join(sources.folder, "runs.db");
  await using store = await openSqliteStore(file);
  const runtime = createRuntime({ store });
  const { runId } = await runtime.run(agent({ name: "lead", model: scriptedModel(says(`Take ${key}.`)) }), "Go.");

  const events: StoredEvent[] = await store.read(runId);
  const applause = events.find(({ type }) => String(type) === "applause");
  assert.partialDeepStrictEqual(applause, { type: "applause", turn: 1, words: "Take [redacted: GitHub token]." });

  const exported = await exportTree(store, runId, "json");
  assert.equal(JSON.parse(exported).version, NEXT_VERSION);
  const other = openMemoryStore();
  await importTree(other, exported);
  assert.deepEqual(await other.read(runId), events);
  const damaged = exported.replace('"type":"applause","turn":1', '"type":"applause","turn":-1');
  await assert.rejects(importTree(openMemoryStore(), damaged), /\(applause\) cannot be read: turn must be at least 0/);
  const { importTree: importNow } = await import("../../../src/storage/store/import/tree.ts");
  await assert.rejects(
    importNow(other, exported),
    /it has version \d+ and this sous knows version \d+; use a newer sous$/,
  );

  const [{ Comparison }, { foldRecording }, { checkHistory }] = await load(
    ...["storage/replay/comparison.ts", "storage/replay/recording.ts", "testing/checker.ts"],
  );
  assert.deepEqual(checkHistory(events), []);
  const compared = (found: readonly StoredEvent[]) => {
    const comparison = new Comparison(foldRecording(events), {});
    for (const event of found) comparison.add(event);
    return comparison.finish();
  };
  const changed = events.map((event) => (event === applause ? { ...event, words: "Bravo" } : event));
  assert.equal(compared(events).matches, true);
  assert.equal(
    compared(changed).firstDifference.sentence,
    'lead, turn 1, the applause for turn 1 (words): expected "Take [redacted: GitHub token].", found "Bravo"',
  );

  const [{ RunTree }, { plainLine }, { chooseStyle }] = await load(
    ...["app/cli/view/run-tree.ts", "app/cli/view/plain-lines.ts", "app/cli/terminal/style.ts"],
  );
  const style = chooseStyle({ color: "never", isAscii: false, isTerminal: false, env: {} });
  const tree = new RunTree("→");
  for (const event of events) tree.apply(event);
  assert.equal(plainLine(applause, tree, style), "lead  is applauded: Take [redacted: GitH...");
});

/** Modules of the changed sources: their types are those of before. */
// biome-ignore lint/suspicious/noExplicitAny: what is added here has no type in these sources.
async function load(...paths: string[]): Promise<any[]> {
  return Promise.all(paths.map((path) => sources.load(path)));
}
