/** The owner of a tree: a process as a line of text, and whether that process can still be there. */

import { randomBytes } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { orUndefined, UserError } from "../../core/errors.ts";

/** The length of a lease, and the time between two renewals by its owner: one may fail. */
export const LEASE_MS = 10_000;
export const RENEWAL_MS = 3_000;

/**
 * The name of one open store in this process: host, boot, process, its start, and a random part. Two stores of one process
 * are two owners.
 */
export function newOwner(host: string = hostname()): string {
  const random = randomBytes(8).toString("hex");
  return [encodeURIComponent(host), bootOf(), process.pid, startOf(process.pid) ?? "", random].join(" ");
}

/** True when it is certain: the owner ran on this host since its last start, and its process is gone. */
export function isGone(owner: string): boolean {
  const { host, boot, pid, start } = partsOf(owner);
  if (host !== hostname() || boot !== bootOf() || !(pid > 0)) return false;
  const startNow = startOf(pid);
  if (startNow !== undefined) return startNow !== start;
  return !isThere(pid);
}

/** True when it is certain: the owner is a process of this host, and it is there. */
export function isRunning(owner: string): boolean {
  const { host, boot, pid, start } = partsOf(owner);
  return host === hostname() && boot === bootOf() && pid > 0 && start !== "" && startOf(pid) === start;
}

/** Says that a process works on the tree, and how long it holds it. */
export function atWork(rootId: string, owner: string, leasedUntil: number): UserError {
  const until = new Date(Math.min(leasedUntil, LATEST_DATE)).toISOString();
  return new UserError(
    `Run ${rootId} is at work in ${describeOwner(owner)}, which holds it until ${until}: wait, or stop that process`,
  );
}

/** The last moment that has a date. */
const LATEST_DATE = 8.64e15;

/** Names the owner for people. The line may come from a forged file. */
export function describeOwner(owner: string): string {
  const { host, pid } = partsOf(owner);
  if (pid === process.pid && host === hostname()) return "this process";
  return pid > 0 ? `process ${pid} on ${host.slice(0, 64).replace(/[^\w.-]/g, "?")}` : "another process";
}

function partsOf(owner: string): { host: string; boot: string; pid: number; start: string } {
  const [host = "", boot = "", pid = "", start = ""] = owner.split(" ");
  return { host: decodeHost(host), boot, pid: Number(pid), start };
}

function decodeHost(host: string): string {
  try {
    return decodeURIComponent(host);
  } catch (error) {
    if (error instanceof URIError) return host;
    throw error;
  }
}

/** Numbers of processes mean something only since the last start of the machine, and in one namespace of them. */
function bootOf(): string {
  const boot = orUndefined(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim());
  const namespace = orUndefined(() => readlinkSync("/proc/self/ns/pid"));
  return `${boot ?? ""}/${namespace ?? ""}`;
}

/** The start of the process, in ticks since the start of the machine; "" when it has ended and was not waited for. */
function startOf(pid: number): string | undefined {
  const stat = orUndefined(() => readFileSync(`/proc/${pid}/stat`, "utf8"));
  // The name of the process comes second, in brackets, and may hold anything.
  const [state, ...rest] = stat?.slice(stat.lastIndexOf(")") + 2).split(" ") ?? [];
  return state === "Z" || state === "X" ? "" : rest[18];
}

/** Looks for the process on machines without `/proc`, and for processes of others that it hides. */
function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}
