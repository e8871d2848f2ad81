/** A store whose every write is decided by the test, and a journal on it with its clock and its schedule in the test's hands. */

import type { RunIdentity, SousEvent, StoredBody, StoredEvent } from "../../../../src/core/event.ts";
import type { Journal } from "../../../../src/core/tree-ports.ts";
import { createJournal, type JournalHooks, type JournalOptions } from "../../../../src/runtime/events/journal.ts";
import { VirtualClock } from "../../../../src/testing/world.ts";

export const LEAD: RunIdentity = { runId: "lead", agentId: "lead", parentId: null, path: "lead", depth: 0 };
export const SCOUT: RunIdentity = { runId: "scout", agentId: "scout", parentId: "lead", path: "lead/scout", depth: 1 };

/** The shortest event there is; its text tells events apart. */
export function steer(text: string): StoredBody {
  return { type: "steer", text };
}

export function textDelta(text: string): { type: "text-delta"; text: string } {
  return { type: "text-delta", text };
}

/** What one write does: keep and return, keep later, or throw. */
export type Write = "at once" | "later" | "throw" | "reject";

export class WritesInHand {
  readonly isImmediate: boolean;
  readonly kept: StoredEvent[] = [];
  /** The sizes of all attempts, failed ones too. */
  readonly attempts: number[] = [];
  /** What the next writes do; then all do the last. */
  readonly plan: Write[];
  #finish: (() => void)[] = [];

  constructor(isImmediate: boolean, ...plan: Write[]) {
    this.isImmediate = isImmediate;
    this.plan = plan;
  }

  append(_rootId: string, events: readonly StoredEvent[]): void | Promise<void> {
    this.attempts.push(events.length);
    const write = (this.plan.length > 1 ? this.plan.shift() : this.plan[0]) ?? "at once";
    switch (write) {
      case "at once":
        this.kept.push(...events);
        return undefined;
      case "later":
        return new Promise((resolve) => {
          this.#finish.push(() => {
            this.kept.push(...events);
            resolve();
          });
        });
      case "throw":
        throw new Error("disk full");
      case "reject":
        return Promise.reject(new Error("disk full"));
      default:
        return write satisfies never;
    }
  }

  /** Lets the write that waits come to its end, and what follows from it. */
  async finishWrite(): Promise<void> {
    this.#finish.shift()?.();
    await ticks();
  }
}

export type JournalInHand = {
  journal: Journal;
  clock: VirtualClock;
  /** What listeners were shown, as `seq:text`, deltas as `text`. */
  shown: string[];
  /** The listener that fills `shown`. */
  listening: Disposable;
  /** Runs what was scheduled. */
  runScheduled(): void;
  scheduled: (() => void)[];
};

export function journalOn(
  store: JournalOptions["store"],
  given: JournalHooks & Partial<Pick<JournalOptions, "requireStore" | "firstSeq">> = {},
): JournalInHand {
  const { requireStore = false, firstSeq, ...hooks } = given;
  const clock = new VirtualClock(1_000);
  const scheduled: (() => void)[] = [];
  const schedule = (callback: () => void) => void scheduled.push(callback);
  const journal = createJournal({
    store,
    rootId: "lead",
    clock,
    requireStore,
    firstSeq,
    hooks: { schedule, ...hooks },
  });
  const shown: string[] = [];
  const listening = journal.subscribe((event) => shown.push(nameOf(event)));
  return { journal, clock, shown, listening, scheduled, runScheduled: () => scheduled.shift()?.() };
}

export function nameOf(event: SousEvent): string {
  const text = "text" in event ? event.text : event.type;
  return event.seq === undefined ? text : `${event.seq}:${text}`;
}

/** Long enough for every promise that can settle now. */
export async function ticks(): Promise<void> {
  for (let count = 0; count < 10; count++) await null;
}

/** Fires the timers that are due, one after another, with the promises between them. */
export async function passTime(clock: VirtualClock): Promise<void> {
  while (clock.fireNext(() => 0)) await ticks();
}
