/**
 * Marks beside a store: trees that continued without it. The store that failed can often not take this either, so a mark is a
 * file whose name says it all, because a disk that is full still takes an empty file. Once the store is back, the mark is stored in it.
 */

import { createHash } from "node:crypto";
import { closeSync, constants, lstatSync, openSync, readdirSync, readSync, rmSync, writeSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { codeOf } from "../../core/errors.ts";
import { makeFolders } from "./sqlite/file.ts";

/** Files in this folder whose name begins so. */
type MarkFiles = { readonly folder: string; readonly prefix: string };

/** Said of a mark that a full disk took without its reason. */
const NO_REASON = "The store failed while it ran.";
const MAX_REASON_BYTES = 1_000;

export class LostMarks {
  readonly #locations: readonly MarkFiles[];

  constructor(locations: readonly MarkFiles[]) {
    this.#locations = locations;
  }

  /** At once, in the first location that takes it. False when none does. */
  add(rootId: string, reason: string): boolean {
    if (this.#find(rootId) !== undefined) return true;
    return this.#locations.some((location) => isWritten(location, rootId, reason)); // guard: mark-a-lost-run
  }

  /** Why the tree was lost; undefined when nothing says that it was. */
  reasonFor(rootId: string): string | undefined {
    const file = this.#find(rootId);
    return file === undefined ? undefined : readReason(file);
  }

  /** The trees that have a mark. */
  rootIds(): string[] {
    return this.#locations.flatMap(({ folder, prefix }) => {
      const names = namesIn(folder).filter((name) => name.startsWith(prefix));
      return names.map((name) => toRootId(name.slice(prefix.length))).filter((rootId) => rootId !== undefined);
    });
  }

  remove(rootId: string): void {
    for (const location of this.#locations) {
      const file = fileFor(location, rootId);
      // A folder that cannot be written keeps its mark, which says nothing that the store does not.
      if (isMark(file)) attempt(() => rmSync(file, { force: true }));
    }
  }

  #find(rootId: string): string | undefined {
    return this.#locations.map((location) => fileFor(location, rootId)).find(isMark);
  }
}

/** In this folder, or in the user's own for state; none where there is no home. `address` says which store they are of. */
export function marksIn(folder: string | undefined = userFolder(process.env), address: string): MarkFiles[] {
  const prefix = `${createHash("sha256").update(address).digest("hex").slice(0, 16)}-`;
  return folder === undefined ? [] : [{ folder, prefix }];
}

function userFolder({ XDG_STATE_HOME: given = "", HOME: home = "" }: NodeJS.ProcessEnv): string | undefined {
  if (isAbsolute(given)) return join(given, "sous", "lost");
  return isAbsolute(home) ? join(home, ".local", "state", "sous", "lost") : undefined;
}

function fileFor({ folder, prefix }: MarkFiles, rootId: string): string {
  return join(folder, `${prefix}${encodeURIComponent(rootId.toWellFormed())}`);
}

function toRootId(name: string): string | undefined {
  return attempt(() => decodeURIComponent(name));
}

function isMark(file: string): boolean {
  return attempt(() => lstatSync(file, { throwIfNoEntry: false })?.isFile()) === true;
}

function isWritten(location: MarkFiles, rootId: string, reason: string): boolean {
  const file = fileFor(location, rootId);
  const isMade = attempt(() => {
    makeFolders(location.folder);
    const descriptor = openSync(file, "wx", 0o600);
    attempt(() => writeSync(descriptor, Buffer.from(reason).subarray(0, MAX_REASON_BYTES)));
    closeSync(descriptor);
    return true;
  });
  // Another process may have been faster.
  return isMade === true || isMark(file);
}

function readReason(file: string): string {
  const bytes = attempt(() => {
    const descriptor = openSync(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
    try {
      const buffer = Buffer.alloc(MAX_REASON_BYTES);
      return buffer.subarray(0, readSync(descriptor, buffer));
    } finally {
      closeSync(descriptor);
    }
  });
  return bytes?.toString().trim() || NO_REASON;
}

function namesIn(folder: string): string[] {
  return attempt(() => readdirSync(folder)) ?? [];
}

/** Undefined when the file system, or a name that is not ours, says no. */
function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof URIError || codeOf(error) !== undefined) return undefined;
    throw error;
  }
}
