/** The processes of this machine as `/proc` shows them. Where there is no `/proc`, nothing is known about them. */

import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { codeOf, orUndefined } from "../../core/errors.ts";

/** A process that runs or waits; one that has ended and was not waited for is none. */
export type ProcessEntry = {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  /** The time in ticks since the start of the machine: a number may be given to another process, but not with the same start. */
  readonly start: string;
};

export function listProcesses(): ProcessEntry[] {
  return numbers().flatMap((pid) => processOf(pid) ?? []);
}

/** Undefined when there is no such process, or no way to know. */
export function processOf(pid: number): ProcessEntry | undefined {
  const found = statOf(pid);
  return found === undefined || found.state === "Z" || found.state === "X" ? undefined : found;
}

/** The start of a process, also of one that has just ended; "" when that is unknown. */
export function startOf(pid: number): string {
  return statOf(pid)?.start ?? "";
}

/** A process may end while it is looked at. */
function statOf(pid: number): (ProcessEntry & { state: string }) | undefined {
  const stat = orUndefined(() => readFileSync(`/proc/${pid}/stat`, "latin1"));
  if (stat === undefined) return undefined;
  // The name comes second, in brackets, and may hold anything.
  const [state = "", parent, group, ...rest] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { pid, parent: Number(parent), group: Number(group), start: rest[16] ?? "", state };
}

/** True when a process that is still at work belongs to the group. */
export function hasMembers(group: number): boolean {
  if (!signalGroup(group, 0)) return false;
  // Members that have ended count for the kernel until they are waited for, which not every machine's first process does.
  const processes = listProcesses();
  return processes.length === 0 || processes.some((each) => each.group === group);
}

/** Finds the processes whose variables hold the mark, us not among them. What a process hides or has thrown away is not found. */
export function markedProcesses(mark: string): ProcessEntry[] {
  return numbers().flatMap((pid) => {
    if (pid === process.pid) return [];
    const variables = orUndefined(() => readFileSync(`/proc/${pid}/environ`, "latin1"));
    return variables?.includes(mark) ? (processOf(pid) ?? []) : [];
  });
}

/** False when the group has no members. */
export function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  return send(-group, signal);
}

export function signalProcess(pid: number, signal: NodeJS.Signals): boolean {
  return send(pid, signal);
}

/** Signals a process with our mark, and its group when it leads one: others in there may have thrown the mark away. */
export function signalMarked({ pid, group }: ProcessEntry, signal: NodeJS.Signals): boolean {
  return send(pid === group ? -pid : pid, signal);
}

function send(target: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(target, signal);
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    return codeOf(error) === "EPERM";
  }
}

/** Numbers of processes mean something only since the last start of the machine, and in one namespace of them. */
export function bootOf(): string {
  const boot = orUndefined(() => readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim());
  const namespace = orUndefined(() => readlinkSync("/proc/self/ns/pid"));
  return `${boot ?? ""}/${namespace ?? ""}`;
}

function numbers(): number[] {
  const names = orUndefined(() => readdirSync("/proc")) ?? [];
  return names.map(Number).filter((pid) => pid > 0);
}
