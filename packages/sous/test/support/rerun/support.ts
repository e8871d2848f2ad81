/** A stage whose stored run is run again, from its real definitions and from its recording alone. */

import assert from "node:assert/strict";
import type { AgentDefinition } from "../../../src/core/agent.ts";
import type { StoredEvent } from "../../../src/core/event.ts";
import type { Store } from "../../../src/core/store.ts";
import type { RerunOptions } from "../../../src/rerun/stage.ts";
import { type Rerun, rerun } from "../../../src/rerun.ts";
import { cutTree, storeOfJournals } from "../core/cut-tree.ts";
import type { Stage } from "../requirements/support.ts";

/** Both ways give what was recorded; the first is from the real definitions, the second from the recording alone. */
export async function rerunBothWays(
  stage: Pick<Stage, "store">,
  runId: string,
  agents: readonly AgentDefinition[],
): Promise<[given: Rerun, rebuilt: Rerun]> {
  const given = await rerun(runId, { store: stage.store, agents });
  const rebuilt = await rerun(runId, { store: stage.store });
  assert.equal(given.firstDifference?.sentence, undefined, "from the real definitions");
  assert.equal(rebuilt.firstDifference?.sentence, undefined, "from the recording alone");
  assert.ok(given.matches && rebuilt.matches);
  await rerunPlaced(stage, runId);
  return [given, rebuilt];
}

/** The same tree, if its runs had been placed. */
async function rerunPlaced({ store }: Pick<Stage, "store">, runId: string): Promise<void> {
  const { rootId = runId } = (await store.run(runId)) ?? {};
  const events = await store.read(rootId);
  const children = events.flatMap((event) =>
    event.type === "run-start" && event.parentId !== null ? [event.runId] : [],
  );
  if (children.length === 0) return;
  const isEven = (_: string, index: number) => index % 2 === 0;
  const cuts = [children, children.filter(isEven), children.filter((_, index) => index % 2 === 1)];
  for (const [index, placed] of cuts.entries()) {
    const clockOf = (id: string) => (id === rootId ? 0 : placed.indexOf(id) % 2 === 0 ? 4000 : -4000);
    const journals = cutTree(events, new Set(placed), { clockOf, mailsStops: index === 0 });
    const { firstDifference } = await rerun(rootId, { store: storeOfJournals(journals) });
    assert.equal(firstDifference?.sentence, undefined, `as ${placed.length} of ${children.length} placed runs`);
  }
}

/** The first difference of a rerun that must have one. */
export async function differenceOf(
  runId: string,
  options: RerunOptions,
): Promise<NonNullable<Rerun["firstDifference"]>> {
  const { matches, firstDifference } = await rerun(runId, options);
  assert.equal(matches, false);
  assert.ok(firstDifference !== undefined);
  return firstDifference;
}

/** A store with nothing but these events, as a crash or an edit would leave them. */
export function storeOf(events: readonly StoredEvent[]): Pick<Store, "read" | "run"> {
  const rootId = events[0]?.runId ?? "";
  return {
    async run(runId) {
      const isThere = events.some((event) => event.type === "run-start" && event.runId === runId);
      return isThere ? ({ rootId } as Awaited<ReturnType<Store["run"]>>) : undefined;
    },
    async read(_rootId, { after = 0, limit = events.length } = {}) {
      return events.filter(({ seq }) => seq > after).slice(0, limit);
    },
  };
}
