/** A yes stands for a call, its input and the files it leads to: a digest binds them together. */

import { createHash } from "node:crypto";
import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync } from "node:fs";
import type { ApprovalRequest, AskedCall, CallTarget } from "../../core/approval.ts";
import { utf8Length } from "../../core/usage.ts";
import { toolRow } from "../../core/words/tools.ts";
import { type ActionOptions, canonicalJson, fileActions, readAction, realFolder } from "./action.ts";

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
  const action = readAction({ ...request, target: undefined }, { realPath });
  if (action.kind === "path") {
    const { path } = action.absolute;
    const changesPart = toolRow(request.toolName)?.change?.old !== undefined;
    const sha256 = changesPart ? hashOfFile(path) : undefined;
    return sha256 === undefined ? { paths: [path] } : { paths: [path], sha256 };
  }
  if (action.kind !== "command") return undefined;
  const files = fileActions(action.reading, request.cwd, { realPath });
  const paths = files.flatMap((file) => (file.kind === "path" ? [file.absolute.path] : []));
  return { paths: [realFolder(request, { realPath }), ...paths] };
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
    return createHash("sha256").update(readFileSync(file)).digest("hex");
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
