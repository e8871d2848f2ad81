/** Ids of a recording and of the run that plays it: which belong together, and texts with the ids of the other. */

import { replaceIds, ULID, ULID_LENGTH } from "../../core/ulid.ts";

export class IdMap {
  readonly #toRecorded = new Map<string, string>();
  readonly #toActual = new Map<string, string>();

  /** The first to be bound stays. */
  bind(recorded: string, actual: string): void {
    if (this.#toActual.has(recorded) || this.#toRecorded.has(actual)) return;
    this.#toActual.set(recorded, actual);
    this.#toRecorded.set(actual, recorded);
  }

  /** Every text inside a plain value in the words of the recording; the same object when nothing changes. */
  toRecorded<T>(value: T): T {
    return replaceIds(value, this.#toRecorded);
  }

  /** Every text inside a plain value in the words of the run. */
  toActual<T>(value: T): T {
    return replaceIds(value, this.#toActual);
  }

  /** Binds the ids of the recording in one text to the ids at the same indexes of another. */
  learn(recorded: string, actual: string): void {
    if (recorded === actual || recorded.replace(ULID, "") !== actual.replace(ULID, "")) return;
    for (const { 0: id, index } of recorded.matchAll(ULID)) {
      const other = actual.slice(index, index + ULID_LENGTH);
      if (other.search(ULID) === 0) this.bind(id, other);
    }
  }
}
