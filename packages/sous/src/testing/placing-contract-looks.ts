/** The promises about looking at placed runs, as tests: states, workers, ends and news. */

import assert from "node:assert/strict";
import { UserError } from "../core/errors.ts";
import { FIRST_FENCE } from "../core/store.ts";
import type { CheckPlacing } from "./placing-contract.ts";
import { begunRoot, placeScouts, startOf, worker } from "./placing-samples.ts";
import { ids, plain, samplePlaced } from "./sample-tree.ts";

export function lookingPromises(check: CheckPlacing): void {
  check("a placed run is queued until it is taken, and then told apart as any other", async ({ store, other }) => {
    const root = await begunRoot(store);
    const scout = samplePlaced(root, "lead", "scout");
    await store.placing.place([startOf(scout)]);
    const look = async () => {
      const [journal] = await store.placing.journals("lead");
      return [(await store.run("scout"))?.status, journal?.state, journal?.lastSeq];
    };
    assert.deepEqual(await look(), ["queued", "queued", 1]);
    for (const status of ["running", "interrupted", "waiting"] as const)
      assert.equal(
        (await store.list({ status })).some(({ id }) => id === "scout"),
        false,
        status,
      );
    assert.deepEqual(ids(await store.list({ status: "queued" })), ["scout"]);
    const unended = async () => (await store.totals()).unended.map(({ id, status }) => `${id} ${status}`).sort();
    assert.deepEqual(await unended(), ["lead running", "scout queued"]);
    assert.equal((await store.placing.journals("lead"))[0]?.where, undefined);
    await other.placing.take(worker(), 1);
    assert.deepEqual(await look(), ["running", "held", 1]);
    assert.equal((await store.placing.journals("lead"))[0]?.where, "this process");
    scout.turn("scout", "I look.");
    await other.append("scout", scout.events.slice(1));
    await other.release("scout", FIRST_FENCE);
    assert.deepEqual(await look(), ["interrupted", "dead", 3]);
    assert.deepEqual(await store.list({ status: "queued" }), []);
    await other.placing.take(worker(), 1);
    scout.end("scout");
    await other.append("scout", scout.events.slice(3), 2);
    assert.deepEqual(await look(), ["completed", "ended", 4]);
    assert.equal((await store.totals()).tallies.length, 1);
  });

  check("the ends of placed runs are found by their journals", async ({ store, other }) => {
    const root = await begunRoot(store);
    const journals = ["one", "two", "three"].map((id) => samplePlaced(root, "lead", id, "scout"));
    await store.placing.place(journals.map(startOf));
    for (const { journalId, fence } of await other.placing.take(worker(), 2)) {
      const journal = journals.find(({ rootId }) => rootId === journalId);
      journal?.start(`below ${journalId}`, { parent: journalId });
      journal?.end(`below ${journalId}`);
      journal?.end(journalId, { text: journalId === "two" ? "long ".repeat(20_000) : "Done." });
      await other.append(journalId, journal?.events.slice(1) ?? [], fence);
    }
    const ends = await store.placing.ends(["two", "three", "unknown", "below one", "lead", "one"]);
    const expected = journals.slice(0, 2).map(({ events }) => events.at(-1));
    assert.deepEqual(plain(ends.toSorted((one, two) => (one.runId < two.runId ? -1 : 1))), plain(expected));
    assert.deepEqual(await store.placing.ends([]), []);
    assert.deepEqual(
      (await store.placing.journals("lead")).map(({ journalId, state }) => `${journalId} ${state}`),
      ["one ended", "two ended", "three queued"],
    );
    assert.deepEqual(await store.placing.journals("one"), []);
  });

  check("a tree with queued runs is deleted whole, and they are counted as interrupted", async ({ store }) => {
    await placeScouts(store, 3);
    await assert.rejects(store.delete("lead"), UserError);
    await store.release("lead", FIRST_FENCE);
    await store.placing.post([{ to: "scout0", body: { kind: "stop", mode: "stop" } }]);
    assert.equal(await store.delete("lead"), true);
    assert.deepEqual(await store.list(), []);
    assert.deepEqual(await store.placing.take(worker(), 9), []);
    assert.deepEqual(await store.placing.mail(["scout0"], 0), []);
    const { tallies } = await store.totals();
    assert.deepEqual(new Set(tallies.map((tally) => tally.kind === "run" && tally.status)), new Set(["interrupted"]));
    assert.equal(tallies.length, 4);
  });

  check("a worker is listed with what it holds, until it is gone", async ({ store, other }) => {
    await placeScouts(store, 3);
    const facts = { name: "one", agents: ["scout", "writer"], places: 8, folder: "/srv/\0here" };
    const enlisted = await other.placing.enlist(facts);
    await other.placing.take({ ...facts, folder: undefined }, 2);
    const [found, ...rest] = await store.placing.workers();
    assert.deepEqual(rest, []);
    const { isWatched: _, ...listed } = found ?? assert.fail("it is not listed");
    assert.deepEqual(listed, { ...facts, where: "this process", isAlive: true, held: 2 });
    await enlisted[Symbol.asyncDispose]();
    assert.deepEqual(await store.placing.workers(), []);
  });
}
