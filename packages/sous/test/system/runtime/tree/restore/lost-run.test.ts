/** A run that continued without its store, to its end: no one resumes it as if it had been interrupted. */

import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, suite, test } from "node:test";
import { agent } from "../../../../../src/core/agent.ts";
import type { Clock } from "../../../../../src/core/clock.ts";
import { UserError } from "../../../../../src/core/errors.ts";
import type { Store } from "../../../../../src/core/store.ts";
import { tool } from "../../../../../src/core/tool.ts";
import { createRuntime } from "../../../../../src/runtime.ts";
import { openPostgresStore } from "../../../../../src/storage/store/postgres/store.ts";
import { openSqliteStore } from "../../../../../src/storage/store/sqlite/store.ts";
import { scriptedModel } from "../../../../../src/testing/scripted-model.ts";
import { calls, says } from "../../../../../src/testing/steps.ts";
import { type PostgresServer, startPostgresServer } from "../../../../support/storage/store/postgres-server.ts";
import { sqlitePlace } from "../../../../support/storage/store/sqlite-place.ts";

const REASON =
  /^Run \S+ cannot be resumed, because not all of it was stored\. The store failed 4 times to keep event \d+: /;

suite("R17: a run whose SQLite store was away to its end", () => {
  test("a run whose SQLite store was away to its end is refused by resume, and nothing is done twice", async () => {
    await using place = sqlitePlace();
    const other = new DatabaseSync(place.file);
    const lead = paying(3, () => other.exec("BEGIN IMMEDIATE"));
    const store = await place.open({ busyTimeoutMs: 0 });
    const { runId, status, lost } = await createRuntime({ store, host: { clock: HURRIED } }).run(lead.agent, "Go.");
    assert.deepEqual([status, lead.paid], ["completed", 5]);
    assert.match(lost ?? "", /^The store failed 4 times/);
    await store[Symbol.asyncDispose]();
    other.close();
    const next = await place.open({ clock: LATER });
    await isRefused(next, runId, lead);
    // The database knows it by now, and needs no mark.
    assert.deepEqual(
      readdirSync(place.folder).filter((name) => name.includes("lost")),
      [],
    );
  });

  test("a run whose SQLite store was away to its end is refused by one who opened the store before, and has not closed it since", async () => {
    await using place = sqlitePlace();
    await using early = await openSqliteStore(place.file, { clock: LATER });
    const other = new DatabaseSync(place.file);
    const lead = paying(3, () => other.exec("BEGIN IMMEDIATE"));
    const store = await place.open({ busyTimeoutMs: 0 });
    const { runId } = await createRuntime({ store, host: { clock: HURRIED } }).run(lead.agent, "Go.");
    await store[Symbol.asyncDispose]();
    other.close();
    await isRefused(early, runId, lead);
  });

  test("a run whose SQLite store was away to its end can be resumed when it required its store: nothing was done without it", async () => {
    await using place = sqlitePlace();
    const other = new DatabaseSync(place.file);
    const lead = paying(3, () => other.exec("BEGIN IMMEDIATE"));
    const store = await place.open({ busyTimeoutMs: 0 });
    const runtime = createRuntime({ store, requireStore: true, host: { clock: HURRIED } });
    const { result } = (await runtime.run(lead.agent, "Go.").catch((error: unknown) => error)) as {
      result: { runId: string; status: string };
    };
    assert.deepEqual([result.status, lead.paid], ["failed", 3]);
    await store[Symbol.asyncDispose]();
    other.close();
    const next = await place.open({ clock: LATER });
    const again = await createRuntime({ store: next }).resume(result.runId, { agent: lead.agent });
    assert.deepEqual([again.status, lead.paidTwice], ["completed", 0]);
  });
});

suite("R17: a run whose Postgres store was away to its end", () => {
  let server: PostgresServer;
  let lostFolder: string;
  before(async () => {
    server = await startPostgresServer();
    lostFolder = mkdtempSync(join(tmpdir(), "sous-lost-"));
  });
  after(async () => {
    await server[Symbol.asyncDispose]();
    rmSync(lostFolder, { recursive: true, maxRetries: 5 });
  });
  const open = () => openPostgresStore({ connectionString: server.connectionString(), reconnectMs: 50, lostFolder });

  for (const comesBack of ["before the store is closed", "after it"] as const) {
    test(`a run whose Postgres store was away to its end is refused by resume when the server comes back ${comesBack}, and nothing is done twice`, async () => {
      const lead = paying(3, () => server.crash());
      const store = await open();
      const { runId, status } = await createRuntime({ store, host: { clock: HURRIED } }).run(lead.agent, "Go.");
      assert.deepEqual([status, lead.paid], ["completed", 5]);
      assert.equal(readdirSync(lostFolder).length, 1);
      if (comesBack === "after it") await store[Symbol.asyncDispose]();
      await server.start();
      if (comesBack !== "after it") {
        await isRefused(store, runId, lead);
        await store[Symbol.asyncDispose]();
        assert.deepEqual(readdirSync(lostFolder), []);
      }
      await using next = await open();
      assert.deepEqual(readdirSync(lostFolder), []);
      await isRefused(next, runId, lead);
    });
  }

  test("a run whose Postgres store was away to its end is told to a server that is back as soon as another run is stored there", async () => {
    const lead = paying(3, () => server.crash());
    await using store = await open();
    const { runId } = await createRuntime({ store, host: { clock: HURRIED } }).run(lead.agent, "Go.");
    await server.start();
    const free = paying(Number.POSITIVE_INFINITY, () => {});
    await createRuntime({ store }).run(free.agent, "Go.");
    await until(() => readdirSync(lostFolder).length === 0);
    await using elsewhere = await openPostgresStore({
      connectionString: server.connectionString(),
      lostFolder: "/proc/x",
    });
    await isRefused(elsewhere, runId, lead);
  });
});

/** Retries of a write come at once; how long one write may take stays as it is. */
const HURRIED: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  timer(milliseconds, callback) {
    const timer = setTimeout(callback, milliseconds < 1_000 ? 1 : milliseconds);
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  },
};

/** For this one the leases of this process, which lives, are over: nothing but the mark keeps it from going on. */
const LATER: Clock = { ...HURRIED, now: () => Date.now() + 60_000 };

/** Pays five times, one after another; in the middle of one payment the store goes away. */
function paying(awayAt: number, goAway: () => unknown) {
  const seen = new Set<string>();
  const state = { paid: 0, paidTwice: 0, agent: agent({ name: "lead" }) };
  const pay = tool({
    name: "pay",
    description: "Pays.",
    effect: "unsafe",
    inputSchema: { type: "object" } as const,
    async execute(_input, { callId }) {
      state.paid += 1;
      if (seen.has(callId)) state.paidTwice += 1;
      seen.add(callId);
      if (state.paid === awayAt) await goAway();
      return "Paid.";
    },
  });
  const model = scriptedModel({ lead: ({ caller }) => (caller.turn <= 5 ? calls("pay") : says("Done.")) });
  state.agent = agent({ name: "lead", model, tools: [pay] });
  return state;
}

async function isRefused(store: Store, runId: string, lead: ReturnType<typeof paying>): Promise<void> {
  const before = lead.paid;
  await assert.rejects(
    Promise.resolve(createRuntime({ store }).resume(runId, { agent: lead.agent })),
    (error) => error instanceof UserError && REASON.test(error.message),
  );
  assert.deepEqual([lead.paid, lead.paidTwice], [before, 0]);
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((next) => setTimeout(next, 5));
}
