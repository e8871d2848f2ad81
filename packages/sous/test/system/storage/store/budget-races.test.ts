/** H1: processes race for nested budgets in Postgres, and are killed, stopped and cut off meanwhile; the provider keeps its own count. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { ChainLink } from "../../../../src/core/shared-budget.ts";
import { budgetRowsOf } from "../../../../src/core/shared-budget.ts";
import { openPostgresStore, type PostgresStore } from "../../../../src/storage/store/postgres/store.ts";
import { type PostgresServer, startPostgresServer } from "../../../support/storage/store/postgres-server.ts";
import { raceWorker } from "./budget-race-worker.ts";

const TEAM = 40_000;
const TREE = 30_000;
const SHARE = 4_500;
const PROCESSES = 8;
/** The most that a process has in flight: six calls of a prompt and a full answer. */
const IN_FLIGHT = 6 * 180;

let server: PostgresServer;
before(async () => {
  server = await startPostgresServer();
});
after(() => server[Symbol.asyncDispose]());

suite("H1: eight processes race for room for few", () => {
  test("H1: eight processes that race spend nested budgets to the end and not beyond, by the provider's own count", async () => {
    await using race = await startRace("plain");
    await race.ended();
    const { bills, spent } = await race.figures();
    // No process was lost: what the provider billed is what the rows say, and none could have had one more call.
    const shares = [...bills.byProcess.values()].sort((one, other) => one - other);
    assert.deepEqual(spent, { team: bills.all, held: 0, tree: bills.all, shares });
    assert.ok(bills.all <= TREE && bills.all > TREE - 120, `${bills.all} of ${TREE}`);
    assert.deepEqual(race.codes(), Array(PROCESSES).fill(0));
  });

  test("H1: processes that are killed in the middle of calls leave these as spent, and what they kept free", async () => {
    await using race = await startRace("kills");
    for (const victim of await race.begun()) victim.kill("SIGKILL");
    await race.ended();
    const { bills, spent } = await race.figures();
    // Five are left, and each has spent its share.
    assert.equal(spent.shares.filter((each) => each > SHARE - 120 && each <= SHARE).length >= 5, true);
    assert.ok(spent.tree <= TREE, `${spent.tree} of ${TREE}`);
    assert.ok(bills.all <= spent.tree && bills.all >= spent.tree - 3 * IN_FLIGHT, `${bills.all} of ${spent.tree}`);
    assert.equal(spent.team, spent.tree);
  });

  test("H1: a process that is stopped holds what it has, and continues with it", async () => {
    await using race = await startRace("stop");
    const [stopped] = await race.begun();
    assert.ok(stopped !== undefined);
    stopped.kill("SIGSTOP");
    await pause(500);
    const { spent } = await race.figures();
    assert.ok(spent.team + spent.held <= TEAM && spent.tree <= TREE, JSON.stringify(spent));
    stopped.kill("SIGCONT");
    await race.ended();
    const { bills, spent: atLast } = await race.figures();
    assert.deepEqual([atLast.tree, atLast.held], [bills.all, 0]);
    assert.ok(bills.all <= TREE && bills.all > TREE - 120, `${bills.all} of ${TREE}`);
  });

  test("H1: a server that crashes in the middle of steps and comes back has counted each once", async () => {
    await using race = await startRace("crash");
    await race.begun();
    for (let crashes = 0; crashes < 2; crashes++) {
      await server.crash();
      await server.start();
      await pause(200);
    }
    await race.ended();
    const { bills, spent } = await race.figures();
    assert.deepEqual([race.codes(), spent.tree, spent.team], [Array(PROCESSES).fill(0), bills.all, bills.all]);
    assert.ok(bills.all <= TREE && bills.all > TREE - 120, `${bills.all} of ${TREE}`);
  });
});

/** Processes with a share each, of one tree, within a shared budget. */
async function startRace(schema: string) {
  const folder = mkdtempSync(join(tmpdir(), "sous-race-"));
  const file = join(folder, "bills");
  writeFileSync(file, "");
  const connectionString = server.connectionString();
  const store = await openPostgresStore({ connectionString, schema });
  await store.sharedBudget("team", { tokens: TEAM });
  const processes = Array.from({ length: PROCESSES }, (_, index) => {
    const chain: ChainLink[] = [
      { name: "team" },
      { name: "TREE", limits: { tokens: TREE } },
      { name: `TREE/lead/${index}`, limits: { tokens: SHARE } },
    ];
    const parameters = ["--conditions=sous-source", raceWorker, connectionString, schema, file, JSON.stringify(chain)];
    return spawn(process.execPath, parameters, { stdio: ["pipe", "pipe", "inherit"] });
  });
  const exits = processes.map((each) => once(each, "exit"));
  await Promise.all(processes.map(({ stdout }) => once(stdout, "data")));
  for (const { stdin } of processes) {
    stdin.on("error", () => undefined);
    stdin.write("go");
  }
  const linesOf = () =>
    readFileSync(file, "utf8")
      .split("\n")
      .filter((line) => line !== "");
  return {
    processes,
    /** The first three processes that have asked the provider. */
    async begun() {
      for (;;) {
        const pids = new Set(linesOf().map((line) => Number(line.split(" ")[0])));
        const begun = processes.filter(({ pid = 0 }) => pids.has(pid));
        if (begun.length >= 3) return begun.slice(0, 3);
        await pause(5);
      }
    },
    ended: () => Promise.all(exits),
    codes: () => processes.map(({ exitCode }: ChildProcess) => exitCode),
    async figures() {
      const byProcess = new Map<string, number>();
      for (const line of linesOf()) {
        const [pid = "", billed] = line.split(" ");
        byProcess.set(pid, (byProcess.get(pid) ?? 0) + Number(billed));
      }
      const all = [...byProcess.values()].reduce((sum, each) => sum + each, 0);
      return { bills: { all, byProcess }, spent: await spentIn(store) };
    },
    async [Symbol.asyncDispose]() {
      for (const each of processes) each.kill("SIGKILL");
      await Promise.all(exits);
      await store[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true });
    },
  };
}

async function spentIn(store: PostgresStore) {
  const rows = budgetRowsOf(store);
  const tokensOf = async (name: string) => (await rows?.look(name))?.find(({ unit }) => unit === "tokens");
  const [team, tree] = [await tokensOf("team"), await tokensOf("TREE")];
  const shares = await Promise.all(Array.from({ length: PROCESSES }, (_, index) => tokensOf(`TREE/lead/${index}`)));
  for (const share of shares) assert.ok((share?.spent ?? 0) <= SHARE);
  return {
    team: team?.spent ?? Number.NaN,
    held: (team?.inFlight ?? 0) + (team?.kept ?? 0),
    tree: tree?.spent ?? Number.NaN,
    shares: shares
      .map((share) => share?.spent ?? 0)
      .filter((each) => each > 0)
      .sort((one, other) => one - other),
  };
}
