/**
 * Marks beside a store: trees that continued without it. The store that failed can often not take this either, so a mark is a
 * file whose name says it all, because a disk that is full still takes an empty file. Once the store is back, the mark is stored in it.
 */

import { createHash } from "node:crypto";
import { closeSync, constants, lstatSync, openSync, readdirSync, readSync, rmSync, writeSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { codeOf } from "../../core/errors.ts";
import type { RunRecord } from "../../core/store.ts";
import { makeFolders } from "./sqlite/file.ts";

/** Files in this folder whose name begins so. */
type MarkFiles = { readonly folder: string; readonly prefix: string };

/** The reason of a mark that a full disk took without its own. */
const NO_REASON = "The store failed while it ran.";
const MAX_REASON_BYTES = 1_000;

/** Trees that continued without their store: noted in it when it can be written, and marked beside it until then. */
export class Losses {
  readonly marks: LostMarks;
  readonly #note: (rootId: string, reason: string) => boolean | Promise<boolean>;
  /** True when this process has left a mark that the store does not know of. */
  #isBehind = false;

  /** `note` writes the reason into the store; false when there is no such tree. */
  constructor(marks: LostMarks, note: (rootId: string, reason: string) => boolean | Promise<boolean>) {
    this.marks = marks;
    this.#note = note;
  }

  /** Rejects when neither the store nor a place beside it takes it. */
  async mark(rootId: string, reason: string): Promise<void> {
    // The mark comes first, and at once: the store may take long to answer, and the process may be gone by then.
    const isMarked = this.marks.add(rootId, reason);
    try {
      await this.#note(rootId, reason);
    } catch (error) {
      if (!isMarked) throw error;
      this.#isBehind = true;
      return;
    }
    this.marks.remove(rootId);
  }

  /** Brings what is marked beside the store into it. A tree that is not in it stays marked. */
  async takeIn(): Promise<void> {
    for (const rootId of this.marks.rootIds()) {
      const reason = this.marks.reasonFor(rootId);
      if (reason !== undefined && (await this.#note(rootId, reason))) this.marks.remove(rootId);
    }
  }

  /** The same, when this process has left marks; never rejects. */
  async catchUp(): Promise<void> {
    if (!this.#isBehind) return;
    this.#isBehind = false;
    await this.takeIn().catch(() => {
      this.#isBehind = true;
    });
  }

  /** Adds to the first run of a journal what is marked beside the store. */
  readonly addTo = (record: RunRecord): RunRecord => {
    const reason = record.id === record.journalId ? (record.lost ?? this.marks.reasonFor(record.id)) : undefined;
    if (reason !== undefined) record.lost = reason;
    return record;
  };
}

export class LostMarks {
  readonly #locations: readonly MarkFiles[];
  readonly #isReadOnly: boolean;

  constructor(locations: readonly MarkFiles[], isReadOnly = false) {
    this.#locations = locations;
    this.#isReadOnly = isReadOnly;
  }

  /** Writes the mark at once, in the first location that takes it. False when none does. */
  add(rootId: string, reason: string): boolean {
    if (this.#isReadOnly) return false;
    if (this.#find(rootId) !== undefined) return true;
    return this.#locations.some((location) => isWritten(location, rootId, reason)); // guard: mark-a-lost-run
  }

  /** The reason why the tree was lost; undefined when nothing says that it was. */
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

/** The marks in this folder, or in the user's own for state; none where there is no home. `address` says which store they are of. */
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
