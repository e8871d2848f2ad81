/**
 * Made the stored data in `golden/`: with the sources of commit 4eaacef, in a checkout of it that this folder was copied into.
 *
 *   node --conditions=sous-source packages/sous/test/support/storage/stored/make-golden.ts /tmp/4eaacef
 *
 * A folder of `golden/` is never written again, by no test and no flag: it stands for the databases and files that people
 * have. A commit that stores something in another way gets a folder of its own, beside the old ones.
 */

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import {
  type ApprovalAnswer,
  type ApprovalRequest,
  createRuntime,
  type EventListener,
  type RunHandle,
  type Runtime,
  type SousEvent,
  type Store,
} from "../../../../src/index.ts";
import { openPostgresStore } from "../../../../src/postgres.ts";
import { exportTree } from "../../../../src/replay.ts";
import { openSqliteStore } from "../../../../src/sqlite.ts";
import { createWorld, type World } from "../../../../src/testing.ts";
import { startPostgresServer } from "../store/postgres-server.ts";
import * as cast from "./cast.ts";
import type { Cast } from "./cast-tools.ts";
import { summarize } from "./summary.ts";

type Life = { world: World; store: Store; runtime: Runtime; actors: Cast };

const HOUR_MS = 3_600_000;

type Doomed = { begin(life: Life, onEvent: EventListener): PromiseLike<unknown>; until: readonly string[] };

const GUARD: Doomed = {
  begin: ({ runtime, actors }, onEvent) => runtime.run(cast.killedLead(actors), "Guard the town.", { onEvent }).result,
  until: [
    ...["run-end lead/north", "tool-call-start lead/south peek"],
    ...["tool-call-start lead peek", "tool-call-start lead send"],
  ],
};
/** Trees that a process left behind which was killed, and what must have happened by then. */
const DOOMED: Readonly<Record<string, Doomed>> = {
  killed: GUARD,
  revived: GUARD,
  "killed-fan-out": {
    begin: ({ runtime, actors }, onEvent) =>
      runtime.fanOut(cast.fanOutWorker(actors), cast.FAN_OUT_INPUTS, { concurrency: 2, onEvent }),
    until: ["run-end fan-out/worker", "turn-start fan-out/worker#2", "turn-start fan-out/worker#3"],
  },
  "killed-outside": {
    begin: ({ runtime, actors }, onEvent) => runtime.run(cast.externalLead(actors), "Build.", { onEvent }).result,
    until: ["outside-call lead/mason"],
  },
};

const [target = "", doomed = ""] = process.argv.slice(2);
await (doomed === "" ? makeAll(target) : dieIn(target, doomed));

async function makeAll(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "runs.db");
  const names = await liveAll(file, folder);
  hideMachine(file);
  {
    await using store = await openSqliteStore(file, { readOnly: true });
    for (const [name, rootId] of Object.entries(names)) {
      // That of the crew is made by the command.
      if (name !== "crew") writeFileSync(join(folder, `${name}.export.json`), await exportTree(store, rootId, "json"));
    }
    const journal = await store.read(names.killed ?? "");
    writeFileSync(join(folder, "killed.journal.jsonl"), journal.map((event) => `${JSON.stringify(event)}\n`).join(""));
    writeFileSync(join(folder, "summary.json"), inLines(await summarize(store, names)));
    const { busy: _busy, revived: _revived, walk: _walk, ...some } = names;
    await dumpPostgres(store, some, join(folder, "postgres.sql"));
  }
  const main = join(import.meta.dirname, "../../../../src/app/cli/main.ts");
  const command = (...parameters: string[]): Buffer =>
    execFileSync(process.execPath, ["--conditions=sous-source", main, "replay", "--db-path", file, ...parameters]);
  command("--id", names.crew ?? "", "--export", "json", "--output", join(folder, "crew.export.json"));
  command("--id", names.walk ?? "", "--save-cassette", join(folder, "walk.cassette.json"));
}

/** One line for each run. */
function inLines(summary: object): string {
  return `${JSON.stringify(summary).replaceAll(/(?<=[,[{])(?="\w[\w-]*":\{"rootId"|\{"(?:id|kind)":)/g, "\n")}\n`;
}

