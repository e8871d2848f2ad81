/** The runs of a runtime that work elsewhere: begun together, waited for together, and heard from through the store. */

import type { Clock } from "../../../core/clock.ts";
import type { Engine, Placing } from "../../../core/engine.ts";
import { ignore, messageOf } from "../../../core/errors.ts";
import type { EventOf } from "../../../core/event.ts";
import type { Fault } from "../../../core/outcome.ts";
import { onDispose } from "../../../core/scope.ts";
import { endWatchOf } from "./end-watch.ts";
import type { Followed } from "./followed.ts";
import { Gathered } from "./gathered.ts";
import { Mailbox } from "./mailbox.ts";

/**
 * The end of a wait for a placed run. `parked`: it waits for an answer, and no worker has it. `left`: the journal of the one that
 * waits is continued by another process, which waits for it now.
 */
export type PlacedEnd = EventOf<"run-end"> | "parked" | "left";

type Wait = {
  readonly rootId: string;
  readonly agent: string;
  readonly since: number;
  /** Set when it has to end, also if no worker ever takes it. */
  stop: Fault | undefined;
  /** It is being ended from here. */
  isClosing: boolean;
  /** An answer is on its way, or a person has the question: it is not over because it is parked. */
  answer: { readonly lastSeq: number } | "asked" | undefined;
  /** The last event that its journal had when it was looked at last. */
  lastSeq: number;
  /** The journal of the one that waits; undefined when no run waits. */
  readonly holder: object | undefined;
  readonly endless: PromiseWithResolvers<"parked" | "left">;
};

export type PlacedRunsParts = {
  readonly engine: Engine;
  readonly placing: Placing;
  readonly clock: Pick<Clock, "monotonic" | "timer">;
  /** Ends a run that no worker has, or that none can continue. */
  close(journalId: string, fault: Fault): Promise<void>;
};

/** A run whose agent no living worker knows is ended after this time: a worker may just be starting. */
const UNKNOWN_AFTER_MS = 3_000;
/** The time between two looks at the states of the journals that are waited for. */
const STATES_EVERY_MS = 900;

export class PlacedRuns {
  readonly engine: Engine;
  readonly mail: Mailbox;
  readonly #parts: PlacedRunsParts;
  readonly #begin: Gathered<EventOf<"run-start">>;
  readonly #waits = new Map<string, Wait>();
  /** Answers to questions of runs that are not waited for yet. */
  readonly #answered = new Map<string, { readonly lastSeq: number }>();
  readonly #followed = new Set<Followed>();
  /** Runs that the engine was asked for, and that have no end. */
  readonly #asked = new Map<string, Promise<void>>();
  #listening: Disposable | undefined;
  #isLooking = false;
  #statesAt = 0;

  constructor(parts: PlacedRunsParts) {
    const { placing } = parts;
    this.engine = parts.engine;
    this.#parts = parts;
    this.#begin = new Gathered((starts) => placing.place(starts));
    this.mail = new Mailbox(parts);
  }

  get placing(): Placing {
    return this.#parts.placing;
  }

  /** Begins the journal of a run. One that has begun already stays as it is. */
  begin(start: EventOf<"run-start">): Promise<void> {
    return this.#begin.add(start);
  }

