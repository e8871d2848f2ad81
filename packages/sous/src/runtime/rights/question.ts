/** A yes stands for a call, its input and the files it leads to: a digest binds them together. */

import { createHash } from "node:crypto";
import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import type { ApprovalRequest, AskedCall, CallTarget } from "../../core/approval.ts";
import { utf8Length } from "../../core/usage.ts";
import { toolRow } from "../../core/words/tools.ts";
import { type ActionOptions, canonicalJson, fileActions, readAction, realFolder } from "./action.ts";
import { linkedPaths } from "./linked-paths.ts";

/** No person reads more: a call with a longer input is refused where one would be asked. */
const MAX_QUESTION_BYTES = 256 * 1024;

/** Undefined for a question that is too long for a person. */
export function questionDigest({
  runId,
  callId,
  toolName,
  input,
  origin,
  toolReason,
  target,
}: AskedCall): string | undefined {
  const whole = canonicalJson([runId, callId, toolName, input, origin?.definition, toolReason, target]);
  return utf8Length(whole) > MAX_QUESTION_BYTES
    ? undefined
    : createHash("sha256").update(whole).digest("hex").slice(0, 8);
}

/** Looks up what the call leads to now; undefined for a call that is about no file. */
export function lookUpTarget(request: ApprovalRequest, { realPath }: ActionOptions = {}): CallTarget | undefined {
  const { target: _, real: __, ...asked } = request;
  const home = homedir();
  const action = readAction(asked, { realPath, home });
  if (action.kind === "path") {
    const { path } = action.absolute;
    const changesPart = toolRow(request.toolName)?.change?.old !== undefined;
    const sha256 = changesPart ? hashOfFile(path) : undefined;
    return sha256 === undefined ? { paths: [path] } : { paths: [path], sha256 };
  }
  if (action.kind !== "command") return undefined;
  const files = fileActions(action.reading, { cwd: request.cwd }, { realPath });
  const paths = files.flatMap((file) => (file.kind === "path" ? [file.absolute.path] : []));
  const folder = realFolder(request, { realPath });
  return { paths: [folder, ...paths, ...linkedPaths(action, folder, home)] };
}

/** The same files with the same content. */
export function isSameTarget(one: CallTarget | undefined, other: CallTarget | undefined): boolean {
  const [paths, others] = [one?.paths ?? [], other?.paths ?? []];
  const isSame = paths.length === others.length && paths.every((path, index) => path === others[index]);
  return isSame && one?.sha256 === other?.sha256;
}

export function hashOf(content: string | Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}

/** An edit refuses larger files. */
const MAX_HASHED_BYTES = 8 * 1024 * 1024;
const READ = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0);

/** Undefined when there is no regular file, or one that is too large for an edit. */
export function hashOfFile(path: string): string | undefined {
  let file: number | undefined;
  try {
    // Opening a device or a pipe can already have an effect.
    if (!lstatSync(path).isFile()) return undefined;
    file = openSync(path, READ);
    const stats = fstatSync(file);
    if (!stats.isFile() || stats.size > MAX_HASHED_BYTES) return undefined;
    return hashOf(readFileSync(file));
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
