/** The reaper: what one of us could not kill, the next one does, and nothing that belongs to others. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, suite, test } from "node:test";
import { countLeftovers } from "../../../../src/app/process/group-record.ts";
import { bootOf, startOf } from "../../../../src/app/process/process-table.ts";
import { openPrograms } from "../../../../src/app/process/programs.ts";

const folders: string[] = [];
const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

suite("Processes: leftovers of one that is gone", () => {
  test("leftovers are killed at the next start: by their leader, and by their mark where the leader is gone", async () => {
    const { state, mark, owner } = await stateOfTheDead();
    const leader = sleeper();
    const marked = sleeper({ SOUS_RUN: `${mark}2/` });
    const bystander = sleeper();
    write(state, mark, owner, [leader.pid, startOf(leader.pid ?? 0)], [bystander.pid, "1"]);
    const ends = [ended(leader), ended(marked)];
    await using _programs = openPrograms({ stateFolder: state, environment: process.env });
    assert.deepEqual(await Promise.all(ends), ["SIGKILL", "SIGKILL"]);
    // Its number is in the record, but it began at another time: it is another process.
    assert.equal(await endedBy(bystander), "SIGTERM");
    assert.deepEqual(readdirSync(join(state, "programs")), []);
  });

  test("leftovers are left alone while their owner is alive, after a restart of the machine, and when the record is not ours", async () => {
    const { state, mark, owner } = await stateOfTheDead();
    const victim = sleeper();
    const group: Group = [victim.pid, startOf(victim.pid ?? 0)];
    const mine = { boot: bootOf(), pid: process.pid, start: startOf(process.pid) };
    write(state, mark, mine, group);
    write(state, newMark(), { ...owner, boot: "another/boot" }, group);
    writeFileSync(join(state, "programs", `${"a".repeat(32)}-groups`), "not a record\n");
    const elsewhere = join(state, "elsewhere");
    const linked = newMark();
    write(state, linked, owner, group);
    rmSync(join(state, "programs", `${linked}groups`));
    writeFileSync(elsewhere, record(linked, owner, group));
    symlinkSync(elsewhere, join(state, "programs", `${linked}groups`));
    await using _programs = openPrograms({ stateFolder: state, environment: process.env });
    assert.equal(await endedBy(victim), "SIGTERM");
    assert.ok(existsSync(elsewhere));
  });

  test("the record is private, and gone after a clean end", async () => {
    const state = newFolder();
    const programs = openPrograms({ stateFolder: state, environment: process.env });
    assert.deepEqual(readdirSync(state), []);
    const program = await programs.start({ program: "sleep", args: ["300"], cwd: state, maxOutputBytes: 10 });
    const [name = ""] = readdirSync(join(state, "programs"));
    assert.equal(statSync(join(state, "programs", name)).mode & 0o777, 0o600);
    assert.equal(statSync(join(state, "programs")).mode & 0o777, 0o700);
    await programs[Symbol.asyncDispose]();
    await program.ended;
    assert.deepEqual(readdirSync(join(state, "programs")), []);
  });

  test("B4: a link in the place of the folder is not followed: nothing is written there, and no process is killed for it", async () => {
    const { state, mark, owner } = await stateOfTheDead();
    const victim = sleeper();
    write(state, mark, owner, [victim.pid, startOf(victim.pid ?? 0)]);
    const elsewhere = newFolder();
    renameSync(join(state, "programs"), join(elsewhere, "programs"));
    symlinkSync(join(elsewhere, "programs"), join(state, "programs"));
    await using programs = openPrograms({ stateFolder: state, environment: process.env });
    await programs.start({ program: "sleep", args: ["300"], cwd: state, maxOutputBytes: 10 });
    assert.deepEqual(readdirSync(join(elsewhere, "programs")), [`${mark}groups`]);
    assert.equal(countLeftovers(state), 0);
    assert.equal(await endedBy(victim), "SIGTERM");
  });

  test("B4: a folder of another user is neither read nor written", { skip: process.getuid?.() !== 0 }, async () => {
    const { state, mark, owner } = await stateOfTheDead();
    const victim = sleeper();
    write(state, mark, owner, [victim.pid, startOf(victim.pid ?? 0)]);
    chownSync(join(state, "programs"), 12_345, 12_345);
    await using programs = openPrograms({ stateFolder: state, environment: process.env });
    const { exitCode } = await programs.run({ program: "true", args: [], cwd: state, maxOutputBytes: 10 });
    assert.deepEqual([exitCode, readdirSync(join(state, "programs"))], [0, [`${mark}groups`]]);
    assert.equal(await endedBy(victim), "SIGTERM");
  });

  test("a state folder that cannot be written keeps no program from running", async () => {
    const state = newFolder();
    writeFileSync(join(state, "programs"), "in the way");
    await using programs = openPrograms({ stateFolder: state, environment: process.env });
    const { exitCode } = await programs.run({ program: "true", args: [], cwd: state, maxOutputBytes: 10 });
    assert.equal(exitCode, 0);
  });
});

type Owner = { boot: string; pid: number; start: string };
type Group = [pid: number | undefined, start: string];

/** The owner is a process that has just ended. */
async function stateOfTheDead(): Promise<{ state: string; mark: string; owner: Owner }> {
  const state = newFolder();
  mkdirSync(join(state, "programs"));
  const dead = sleeper();
  const owner = { boot: bootOf(), pid: dead.pid ?? 0, start: startOf(dead.pid ?? 0) };
  dead.kill("SIGKILL");
  await ended(dead);
  return { state, mark: newMark(), owner };
}

function write(state: string, mark: string, owner: Owner, ...groups: Group[]): void {
  writeFileSync(join(state, "programs", `${mark}groups`), record(mark, owner, ...groups));
}

function record(mark: string, owner: Owner, ...groups: Group[]): string {
  const lines = groups.map(([pid, start]) => `+ ${pid} ${start}`);
  return `${[JSON.stringify({ ...owner, mark }), "+ 4000001 1", "- 4000001", ...lines].join("\n")}\n`;
}

function newMark(): string {
  return `${randomBytes(16).toString("hex")}-`;
}

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "sous-record-"));
  folders.push(folder);
  return folder;
}

/** In a group of its own. */
function sleeper(environment: Record<string, string> = {}): ChildProcess {
  const child = spawn("sleep", ["300"], {
    detached: true,
    stdio: "ignore",
    env: { PATH: process.env.PATH, ...environment },
  });
  children.push(child);
  return child;
}

/** Asks it to end. The kill of another process would have come first, or be stronger. */
function endedBy(child: ChildProcess): Promise<NodeJS.Signals | null> {
  if (child.signalCode !== null) return Promise.resolve(child.signalCode);
  const end = ended(child);
  child.kill("SIGTERM");
  return end;
}

function ended(child: ChildProcess): Promise<NodeJS.Signals | null> {
  return new Promise((resolve) => child.once("exit", (_code, signal) => resolve(signal)));
}