  /** Has the engine continue the run until its end. A second wish joins the first. Workers of the store find it by themselves. */
  async ask(journalId: string): Promise<void> {
    if (this.engine.isStore === true) return;
    const known = this.#asked.get(journalId);
    if (known !== undefined) return known;
    const asked = this.engine.continueRun(journalId).finally(() => this.#asked.delete(journalId));
    this.#asked.set(journalId, asked);
    return asked;
  }

  /** Waits for the end of a run that has begun, and has the engine see to it that it is continued. */
  async waitFor(
    journalId: string,
    { rootId, agent, holder }: Pick<Wait, "rootId" | "agent"> & Partial<Pick<Wait, "holder">>,
  ): Promise<PlacedEnd> {
    const endless = Promise.withResolvers<"parked" | "left">();
    const since = this.#parts.clock.monotonic();
    const answer = this.#answered.get(journalId);
    this.#answered.delete(journalId);
    const own = { stop: undefined, isClosing: false, answer, lastSeq: 0, holder, endless };
    const wait: Wait = { rootId, agent, since, ...own };
    this.#waits.set(journalId, wait);
    this.#listen();
    this.ask(journalId).catch((error: unknown) => {
      this.mustEnd(journalId, {
        type: "store",
        message: `No worker could be asked to continue it: ${messageOf(error)}`,
      });
    });
    using waiting = endWatchOf(this.placing).wait(journalId);
    try {
      const end = await Promise.race([waiting.ended, endless.promise]);
      // Everything below is shown before the parent hears of the end.
      if (end !== "left") for (const followed of this.#followed) if (followed.rootId === rootId) await followed.show();
      return end;
    } finally {
      // The run that waits may have been taken again by this process meanwhile.
      if (this.#waits.get(journalId) === wait) this.#waits.delete(journalId);
      this.#rest();
    }
  }

  /** Nothing of this journal continues here. What its runs wait for continues elsewhere, and they no longer wait for it. */
  leave(holder: object): void {
    for (const wait of this.#waits.values()) if (wait.holder === holder) wait.endless.resolve("left");
  }

  /** An answer is on its way: the journal has more events than this before it counts as parked. */
  expectTaking(journalId: string, lastSeq: number): void {
    this.#answered.set(journalId, { lastSeq });
  }

  /** A person has its question, has answered it, or will do so later. */
  asking(journalId: string, state: "asked" | "answered" | "later"): void {
    const wait = this.#waits.get(journalId);
    if (wait === undefined) return;
    wait.answer = state === "asked" ? state : state === "answered" ? { lastSeq: wait.lastSeq } : undefined;
  }

  /** From now on the run has to end: by its worker, or from here when it has none. */
  mustEnd(journalId: string, fault: Fault): void {
    const wait = this.#waits.get(journalId);
    if (wait !== undefined) wait.stop ??= fault;
    this.#statesAt = 0;
  }

  /** Shows what is new in the journals of a tree, until the result is disposed. */
  follow(followed: Followed): Disposable {
    this.#followed.add(followed);
    this.#listen();
    return onDispose(() => {
      this.#followed.delete(followed);
      this.#rest();
    });
  }

  #listen(): void {
    this.#listening ??= this.#parts.placing.listen(({ kind }) => {
      if (kind === "all" && !this.#isLooking) void this.#look();
    });
  }

  #rest(): void {
    if (this.#waits.size + this.#followed.size > 0) return;
    this.#listening?.[Symbol.dispose]();
    this.#listening = undefined;
  }

  async #look(): Promise<void> {
    this.#isLooking = true;
    // A look that fails is made again with the next news.
    await this.#lookAround().catch(ignore);
    this.#isLooking = false;
  }

  /** Looks at the states that no news tell. */
  async #lookAround(): Promise<void> {
    for (const followed of this.#followed) await followed.show();
    const now = this.#parts.clock.monotonic();
    if (now - this.#statesAt < STATES_EVERY_MS) return;
    this.#statesAt = now;
    for (const rootId of new Set([...this.#waits.values()].map((wait) => wait.rootId))) await this.#lookAt(rootId, now);
  }

  async #lookAt(rootId: string, now: number): Promise<void> {
    let known: ReadonlySet<string> | undefined;
    for (const { journalId, state, lastSeq } of await this.placing.journals(rootId)) {
      const wait = this.#waits.get(journalId);
      if (wait === undefined || wait.isClosing || state === "ended") continue;
      wait.lastSeq = lastSeq;
      if (state === "held") continue;
      if (wait.stop !== undefined) this.#close(journalId, wait, wait.stop);
      else if (state === "parked") park(wait, lastSeq);
      else if (now - wait.since > UNKNOWN_AFTER_MS) {
        known ??= await this.#knownAgents();
        // Without any worker it waits: one may be started yet.
        if (known.size > 0 && !known.has(wait.agent))
          this.#close(journalId, wait, { type: "crash", message: unknownAgent(wait.agent) });
      }
    }
  }

  async #knownAgents(): Promise<ReadonlySet<string>> {
    const workers = await this.placing.workers();
    return new Set(workers.flatMap(({ isAlive, agents }) => (isAlive ? agents : [])));
  }

  #close(journalId: string, wait: Wait, fault: Fault): void {
    wait.isClosing = true;
    const again = () => {
      wait.isClosing = false;
    };
    // Another process may have taken it meanwhile: then its end comes from there.
    this.#parts.close(journalId, fault).then(again, again);
  }
}

/** Unless an answer is on its way, which the next worker has not read yet. */
function park({ answer, endless }: Wait, lastSeq: number): void {
  if (answer === "asked" || (answer !== undefined && lastSeq <= answer.lastSeq)) return;
  endless.resolve("parked");
}

function unknownAgent(agent: string): string {
  return `No worker knows the agent ${agent}: give its definition to the workers, or run it without \`place\``;
}
