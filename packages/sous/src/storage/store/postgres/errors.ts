/** Faults of the server and of the way to it, as one sentence that names its address and none of its secrets. */

import { messageOf, StoreError, UserError } from "../../../core/errors.ts";

/** Errors of the store itself are left as they are. */
export function toStoreError(error: unknown, address: string): StoreError | UserError {
  if (error instanceof StoreError || error instanceof UserError) return error;
  return new StoreError(sentenceFor(error, address), { cause: error });
}

/** True when the server itself refused a statement: the connection still works. Its codes have a digit, those of Node none. */
export function isServerAnswer(error: unknown): boolean {
  return /^(?=.*\d)[0-9A-Z]{5}$/.test(codeOf(error));
}

/** True when a connection could not be made and may be possible in a moment: a server that starts again, or is full. */
export function isAway(error: unknown): boolean {
  return UNREACHABLE.has(codeOf(error)) || STARTING.has(codeOf(error));
}

/** True when the server undid a statement because another transaction was faster. */
export function isConflict(error: unknown): boolean {
  return error instanceof StoreError && CONFLICTS.has(codeOf(error.cause));
}

/** True when the way to the server was lost, so that the fate of the statement is unknown, or it may be back in a moment. */
export function isLost(error: unknown): boolean {
  if (!(error instanceof StoreError) || error.cause === undefined) return false;
  return isAway(error.cause) || !isServerAnswer(error.cause);
}

function sentenceFor(error: unknown, address: string): string {
  const reason = reasonOf(error);
  const code = codeOf(error);
  if (code === "28P01" || code === "28000")
    return `${address} did not accept the user or the password (${reason}): correct the connection string`;
  if (code === "3D000")
    return `${address} does not exist (${reason}): create the database, or correct the connection string`;
  if (code === "42501")
    return `${address} does not allow it (${reason}): grant the user its own schema, or choose another`;
  if (UNREACHABLE.has(code))
    return `${address} cannot be reached (${reason}): check that it runs and what its address is`;
  if (code === "" && /\btimeout\b/i.test(reason))
    return `${address} did not answer in time (${reason}): check the network, and how busy the server is`;
  return `${address} failed: ${reason}`;
}

const UNREACHABLE = new Set([
  "ECONNREFUSED",
  "ENOENT",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ETIMEDOUT",
]);

/** The server starts, stops, recovers, or has no connection left. */
const STARTING = new Set(["57P01", "57P02", "57P03", "53300"]);

/** Transactions that may not see each other's changes, and those that wait for each other. */
const CONFLICTS = new Set(["40001", "40P01"]);

/** A name with several addresses fails once for each, in an error that has no words of its own. */
function reasonOf(error: unknown): string {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : undefined;
  return messageOf(error) || (first === undefined ? codeOf(error) : messageOf(first));
}

function codeOf(error: unknown): string {
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "";
}