/** Returns the roots by name. */
async function liveAll(file: string, folder: string): Promise<Record<string, string>> {
  const names: Record<string, string> = {};
  let hour = 0;
  const live = async (name: string, work: (life: Life) => PromiseLike<unknown>): Promise<void> => {
    hour += 1;
    await liveIn(file, hour, {}, async (life) => {
      await work(life);
      const [newest] = await life.store.list({ rootsOnly: true, limit: 1 });
      names[name] ??= newest?.rootId ?? "";
    });
  };
  const die = async (name: string): Promise<void> => {
    hour += 1;
    const { signal } = spawnSync(
      process.execPath,
      ["--conditions=sous-source", import.meta.filename, `${folder}:${hour}`, name],
      { stdio: "inherit" },
    );
    assert.equal(signal, "SIGKILL");
    await using store = await openSqliteStore(file);
    const [newest] = await store.list({ rootsOnly: true, limit: 1 });
    names[name] = newest?.rootId ?? "";
  };
  await live("crew", ({ runtime, actors }) => runtime.run(cast.crewLead(actors), "See the town."));
  await live("walk", ({ runtime, actors }) => runtime.run(cast.walkLead(actors), "Walk around."));
  await live("count", ({ runtime, actors }) => runtime.run(cast.countingLead(actors), "Count the walls."));
  await live("busy", liveBusy);
  await live("fan-out", ({ runtime, actors }) =>
    runtime.fanOut(cast.fanOutWorker(actors), cast.FAN_OUT_INPUTS, { concurrency: 2 }),
  );
  await live("outside", ({ runtime, actors }) => runtime.run(cast.externalLead(actors), "Build."));
  await live("branch", ({ runtime, actors }) =>
    runtime.fork(names.crew ?? "", { agent: cast.branchLead(actors), message: "And the west?", afterTurn: 1 }),
  );
  await live("parked", ({ runtime, actors }) => runtime.run(cast.parkedLead(actors), "Pay everyone."));
  for (const name of Object.keys(DOOMED)) await die(name);
  await live("revived", async ({ runtime, actors }) => {
    const handle = runtime.resume(names.revived ?? "", { agent: cast.killedLead(actors) });
    await handle;
    await handle.followUp("And at night?");
  });
  await live("lost", async ({ runtime, actors, store }) => {
    const { runId } = await runtime.run(cast.countingLead(actors), "Count the doors.");
    await store.markLost(runId, "The disk was full");
  });
  return names;
}

/** One process: its clock begins with the hour, and its ids follow from it. */
async function liveIn(
  file: string,
  hour: number,
  given: Partial<Cast>,
  work: (life: Life) => Promise<unknown>,
): Promise<void> {
  const world = createWorld({
    seed: hour,
    lateness: 0,
    startTime: Date.UTC(2026, 0, 1) + hour * HOUR_MS,
    cwd: cast.PROJECT,
  });
  // Without a timer for the lease: the world would move its clock to it whenever nothing else is due.
  const clock = { now: world.clock.now, timer: () => ({ [Symbol.dispose]() {} }) };
  await using store = await openSqliteStore(file, { clock });
  const runtime = createRuntime({ host: world.host, store, limits: { maxDepth: 2 }, approve });
  const actors = { clock: world.clock, ran: [], ...given };
  await world.run(() => work({ world, store, runtime, actors }));
}

/** Begins the tree and is killed when it is where it should be. */
async function dieIn(place: string, name: string): Promise<void> {
  const [folder = "", hour] = place.split(":");
  const { begin, until } = DOOMED[name] ?? assert.fail(`Unknown tree: ${name}`);
  const missing = new Set(until);
  const onEvent = (event: SousEvent): void => {
    missing.delete(`${event.type} ${event.path}`);
    if (event.type === "tool-call-start") missing.delete(`${event.type} ${event.path} ${event.toolName}`);
    if (missing.size === 0) process.kill(process.pid, "SIGKILL");
  };
  await liveIn(join(folder, "runs.db"), Number(hour), { isDoomed: true }, async (life) => begin(life, onEvent));
  assert.fail(`Not killed: ${[...missing].join(", ")}`);
}

