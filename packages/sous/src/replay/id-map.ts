/** Ids of a recording and of the run that plays it: who is who, and texts in the words of the other. */

/** A ULID that stands for itself, not in the middle of a longer word. */
const ULID = /(?<![0-9A-Za-z])[0-7][0-9A-HJKMNP-TV-Z]{25}(?![0-9A-Za-z])/g;
const ULID_LENGTH = 26;

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
    return mapTexts(value, this.#toRecorded);
  }

  /** Every text inside a plain value in the words of the run. */
  toActual<T>(value: T): T {
    return mapTexts(value, this.#toActual);
  }

  /** Binds the ids of the recording in one text to what stands in their places in another. */
  learn(recorded: string, actual: string): void {
    if (recorded === actual || recorded.replace(ULID, "") !== actual.replace(ULID, "")) return;
    for (const { 0: id, index } of recorded.matchAll(ULID)) {
      const other = actual.slice(index, index + ULID_LENGTH);
      if (other.search(ULID) === 0) this.bind(id, other);
    }
  }
}

function mapTexts<T>(value: T, ids: ReadonlyMap<string, string>): T;
function mapTexts(value: unknown, ids: ReadonlyMap<string, string>): unknown {
  if (ids.size === 0) return value;
  if (typeof value === "string") return mapText(value, ids);
  if (Array.isArray(value)) {
    let changed: unknown[] | undefined;
    for (let index = 0; index < value.length; index++) {
      const mapped = mapTexts(value[index], ids);
      if (mapped === value[index]) continue;
      changed ??= [...value];
      changed[index] = mapped;
    }
    return changed ?? value;
  }
  if (typeof value !== "object" || value === null) return value;
  let changed: Record<string, unknown> | undefined;
  for (const [key, item] of Object.entries(value)) {
    const mapped = mapTexts(item, ids);
    if (mapped === item) continue;
    changed ??= { ...value };
    changed[key] = mapped;
  }
  return changed ?? value;
}

function mapText(text: string, ids: ReadonlyMap<string, string>): string {
  if (text.length < ULID_LENGTH) return text;
  if (text.length === ULID_LENGTH) return ids.get(text) ?? text;
  return text.replace(ULID, (id) => ids.get(id) ?? id);
}
