/**
 * Records on disk which process groups this process has started: a later process of sous kills what this one could not. A
 * second safety net below the guard, so a record that cannot be written stops nothing.
 */

import {
  closeSync,
  constants,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { codeOf, orUndefined } from "../../core/errors.ts";
import type { Guarded } from "./guard.ts";
import {
  bootOf,
  markedProcesses,
  type ProcessEntry,
  processOf,
  signalGroup,
  signalMarked,
  startOf,
} from "./process-table.ts";

export class GroupRecord {
  readonly #file: string | undefined;
  readonly #mark: string;
  #descriptor: number | undefined;
  #isBroken = false;

  /** Nothing is written before there is something to say. */
  constructor(stateFolder: string | undefined, mark: string) {
    this.#file = stateFolder === undefined ? undefined : join(folderIn(stateFolder), `${mark}groups`);
    this.#mark = mark;
  }

  add({ pid, start }: Guarded): void {
    this.#write(`+ ${pid} ${start}\n`);
  }

  remove(pid: number): void {
    this.#write(`- ${pid}\n`);
  }

  /** Nothing is left to kill. */
  close(): void {
    if (this.#descriptor === undefined || this.#file === undefined) return;
    closeSync(this.#descriptor);
    this.#descriptor = undefined;
    rmSync(this.#file, { force: true });
  }

  #write(line: string): void {
    if (this.#file === undefined || this.#isBroken) return;
    try {
      this.#descriptor ??= this.#open(this.#file);
      writeSync(this.#descriptor, line);
    } catch (error) {
      if (!(error instanceof NotOurs) && codeOf(error) === undefined) throw error;
      this.#isBroken = true;
    }
  }

  #open(file: string): number {
    const folder = dirname(file);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (!isOurs(folder)) throw new NotOurs(folder);
    const descriptor = openSync(file, "ax", 0o600);
    const start = startOf(process.pid);
    writeSync(descriptor, `${JSON.stringify({ boot: bootOf(), pid: process.pid, start, mark: this.#mark })}\n`);
    return descriptor;
  }
}

/** Kills what processes of ours have left behind that are gone themselves. Returns how many were found. */
export function reapLeftovers(stateFolder: string): number {
  let killed = 0;
  for (const { file, left } of leftIn(stateFolder)) {
    killed += killLeft(left);
    rmSync(file, { force: true });
  }
  return killed;
}

/** Counts the leftovers; kills nothing. */
export function countLeftovers(stateFolder: string): number {
  return leftIn(stateFolder).reduce((sum, { left }) => {
    const { groups, marked } = livingOf(left);
    return sum + Math.max(groups.length, marked.length);
  }, 0);
}

/** The process groups of an owner that is gone. */
type Left = { mark: string; groups: Guarded[] };

function leftIn(stateFolder: string): { file: string; left: Left }[] {
  const folder = folderIn(stateFolder);
  if (!isOurs(folder)) return [];
  return namesIn(folder).flatMap((name) => {
    const file = join(folder, name);
    const left = readRecord(file);
    return left === undefined ? [] : [{ file, left }];
  });
}

function killLeft(left: Left): number {
  const { groups, marked } = livingOf(left);
  for (const { pid } of groups) signalGroup(pid, "SIGKILL");
  for (const each of marked) signalMarked(each, "SIGKILL");
  return groups.length + marked.length;
}

function livingOf({ groups: recorded, mark }: Left): { groups: Guarded[]; marked: ProcessEntry[] } {
  const marked = markedProcesses(mark);
  // A group without its leader is known by a member with our mark: its number alone may be that of another group now.
  const groups = recorded.filter(
    ({ pid, start }) => processOf(pid)?.start === start || marked.some(({ group }) => group === pid),
  );
  return { groups, marked };
}

const MAX_RECORD_BYTES = 16 * 1024 * 1024;

/** After this time its writer has ended, on whatever machine that was. */
const OUTDATED_MS = 30 * 24 * 60 * 60 * 1000;

/** Undefined while its owner may be alive, and for a file that is not ours to judge. */
function readRecord(file: string): Left | undefined {
  try {
    const stats = lstatSync(file);
    if (!stats.isFile() || stats.uid !== process.getuid?.() || stats.size > MAX_RECORD_BYTES) return undefined;
    const descriptor = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      return parseRecord(readFileSync(descriptor, "utf8"), Date.now() - stats.mtimeMs > OUTDATED_MS);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    if (error instanceof SyntaxError || codeOf(error) !== undefined) return undefined;
    throw error;
  }
}

function parseRecord(text: string, isOutdated: boolean): Left | undefined {
  const [first = "", ...lines] = text.split("\n");
  const { boot, pid, start, mark } = JSON.parse(first);
  if (typeof mark !== "string" || !/^[0-9a-f]{32}-$/.test(mark)) return undefined;
  // Numbers of another start of the machine, or of another namespace, say nothing here.
  if (boot !== bootOf() || start === "") return isOutdated ? { mark, groups: [] } : undefined;
  if (processOf(pid)?.start === start) return undefined;
  const groups = new Map<number, Guarded>();
  for (const line of lines) {
    const [word, number, began = ""] = line.split(" ");
    const group = Number(number);
    if (!Number.isSafeInteger(group) || group <= 1) continue;
    if (word === "+") groups.set(group, { pid: group, start: began });
    if (word === "-") groups.delete(group);
  }
  return { mark, groups: [...groups.values()] };
}

function folderIn(stateFolder: string): string {
  return join(stateFolder, "programs");
}

/** A link instead of the file would decide where we write, and which processes we kill. */
function isOurs(folder: string): boolean {
  const found = orUndefined(() => lstatSync(folder));
  return found?.isDirectory() === true && found.uid === process.getuid?.();
}

class NotOurs extends Error {}

function namesIn(folder: string): string[] {
  const names = orUndefined(() => readdirSync(folder)) ?? [];
  return names.filter((name) => /^[0-9a-f]{32}-groups$/.test(name));
}