async function liveBusy({ runtime, store, actors }: Life): Promise<void> {
  assert.ok("sharedBudget" in store && typeof store.sharedBudget === "function");
  const from = await store.sharedBudget("team", { tokens: 10_000_000 });
  let hasSpoken = false;
  const onEvent = (event: SousEvent): void => {
    if (event.type === "text-delta" && !hasSpoken) {
      hasSpoken = true;
      handle.steer("lead", "Look closely.");
    }
    if (event.type === "turn-start" && event.path === "lead/cancelled") handle.cancel("lead/cancelled");
  };
  const handle: RunHandle = runtime.run(cast.busyLead(actors), "Look around.", {
    ...{ onEvent, limits: cast.BUSY_LIMITS, conversation: cast.BUSY_CONVERSATION },
    budget: { ...cast.BUSY_BUDGET, from },
  });
  await handle;
  await handle.followUp("Sum up.", { summarizes: true });
}

function approve({ toolName }: ApprovalRequest): ApprovalAnswer {
  if (toolName === "write" || toolName === "subagent_delegate") return { allow: true };
  if (toolName === "publish") return { allow: false, reason: "Not today." };
  if (toolName === "ask_nobody") throw new Error("the line is dead");
  return "later";
}

/** The owner of a tree names the machine. No process of another machine holds a lease that has run out. */
function hideMachine(file: string): void {
  using database = new DatabaseSync(file);
  const owner = "host boot/pid:[1] 4321 1234567 0123456789abcdef";
  database.prepare("UPDATE runs SET owner = ? WHERE owner IS NOT NULL").run(owner);
  // The old values are still in the pages.
  database.exec("VACUUM");
}

/** The same trees in Postgres, as statements: what made the tables, then their rows. */
async function dumpPostgres(from: Store, names: Readonly<Record<string, string>>, file: string): Promise<void> {
  await using server = await startPostgresServer();
  const connectionString = server.connectionString();
  const made: string[] = [];
  const lostFolder = mkdtempSync(join(tmpdir(), "sous-lost-"));
  await using pool = Object.assign(new pg.Pool({ connectionString, max: 2 }), {
    async [Symbol.asyncDispose]() {
      await pool.end();
      rmSync(lostFolder, { recursive: true });
    },
  });
  pool.on("connect", (client) => {
    const query: (...given: unknown[]) => unknown = client.query.bind(client);
    client.query = (...given: unknown[]): never => {
      const [first] = given as [string | { text: string }];
      const text = typeof first === "string" ? first : first.text;
      if (/^\s*create /.test(text)) made.push(text);
      return query(...given) as never;
    };
  });
  {
    await using store = await openPostgresStore({ pool, lostFolder });
    for (const [name, rootId] of Object.entries(names)) {
      await store.append(rootId, await from.read(rootId));
      if (name === "lost") await store.markLost(rootId, "The disk was full");
    }
    await store.sharedBudget("team", { tokens: 10_000_000 });
  }
  const lines = made.map((each) => `${each};`);
  for (const table of ["sous_version", "trees", "runs", "events", "blobs", "purses", "tallies"]) {
    const { rows: columns } = await pool.query(
      "select column_name as name from information_schema.columns where table_schema = 'sous' and table_name = $1 order by ordinal_position",
      [table],
    );
    const list: string[] = columns.map(({ name }) => String(name));
    const values = list.map((name) => `quote_nullable(${name}::text)`).join(" || ', ' || ");
    const { rows } = await pool.query(`select ${values} as line from sous.${table} order by 1`);
    if (rows.length === 0) continue;
    lines.push(`insert into sous.${table} (${list.join(", ")}) overriding system value values`);
    lines.push(`${rows.map(({ line }) => `(${line})`).join(",\n")};`);
  }
  lines.push("select setval('sous.trees_tree_seq', max(tree)) from sous.trees;");
  lines.push("select setval('sous.tallies_position_seq', max(position)) from sous.tallies;");
  writeFileSync(file, `${lines.join("\n")}\n`);
}
