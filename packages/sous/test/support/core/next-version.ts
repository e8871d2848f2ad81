/** Runs a changed copy of the sources, in which a new word gives stored events the next version. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { StoredEvent } from "../../../src/core/event.ts";
import { EVENT_VERSION } from "../../../src/core/words/event-rows.ts";
import type { RunOptions, RunResult, Store } from "../../../src/index.ts";
import { importTree as importNow } from "../../../src/storage/store/import/tree.ts";
import { openMemoryStore } from "../../../src/storage/store/memory.ts";
import type { Script } from "../../../src/testing/steps.ts";
import type { ChangedSources } from "../changed-sources.ts";
import { packageFolder } from "../source-files.ts";
import { NEXT_VERSION } from "./new-words.ts";

const GOLDEN = join(packageFolder, "test/golden/journal-1.json");

type Stored = { readonly result: RunResult; readonly events: readonly StoredEvent[] };

/** Runs the agent `lead`. Its tree comes back from an export of the next version, and the sources as they are refuse that one. */
export async function runChanged(sources: ChangedSources, script: Script, options?: RunOptions): Promise<Stored> {
  const { agent, createRuntime } = await sources.load<typeof import("../../../src/index.ts")>("index.ts");
  const { scriptedModel } = await sources.load<typeof import("../../../src/testing.ts")>("testing.ts");
  const store = openMemoryStore();
  const lead = agent({ name: "lead", model: scriptedModel(script), delegate: true });
  const result = await createRuntime({ store }).run(lead, "Go.", options);
  const exported = await exportFrom(sources, store, result.runId);
  await assert.rejects(importNow(openMemoryStore(), exported), {
    name: "UserError",
    message: `The file cannot be imported: it has version ${NEXT_VERSION} and this sous knows version ${EVENT_VERSION}; use a newer sous`,
  });
  return { result, events: await importInto(sources, exported) };
}

/** The events of a golden journal of version 1. */
export async function readGolden(sources: ChangedSources): Promise<readonly StoredEvent[]> {
  return importInto(sources, readFileSync(GOLDEN, "utf8"));
}

async function importInto(sources: ChangedSources, exported: string): Promise<readonly StoredEvent[]> {
  const { importTree } = await sources.load<typeof import("../../../src/replay.ts")>("replay.ts");
  const store = openMemoryStore();
  const { rootId } = await importTree(store, exported);
  await exportFrom(sources, store, rootId);
  return store.read(rootId);
}

async function exportFrom(sources: ChangedSources, store: Store, rootId: string): Promise<string> {
  const { exportTree } = await sources.load<typeof import("../../../src/replay.ts")>("replay.ts");
  const exported = await exportTree(store, rootId, "json");
  assert.equal(JSON.parse(exported).version, NEXT_VERSION);
  return exported;
}
