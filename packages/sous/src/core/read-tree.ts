/**
 * Reads the journals of a tree as one. The journal of a placed run stands right behind the `placed` event that speaks of it: so
 * every child begins after its parent, ends before its parent reads of it, and stands in the order in which it was placed. No
 * clock is asked: those of two machines differ.
 */

import type { StoredEvent } from "./event.ts";
import type { ReadOptions, Store } from "./store.ts";

/** `onDamage` is that of `store.read`, for every journal. */
export type ReadTreeOptions = Pick<ReadOptions, "onDamage"> & { signal?: AbortSignal | undefined };

/** The events of one journal to read at once, to bound memory. */
const PAGE = 1000;

/**
 * The events of a tree in all its journals, renumbered as those of one. Where a number is missing in a journal, one is missing
 * here. A child that was never begun, or whose journal does not begin with it, has no events; one at work has those up to now.
 */
export async function* readTree(
  store: Pick<Store, "read">,
  rootId: string,
  { onDamage, signal }: ReadTreeOptions = {},
): AsyncGenerator<StoredEvent, void, undefined> {
  const joined = new Set([rootId]);
  // A list instead of recursion: a chain of placed runs may be long in a crafted store.
  const open = [new OpenJournal(store, rootId, onDamage)];
  let seq = 0;
  for (let journal = open.at(-1); journal !== undefined; journal = open.at(-1)) {
    signal?.throwIfAborted();
    const before = journal.lastSeq;
    const event = await journal.next();
    if (event === undefined) {
      open.pop();
      continue;
    }
    seq += event.seq - before;
    yield journal.renumbered(event, seq);
    if (event.type !== "placed" || joined.has(event.childRunId)) continue;
    // An imported tree is one journal, whose ids may be those of other journals here.
    if (isStartOf(await journal.peek(), event.childRunId)) continue;
    const child = new OpenJournal(store, event.childRunId, onDamage);
    const first = await child.peek();
    if (!isStartOf(first, event.childRunId) || first.placed?.rootId !== rootId) continue;
    joined.add(event.childRunId);
    open.push(child);
  }
}

/** All of them at once. */
export async function readWholeTree(...tree: Parameters<typeof readTree>): Promise<StoredEvent[]> {
  return Array.fromAsync(readTree(...tree));
}

function isStartOf(event: StoredEvent | undefined, runId: string): event is StoredEvent & { type: "run-start" } {
  return event?.type === "run-start" && event.runId === runId;
}

/** The turns of a run whose numbers may be spoken of later: as they are in the journal, and in the tree. */
type Turn = { readonly own: number; readonly joined: number };

/** A journal that is read from its beginning to its end, a page at a time. */
class OpenJournal {
  lastSeq = 0;
  readonly #store: Pick<Store, "read">;
  readonly #id: string;
  readonly #onDamage: ReadOptions["onDamage"];
  #page: readonly StoredEvent[] = [];
  #index = 0;
  #isWhole = false;
  /** The last turn that began, and the last that was answered, by run. */
  readonly #asked = new Map<string, Turn>();
  readonly #answered = new Map<string, Turn>();

  constructor(store: Pick<Store, "read">, id: string, onDamage: ReadOptions["onDamage"]) {
    this.#store = store;
    this.#id = id;
    this.#onDamage = onDamage;
  }

  async next(): Promise<StoredEvent | undefined> {
    const event = await this.peek();
    if (event === undefined) return undefined;
    this.#index += 1;
    this.lastSeq = event.seq;
    return event;
  }

  async peek(): Promise<StoredEvent | undefined> {
    if (this.#index >= this.#page.length && !this.#isWhole) {
      const options = { after: this.lastSeq, limit: PAGE, onDamage: this.#onDamage };
      this.#page = await this.#store.read(this.#id, options);
      this.#index = 0;
      this.#isWhole = this.#page.length < PAGE;
    }
    return this.#page[this.#index];
  }

  /** The event with its number in the tree, also where it speaks of another number. */
  renumbered(event: StoredEvent, seq: number): StoredEvent {
    const { runId } = event;
    if (event.type === "turn-start") this.#asked.set(runId, { own: event.seq, joined: seq });
    const asked = event.type === "message-end" ? this.#asked.get(runId) : undefined;
    if (asked !== undefined) this.#answered.set(runId, asked);
    if (event.seq === seq) return event;
    const answered = this.#answered.get(runId);
    if (event.type !== "resume" || event.run?.answeredSeq === undefined || event.run.answeredSeq !== answered?.own)
      return { ...event, seq };
    return { ...event, seq, run: { ...event.run, answeredSeq: answered.joined } };
  }
}
