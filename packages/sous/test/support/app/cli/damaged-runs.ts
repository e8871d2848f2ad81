/** Databases of real runs in which one of them is damaged by chance, and the commands that people type then. */

import { copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { StoredEvent } from "../../../../src/core/event.ts";
import { openSqliteStore } from "../../../../src/storage/store/sqlite/store.ts";
import { pick, seededRandom } from "../../../../src/testing/world.ts";
import { type Damage, drawDamage } from "../../storage/store/damages.ts";
import { temporaryTree } from "../tools/temporary-tree.ts";
import { type Ended, inProcess } from "./in-process.ts";

export type DamagedRuns = {
  readonly trials: number;
  readonly commands: number;
  /** Trials in which a command called the damaged run damaged. */
  readonly noticed: number;
  /** What another run, or a person, had to suffer. */
  readonly found: readonly string[];
};

/** The runs, the newest last. `damaged` ones are the victims of trials. */
const RUNS = ["first", "ended", "parked", "left", "victim"] as const;
type Run = (typeof RUNS)[number];

/** The names of the effects that were there when its process died. */
const DONE: Readonly<Record<Run, number>> = { first: 2, ended: 2, parked: 1, left: 1, victim: 1 };

type Stage = AsyncDisposable & {
  readonly ids: Readonly<Record<Run, string>>;
  /** The whole database. */
  readonly made: string;
  /** The database that is damaged. */
  readonly tried: string;
  command(...parameters: string[]): Promise<Ended>;
  /** The effects since `forget`, in order. */
  effects(): string[];
  forget(): void;
};

/** Tries `count` damages of chance. Each command is tried on each. */
export async function tryDamages({ seed, count }: { seed: number; count: number }): Promise<DamagedRuns> {
  await using stage = await openStage();
  copyDatabase(stage.made, stage.tried);
  const whole = await answersOf(stage);
  const found: string[] = [];
  let [noticed, commands] = [0, 0];
  for (let trial = 0; trial < count; trial++) {
    const random = seededRandom(seed, `damage ${trial}`);
    const run = pick(random, ["victim", "victim", "victim", "left", "parked", "ended"] as const);
    const damage = drawDamage(stage.made, stage.ids[run], random);
    const tried = await tryDamage(stage, run, damage, whole);
    commands += tried.commands;
    noticed += tried.isNoticed ? 1 : 0;
    found.push(...tried.found.map((problem) => `trial ${trial} of seed ${seed}, ${run}, ${damage.name}: ${problem}`));
  }
  return { trials: count, commands, noticed, found };
}

/** What every command says of each run, as objects that can be compared. */
type Answers = { readonly said: ReadonlyMap<string, Ended>; readonly ofRun: ReadonlyMap<Run, string> };

async function answersOf(stage: Stage): Promise<Answers> {
  const said = new Map<string, Ended>();
  const ask = async (name: string, ...parameters: string[]): Promise<Ended> => {
    const ended = await stage.command(...parameters, "--db-path", stage.tried);
    said.set(name, ended);
    return ended;
  };
  const list = listed(await ask("list", "replay", "--list", "--json", "--limit", "50"));
  const roots = listed(await ask("roots", "replay", "--list", "--roots", "--json", "--limit", "50"));
  await ask("list for people", "replay", "--list", "--limit", "50");
  await ask("last", "replay", "--id", "last");
  const models = new Map<unknown, object>(jsonOf(await ask("stats", "stats", "--json")).models?.map(modelEntry));
  await ask("doctor", "doctor");
  const ofRun = new Map<Run, string>();
  for (const run of RUNS) {
    const id = stage.ids[run];
    const shown = await ask(`id ${run}`, "replay", "--id", id, "--json");
    const tree = await ask(`tree ${run}`, "replay", "--id", id, "--tree");
    const exported = await ask(`export ${run}`, "replay", "--id", id, "--export", "json");
    const page = await ask(`html ${run}`, "replay", "--id", id, "--export", "html");
    const texts = [shown, tree, exported, page].map(({ code, stdout, stderr }) => [code, stdout, stderr]);
    const own = [list, roots].map((entries) => entries.filter(({ root_id }) => root_id === id));
    ofRun.set(run, JSON.stringify([own, models.get(`script/${run}.json`), texts]));
  }
  return { said, ofRun };
}

type Listed = { readonly root_id: string };
type Stats = { readonly models?: { readonly model: string }[] };

function modelEntry(entry: { readonly model: string }): [string, object] {
  return [entry.model, entry];
}

function listed({ code, stdout }: Ended): Listed[] {
  return code === 0 ? JSON.parse(stdout).runs : [];
}

function jsonOf({ code, stdout }: Ended): Stats {
  return code === 0 ? JSON.parse(stdout) : {};
}

async function tryDamage(stage: Stage, run: Run, { sql }: Damage, whole: Answers) {
  copyDatabase(stage.made, stage.tried);
  {
    using database = new DatabaseSync(stage.tried);
    database.exec(`PRAGMA ignore_check_constraints = ON; ${sql}; PRAGMA wal_checkpoint(TRUNCATE)`);
  }
  const found: string[] = [];
  const { said, ofRun } = await answersOf(stage);
  for (const other of RUNS) {
    const [is, was] = [ofRun.get(other) ?? "", whole.ofRun.get(other) ?? ""];
    if (other !== run && is !== was) found.push(`${other} is not what it was: ${difference(is, was)}`);
  }
  const isAboutIt = new RegExp(` ${run}$`);
  const resumed = await resumeAll(stage, run, found);
  for (const [name, ended] of [...said, ...resumed]) {
    if (/^ +at /m.test(ended.stderr) || ended.stderr.includes("This is a bug")) found.push(`${name}: ${ended.stderr}`);
    // Only a command about the run itself may refuse, in a sentence.
    const { code, stderr } = ended;
    const isFine = code === 0 || (isAboutIt.test(name) && code === 1 && /^[^\n]{10,1500}\n$/.test(stderr));
    if (!isFine && !resumed.has(name)) found.push(`${name} ended with ${code}: ${stderr}`);
  }
  const isNoticed = [...said.values(), ...resumed.values()].some(({ both }) =>
    /"damage": "|cannot be resumed/.test(both),
  );
  const isNamed = /\d damaged runs?: /.test(said.get("doctor")?.stdout ?? "");
  if (said.get(`tree ${run}`)?.stdout.includes("Damaged: ") === true && !isNamed)
    found.push(`doctor does not name it: ${said.get("doctor")?.stdout}`);
  return { found, isNoticed, commands: said.size + resumed.size };
}

function difference(one: string, other: string): string {
  const at = Math.max(0, [...one].findIndex((character, index) => character !== other[index]) - 40);
  return `${one.slice(at, at + 200)} … ${other.slice(at, at + 200)}`;
}

/** Each run that can be continued is, whichever other is damaged, and nothing is done twice. */
async function resumeAll(stage: Stage, damaged: Run, found: string[]): Promise<ReadonlyMap<string, Ended>> {
  stage.forget();
  const resume = (...words: string[]) => stage.command("resume", ...words, "--yes", "--db-path", stage.tried);
  const first = await resume();
  const ended = new Map<string, Ended>([["resume", first]]);
  if (first.code !== 0) found.push(`resume ended with ${first.code}: ${first.both}`);
  for (const run of ["left", "victim"] as const) {
    const isLeft = !stage.effects().includes(`${run}-2`);
    const again = await resume(stage.ids[run]);
    ended.set(`resume ${run}`, again);
    const isDone = again.code === 0 || again.stderr.includes("has completed");
    if (run !== damaged && !isDone) found.push(`resume ${run} ended with ${again.code}: ${again.both}`);
    if (isLeft && run !== damaged && !stage.effects().includes(`${run}-2`)) found.push(`${run} was not finished`);
  }
  const effects = stage.effects();
  const twice = effects.filter((effect, index) => effects.indexOf(effect) !== index);
  const again = effects.filter((effect) => RUNS.some((run) => effect === `${run}-1`));
  if (twice.length + again.length > 0) found.push(`done twice: ${[...twice, ...again].join(" ")}`);
  return ended;
}

function copyDatabase(from: string, to: string): void {
  for (const end of ["", "-wal", "-shm"]) rmSync(to + end, { force: true });
  copyFileSync(from, to);
}

async function openStage(): Promise<Stage> {
  const place = await temporaryTree({});
  const env = {
    HOME: place.path,
    PATH: process.env.PATH ?? "",
    XDG_CONFIG_HOME: join(place.path, "config"),
    XDG_STATE_HOME: join(place.path, "state"),
    XDG_DATA_HOME: join(place.path, "data"),
    TZ: "UTC",
  };
  const command = (...parameters: string[]) => inProcess(parameters, { cwd: place.path, env });
  const [all, made, effects] = ["all.db", "made.db", "effects"].map((name) => join(place.path, name)) as [
    string,
    string,
    string,
  ];
  const ids: Partial<Record<Run, string>> = {};
  for (const run of RUNS) {
    writeFileSync(join(place.path, `${run}.json`), JSON.stringify(scriptOf(run)));
    const how = run === "parked" ? "--park" : "--yes";
    const words = ["--model", `script/${run}.json`, "--db-path", all, how, "--json", `The task of ${run}.`];
    const ended = await command("run", ...words);
    if (ended.code !== (run === "parked" ? 7 : 0)) throw new Error(`${run} ended with ${ended.code}: ${ended.stderr}`);
    ids[run] = JSON.parse(ended.stdout).run_id;
  }
  const known = ids as Record<Run, string>;
  for (const run of RUNS) await keepUntilDeath(all, made, known[run], DONE[run]);
  return {
    ids: known,
    made,
    tried: join(place.path, "tried.db"),
    command,
    effects: () => (existsSync(effects) ? readFileSync(effects, "utf8").split("\n").filter(Boolean) : []),
    forget: () => rmSync(effects, { force: true }),
    [Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
  };
}

/** A child with a long text, then two effects of its own. */
function scriptOf(run: Run): object {
  const act = (number: number) => ({
    calls: [{ tool: "terminal", input: { command: `echo ${run}-${number} >> effects` } }],
  });
  const child = { tool: "subagent", input: { label: "scout", task_prompt: `Look at what ${run} needs.` } };
  return {
    sous: [{ calls: [child] }, act(1), act(2), { text: `${run} is done.` }],
    "sous/scout": [{ text: `Seen by ${run}. ${run.repeat(70_000 / run.length)}`, usage: { input: 100, output: 20 } }],
  };
}

/** Copies a tree as far as its process got when it had done so many effects. */
async function keepUntilDeath(from: string, to: string, rootId: string, effects: number): Promise<void> {
  await using source = await openSqliteStore(from, { readOnly: true });
  await using target = await openSqliteStore(to);
  const events = await source.read(rootId);
  await target.append(rootId, events.slice(0, endOf(events, effects)));
}

function endOf(events: readonly StoredEvent[], effects: number): number {
  if (effects !== 1) return events.length;
  const first = events.findIndex((event) => event.type === "tool-call-end" && event.toolName === "terminal");
  return first === -1 ? events.length : first + 1;
}
