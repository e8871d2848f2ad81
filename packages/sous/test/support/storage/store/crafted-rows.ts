/**
 * Every command that reads runs, on databases in which one value was changed. Started as a process of its own,
 * because commands print; says on its last line what became of each attempt that did not end as it should.
 */

import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { replay } from "../../../../src/app/cli/commands/replay.ts";
import { resume } from "../../../../src/app/cli/commands/resume.ts";
import { CommandError } from "../../../../src/app/cli/exit-codes.ts";
import { StoreError, UserError } from "../../../../src/core/errors.ts";
import { openSqliteStore } from "../../../../src/storage/store/sqlite/store.ts";
import { seededRandom } from "../../../../src/testing/world.ts";
import { IDS, keepSampleRuns, keepSecondTry } from "../../app/cli/kept-runs.ts";
import { FIELDS, pathsOf, VALUES } from "./crafted-values.ts";

export type CraftedRows = {
  readonly attempts: number;
  /** What ended with anything but a sentence for people. */
  readonly found: readonly string[];
};

const [seed = "1", share = "1"] = process.argv.slice(2);

/** The rows of each table that are changed. */
const WHERE: Readonly<Record<string, string>> = {
  runs: `id = '${IDS.scout}'`,
  events: "run = 1 AND type <> 'run-start'",
  tallies: "position = 1",
};

type Attempt = { name: string; sql: string };

function attempts(file: string): Attempt[] {
  using database = new DatabaseSync(file, { readOnly: true });
  const list: Attempt[] = [];
  for (const table of ["runs", "events", "tallies"]) {
    for (const { name } of database.prepare(`PRAGMA table_info(${table})`).all()) {
      for (const value of VALUES) {
        const where = WHERE[table];
        list.push({
          name: `${table}.${name} = ${value}`,
          sql: `UPDATE ${table} SET ${name} = ${value} WHERE ${where}`,
        });
        if (table === "runs")
          list.push({
            name: `root ${name} = ${value}`,
            sql: `UPDATE ${table} SET ${name} = ${value} WHERE id = '${IDS.lead}'`,
          });
      }
    }
  }
  for (const { key, json } of database.prepare("SELECT key, json FROM events").all()) {
    for (const path of pathsOf(JSON.parse(String(json)))) {
      for (const value of FIELDS)
        list.push({
          name: `event ${key} ${path} = ${value}`,
          sql: `UPDATE events SET json = json_set(json, '${path}', json('${value}')) WHERE key = ${key}`,
        });
    }
  }
  return list;
}

const COMMANDS: [string, (parameters: readonly string[]) => Promise<number>, string[]][] = [
  ["list", replay, ["--list"]],
  ["list json", replay, ["--list", "--json"]],
  ["show", replay, ["--id", IDS.lead, "--full"]],
  ["show json", replay, ["--id", IDS.lead, "--json"]],
  ["tree", replay, ["--id", IDS.lead, "--tree"]],
  ["html", replay, ["--id", IDS.lead, "--export", "html"]],
  ["md", replay, ["--id", IDS.lead, "--export", "md"]],
  ["json", replay, ["--id", IDS.lead, "--export", "json"]],
  ["diff", replay, ["--diff", "01K2J0CCCC0000000000000008", "--id", IDS.lead]],
  ["request", replay, ["--id", IDS.lead, "--request", "1"]],
  ["rerun", replay, ["--id", IDS.lead, "--rerun"]],
  ["resume", resume, [IDS.lead, "--here"]],
  ["totals", readTotals, []],
];

async function readTotals(parameters: readonly string[]): Promise<number> {
  await using store = await openSqliteStore(parameters.at(-1) ?? "");
  return (await store.totals()).tallies.length;
}

function isForPeople(error: unknown): boolean {
  const isKnown = error instanceof CommandError || error instanceof UserError || error instanceof StoreError;
  return isKnown && !error.message.includes("\n    at ");
}

async function trial(file: string, { name, sql }: Attempt, commands: typeof COMMANDS): Promise<string[]> {
  const found: string[] = [];
  {
    using database = new DatabaseSync(file);
    try {
      database.exec(`PRAGMA ignore_check_constraints = ON; ${sql}`);
    } catch {
      // The database itself does not take it.
      return [];
    }
  }
  for (const [what, command, parameters] of commands) {
    try {
      await command([...parameters, "--db-path", file]);
    } catch (error) {
      if (!isForPeople(error)) found.push(`${name}: ${what}: ${error instanceof Error ? error.stack : error}`);
    }
  }
  return found;
}

const folder = mkdtempSync(join(tmpdir(), "sous-crafted-"));
process.chdir(folder);
process.env.HOME = folder;
const write = process.stdout.write.bind(process.stdout);
process.stdout.write = () => true;
process.stderr.write = () => true;
const made = join(folder, "made.db");
{
  await using store = await openSqliteStore(made);
  await keepSampleRuns(store);
  await keepSecondTry(store);
}
const random = seededRandom(Number(seed));
const chosen = attempts(made).filter(() => random() < Number(share));
const found: string[] = [];
for (const [index, attempt] of chosen.entries()) {
  const file = join(folder, "tried.db");
  for (const end of ["", "-wal", "-shm"]) rmSync(file + end, { force: true });
  copyFileSync(made, file);
  // To run a tree again takes as long as all the rest together.
  const commands = COMMANDS.filter(([what]) => what !== "rerun" || index % 10 === 0);
  found.push(...(await trial(file, attempt, commands)));
}
rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
write(`${JSON.stringify({ attempts: chosen.length, found } satisfies CraftedRows)}\n`);
process.exit(0);
