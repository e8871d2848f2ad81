/**
 * Finds where a path leads, and the reason against going there. One judgement for the tools, for the files that a command opens, and
 * for every path that an external agent asks about: none of them gets what the others are refused.
 */

import { lstatSync, realpathSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import type { ApprovalRequest, TargetProblem } from "../../core/approval.ts";
import { type FileGuard, type GuardPaths, guardOf } from "../../core/guarded-files.ts";
import { isInstalled, readingsOf, whyNotPlain } from "../../core/plain-path.ts";
import { toolRow } from "../../core/words/tools.ts";
import {
  type Action,
  type CommandAction,
  type FoundPath,
  kindOf,
  type PathAction,
  type RealPath,
  readAction,
  readPath,
  realFolder,
} from "./action.ts";
import { followLinks, isOfProcess } from "./follow-links.ts";
import { looseWrites } from "./loose-writes.ts";

type Ground = {
  readonly cwd: string;
  /** The real path of `cwd`, if that is known already. */
  readonly root?: string | undefined;
  readonly home?: string | undefined;
  readonly paths: GuardPaths;
  readonly realPath?: RealPath | undefined;
};

/** Says why an external agent could take a path for another one than the kernel does. Our own tools take each as it stands. */
function whyUnclear(path: string): string | undefined {
  const problem = whyNotPlain(path);
  if (problem !== undefined) return problem;
  if (path.trim() !== path) return "it begins or ends with white space";
  if (/[\p{Cc}\p{Default_Ignorable_Code_Point}]/u.test(path)) return "it holds characters that are not seen";
  if (/[*?]/.test(path)) return "some programs take it for a pattern";
  return goesUpFromName(path) ? "it goes up from a name that may be a link" : undefined;
}

/** The kernel follows a link before it goes up from it, so `..` behind a name may lead anywhere. */
function goesUpFromName(path: string): boolean {
  const names = path.split(/[/\\]/).filter((name) => name !== "" && name !== ".");
  return names.slice(0, names.lastIndexOf("..") + 1).some((name) => name !== "..");
}

/** The facts about a path at this moment. */
class Target {
  readonly #found: FoundPath;
  readonly #ground: Ground;

  constructor(found: FoundPath, ground: Ground) {
    this.#found = found;
    this.#ground = ground;
  }

  get isOutside(): boolean {
    return isAbsolute(this.#found.path);
  }

  /** True for a file outside whose path does not say so: a person sees a path from the root as what it is. */
  get leadsOut(): boolean {
    return this.isOutside && !this.#found.isFromRoot;
  }

  get isOfProcess(): boolean {
    return isOfProcess(this.#found.absolute.path);
  }

  /** The strictest guard on the path that was asked for, and on the one it leads to. */
  guard(effect?: FileGuard["effect"]): FileGuard | undefined {
    const workspace = realOrSame(this.#ground);
    const { path, named } = this.#found;
    const guards = [path, named].flatMap((each) => guardOfFile(resolve(workspace, each), this.#ground.paths) ?? []);
    if (effect !== undefined) return guards.find((each) => each.effect === effect);
    return guards.find((each) => each.effect === "refuse") ?? guards[0];
  }

  /** True for a file below a folder of installed packages in the workspace, as in our tools. */
  get isInstalled(): boolean {
    const { path, absolute } = this.#found;
    return isInstalled(path, lstatSync(absolute.path, { throwIfNoEntry: false })?.mode ?? 0);
  }

  /** The entry that the path names, or for `real` the one that it leads to; a path that may not be read counts as a file. */
  kind(which: "named" | "path"): "none" | "link" | "folder" | "hard link" | "file" | "special" {
    try {
      const stats = lstatSync(this.#found.absolute[which], { throwIfNoEntry: false });
      if (stats === undefined) return "none";
      if (stats.isSymbolicLink()) return "link";
      if (stats.isDirectory()) return "folder";
      if (!stats.isFile()) return "special";
      return stats.nlink > 1 ? "hard link" : "file";
    } catch {
      return "hard link";
    }
  }
}

/** `isUnsure`: the file is asked about because of where it lies or may lie, and not because of what it is. */
export type WriteGuard = FileGuard & { readonly isUnsure?: true };

/**
 * The strictest guard on what a call writes: the tool itself, or the files that a command of the terminal opens. The tools refuse
 * by themselves what is always refused; behind a redirection and behind an external agent there is no tool.
 */
export function writeGuard(
  action: Action,
  files: readonly Action[],
  { isExternal, ...ground }: Ground & { isExternal: boolean },
): WriteGuard | undefined {
  const own = isWrite(action) ? new Target(action, ground).guard(isExternal ? undefined : "ask") : undefined;
  if (own !== undefined) return own.effect === "refuse" ? own : asked(own);
  const found = [
    ...files.filter(isWrite).flatMap((file) => redirectionGuard(new Target(file, ground)) ?? []),
    ...(action.kind === "command" ? looseGuards(action, ground) : []),
  ];
  return found.find(({ effect }) => effect === "refuse") ?? found.find(({ isUnsure }) => isUnsure !== true) ?? found[0];
}

/** The guards on what a command that is not understood writes as far as it can be seen. */
function looseGuards({ command, reading, folder }: CommandAction, ground: Ground): WriteGuard[] {
  if (reading.problem === undefined) return [];
  const { paths, unknown, quoted } = looseWrites(command, { home: ground.home, folder });
  const sure = paths.flatMap((path) => bothWays(path, ground)).flatMap((target) => redirectionGuard(target) ?? []);
  const perhaps = quoted.flatMap((path) => bothWays(path, ground)).flatMap((target) => target.guard() ?? []);
  const hidden = unknown.map((written): WriteGuard => {
    return { effect: "ask", reason: `which file ${written || "it"} is, is not known`, isUnsure: true };
  });
  return [...sure, ...perhaps.map(asked), ...hidden];
}

/** `..` behind a link goes up from where the link leads, and for some shells from where it stands. */
function bothWays(path: string, ground: Ground): Target[] {
  const found = path.includes("..")
    ? [undefined, followLinks(isAbsolute(path) ? path : `${ground.cwd}/${path}`)]
    : [undefined];
  return found.map((each) => new Target(readPath(path, ground, each), ground));
}

function redirectionGuard(target: Target): WriteGuard | undefined {
  if (target.kind("path") === "hard link")
    return { effect: "refuse", reason: "it would write a hard link: the same file has another name" };
  if (target.isOfProcess) return { effect: "ask", reason: "which file it writes depends on the process that opens it" };
  const guard = target.guard();
  if (guard === undefined && target.leadsOut)
    return {
      effect: "ask",
      reason: "it writes a file outside of the workspace, by .. or through a link",
      isUnsure: true,
    };
  if (guard?.effect !== "refuse") return guard && asked(guard);
  return { effect: "refuse", reason: `it would write a file that is never written: ${guard.reason}` };
}

function asked({ reason }: FileGuard): FileGuard {
  return { effect: "ask", reason: `it is guarded even where writes are allowed: ${reason}` };
}

/** Looks up where an action of an external agent leads, once for all who judge it. */
export function located(request: ApprovalRequest, { realPath }: Pick<Ground, "realPath"> = {}): ApprovalRequest {
  const isCommand = kindOf(request.toolName) === "command";
  if (!isCommand && kindOf(request.toolName) !== "path") return request;
  const cwd = realFolder({ input: {}, cwd: request.cwd }, { realPath });
  const given = pathOf(request);
  const path =
    typeof given === "string" ? readPath(given, { cwd: request.cwd, realPath, root: cwd }).absolute.path : undefined;
  return { ...request, real: { cwd, path } };
}

/** The folder of a command, and the path of any other tool. */
function pathOf({ toolName, input }: ApprovalRequest): unknown {
  const { path, cwd } = (input ?? {}) as { path?: unknown; cwd?: unknown };
  return kindOf(toolName) === "command" ? cwd : path;
}

/**
 * Gives the reason against an action of an external agent. It acts by itself once it is allowed to, so what our tools refuse while they
 * run is refused here, before any rule: all but the files that a configuration guards, which the rules know.
 */
export function externalProblem(request: ApprovalRequest, others: readonly string[] = []): TargetProblem | undefined {
  const given = pathOf(request);
  if (given === undefined) return undefined;
  if (typeof given !== "string") return { effect: "unclear", reason: "its path is not a text" };
  const readings = allReadings(given, others);
  if (readings === undefined) return { effect: "unclear", reason: "its path can mean too many files" };
  const problems = readings.flatMap((reading) => problemOf(reading, asRead(request, reading)) ?? []);
  return problems.find(({ effect }) => effect === "refuse") ?? problems[0];
}

export function otherReadings(request: ApprovalRequest, others: readonly string[] = []): ApprovalRequest[] {
  const given = pathOf(request);
  const [first, ...rest] = typeof given === "string" ? (allReadings(given, others) ?? []) : [];
  return first === undefined ? [] : rest.map((reading) => asRead(request, reading));
}

function allReadings(given: string, others: readonly string[]): string[] | undefined {
  const all = [given, ...others].map(readingsOf);
  return all.includes(undefined) ? undefined : [...new Set(all.flatMap((each) => each ?? []))];
}

/** The request with another path in the place of its own. */
function asRead(request: ApprovalRequest, reading: string): ApprovalRequest {
  if (reading === pathOf(request)) return request;
  const name = kindOf(request.toolName) === "command" ? "cwd" : "path";
  const input = { ...(request.input as object), [name]: reading };
  return { ...request, input, target: undefined, real: request.real && { cwd: request.real.cwd } };
}

function problemOf(path: string, request: ApprovalRequest): TargetProblem | undefined {
  const unclear = spellingProblem(path);
  if (unclear !== undefined) return unclear;
  const ground: Ground = { cwd: request.cwd, root: request.real?.cwd, paths: { top: request.cwd } };
  if (kindOf(request.toolName) === "command")
    return new Target(readPath(path, ground, request.real?.path), ground).isOutside ? OUTSIDE : undefined;
  const action = readAction(request, ground);
  if (action.kind !== "path") return { effect: "refuse", reason: "its path is too long" };
  const target = new Target(action, ground);
  if (target.isOutside) return OUTSIDE;
  return writes(request.toolName) ? writeProblem(target) : readProblem(target);
}

function spellingProblem(path: string): TargetProblem | undefined {
  const reason = whyUnclear(path);
  return reason === undefined
    ? undefined
    : { effect: "unclear", reason: `its path can mean different files: ${reason}` };
}

const OUTSIDE: TargetProblem = { effect: "refuse", reason: "it leads outside of the workspace" };
const NO_FILE: TargetProblem = { effect: "refuse", reason: "it is not a regular file" };

function readProblem(target: Target): TargetProblem | undefined {
  const kind = target.kind("path");
  if (kind === "special") return NO_FILE;
  const isForeign = kind === "hard link" && !target.isInstalled;
  return isForeign ? { effect: "refuse", reason: "it is a hard link" } : undefined;
}

function writeProblem(target: Target): TargetProblem | undefined {
  const guard = target.guard("refuse");
  if (guard !== undefined) return { effect: "refuse", reason: guard.reason };
  if (target.kind("named") === "link") return { effect: "refuse", reason: "it is a link" };
  const kind = target.kind("path");
  if (kind === "hard link") return { effect: "refuse", reason: "it is a hard link" };
  if (kind === "special") return NO_FILE;
  // No tool of ours changes a folder: everything below it would be changed unseen.
  return kind === "folder" ? { effect: "unclear", reason: "it changes a whole folder" } : undefined;
}

/** `path` is absolute. */
export function guardOfFile(path: string, paths: GuardPaths): FileGuard | undefined {
  return guardOf(path, paths, isThere);
}

function isWrite(action: Action): action is Action & PathAction {
  return action.kind === "path" && writes(action.toolName);
}

function writes(toolName: string): boolean {
  return toolRow(toolName)?.effect !== "read";
}

/** A path that may not be read counts as there: then a person is asked. */
function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}

function realOrSame({ cwd, realPath = realpathSync.native, root }: Ground): string {
  try {
    return root ?? realPath(cwd);
  } catch {
    return cwd;
  }
}
