/** What a store promises about damage: it harms the run that it is in, and nothing else. Run against every store of rows. */

import assert from "node:assert/strict";
import { StoreError } from "../../../../src/core/errors.ts";
import type { RunRecord, Store } from "../../../../src/core/store.ts";
import { plain, type SampleTree, sampleTree } from "../../../../src/testing/sample-tree.ts";
import type { RegisterTest } from "../../../../src/testing/store-contract.ts";

/** A store with another that reads the same rows, and what can be done to them behind its back. */
export type DamagedPlace = AsyncDisposable & {
  readonly store: Store;
  /** Replaces the JSON of an event. */
  event(rootId: string, seq: number, json: string): Promise<void>;
  /** Replaces the names of the tools of a run. */
  tools(runId: string, json: string): Promise<void>;
  /** Replaces the status of the first line of the totals. */
  line(status: string): Promise<void>;
  /** Replaces every long text. */
  texts(text: string): Promise<void>;
};

export function damageContract(test: RegisterTest, open: () => Promise<DamagedPlace>): void {
  const check = (name: string, run: (place: DamagedPlace) => Promise<void>) =>
    test(`a damaged store: ${name}`, async () => {
      await using place = await open();
      for (const tree of [family("lead"), family("other")]) await place.store.append(tree.rootId, tree.events);
      for (const rootId of ["lead", "other"]) await place.store.release(rootId, 1);
      await run(place);
    });

  check("an event that cannot be read is named, and left out for a reader that asks for the rest", async (place) => {
    const { store } = place;
    await place.event("lead", 3, "{");
    const reasons: string[] = [];
    const onDamage = ({ message }: Error): void => void reasons.push(message);
    const rest = family("lead").events.filter(({ seq }) => seq !== 3);
    assert.deepEqual(plain(await store.read("lead", { onDamage })), plain(rest));
    assert.match(reasons.join(), /^Event 3 of run lead-scout is damaged: [^\n]+$/);
    await assert.rejects(store.read("lead"), new StoreError(reasons[0]));
    // What is left out makes room for later ones.
    assert.deepEqual(plain(await store.read("lead", { after: 1, limit: 2, onDamage })), plain(rest.slice(1, 3)));
    assert.deepEqual(plain(await store.read("lead", { runId: "lead" })), plain(ofRun(rest, "lead")));
    assert.deepEqual(plain(await store.read("other", { onDamage: assert.fail })), plain(family("other").events));
  });

  check("a run with an event that cannot be read hides no other, in no answer", async (place) => {
    const { store } = place;
    const before = await answersOf(store, "other");
    for (const seq of [3, 4, 6]) await place.event("lead", seq, "{");
    await assert.rejects(store.read("lead"), StoreError);
    assert.deepEqual(await answersOf(store, "other"), before);
    assert.deepEqual((await store.list()).map(({ id }) => id).sort(), ["lead", "lead-scout", "other", "other-scout"]);
    assert.equal((await store.list({ status: "interrupted" })).length, 2);
  });

  check("a row that cannot be read says so in its record, and claims nothing that it does not hold", async (place) => {
    const { store } = place;
    const before = await answersOf(store, "other");
    const { allowedTools: _, ...rest } = (await store.run("lead")) ?? assert.fail("it is there");
    await place.tools("lead", '{"a":1}');
    const damage = "Run lead is damaged in the store: it has no usable allowed_tools";
    const damaged = { ...rest, allowedTools: [], damage };
    for (const found of [await store.run("lead"), ...(await store.list({ idPrefix: "lead", rootsOnly: true }))])
      assert.deepEqual(plain(found), plain(damaged));
    assert.deepEqual(
      (await store.tree("lead")).map((record) => record.damage),
      [damage, undefined],
    );
    assert.deepEqual(await answersOf(store, "other"), before);
    assert.equal((await store.totals()).unended.find(({ id }) => id === "lead")?.damage, damage);
  });

  check("a line of the totals that cannot be read is left out, and counted as such", async (place) => {
    const { store } = place;
    const { tallies } = await store.totals();
    await place.line("odd");
    const read = await store.totals();
    assert.deepEqual(plain(read.tallies), plain(tallies.slice(1)));
    assert.deepEqual([read.damaged, read.isComplete], [1, true]);
    assert.equal((await store.totals({ after: read.mark })).damaged ?? 0, 0);
  });

  check("a long text that was changed is not taken for the one that was stored", async (place) => {
    const { store } = place;
    await place.texts("x".repeat(70_000));
    await assert.rejects(
      store.read("lead"),
      /^StoreError: Event 4 of run lead-scout is damaged: the text [0-9a-f]{64} /,
    );
  });

  check("a damaged tree can be deleted", async (place) => {
    const { store } = place;
    await place.event("lead", 6, "{");
    await place.tools("lead", "{");
    assert.equal(await store.delete("lead"), true);
    assert.deepEqual((await store.list()).map(({ id }) => id).sort(), ["other", "other-scout"]);
  });
}

/** Everything that a store says of a tree. */
async function answersOf(store: Store, rootId: string): Promise<unknown> {
  const isOf = (record: RunRecord): boolean => record.rootId === rootId;
  const { tallies, unended } = await store.totals();
  const lists = [
    await store.list(),
    await store.list({ rootsOnly: true }),
    await store.list({ status: "interrupted" }),
  ];
  return plain([
    lists.map((list) => list.filter(isOf)),
    [await store.run(rootId), await store.tree(rootId), await store.children(rootId), await store.read(rootId)],
    [tallies, unended.filter(isOf)],
  ]);
}

/** A root that was interrupted, and a child with a long text that has ended. */
function family(rootId: string): SampleTree {
  const tree = sampleTree(rootId);
  const scout = `${rootId}-scout`;
  tree.start(rootId);
  tree.start(scout, { parent: rootId });
  tree.turn(scout, `${rootId} `.repeat(20_000), { inputTokens: 100, totalTokens: 100 });
  tree.turn(rootId, "I wait.", { inputTokens: 10, totalTokens: 10 });
  tree.end(scout);
  return tree;
}

function ofRun(events: SampleTree["events"], id: string): SampleTree["events"] {
  return events.filter(({ runId }) => runId === id);
}
