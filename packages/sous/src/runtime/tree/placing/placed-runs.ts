/** The runs of a runtime that work elsewhere: begun together, waited for together, and heard from through the store. */

import type { Engine, Mail, NewMail, News, Placing } from "../../../core/engine.ts";
import { ignore, messageOf } from "../../../core/errors.ts";
import type { EventOf } from "../../../core/event.ts";
import type { Fault } from "../../../core/outcome.ts";
import { onDispose } from "../../../core/scope.ts";
import { endWatchOf } from "./end-watch.ts";
import type { Followed } from "./followed.ts";
import { Gathered } from "./gathered.ts";

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

/** `isOld`: the message was there when the receiver came. */
type OnMail = (mail: Mail, isOld: boolean) => void;
type Receiver = { readonly seen: Set<number>; readonly onMail: OnMail; isNew: boolean; onLooked(): void };

/** The mail of a journal, while this process works on it. */
export type Receiving = Disposable & {
  /** Resolves when what was kept before has been passed on, or could not be read. */
  readonly looked: Promise<void>;
};

export type PlacedRunsParts = {
  readonly engine: Engine;
  readonly placing: Placing;
  /** Milliseconds that only grow. */
  now(): number;
  /** Ends a run that no worker has, or that none can continue. */
  close(journalId: string, fault: Fault): Promise<void>;
};

/** A run whose agent no living worker knows is ended after this time: a worker may just be starting. */
const UNKNOWN_AFTER_MS = 3_000;
/** The time between two looks at the states of the journals that are waited for. */
const STATES_EVERY_MS = 900;

export class PlacedRuns {
  readonly engine: Engine;
  readonly #parts: PlacedRunsParts;
  readonly #begin: Gathered<EventOf<"run-start">>;
  readonly #post: Gathered<NewMail>;
  readonly #waits = new Map<string, Wait>();
  readonly #receivers = new Map<string, Receiver>();
  /** Answers to questions of runs that are not waited for yet. */
  readonly #answered = new Map<string, { readonly lastSeq: number }>();
  readonly #followed = new Set<Followed>();
  /** Runs that the engine was asked for, and that have no end. */
  readonly #asked = new Map<string, Promise<void>>();
  /** The trees whose stop is on its way. */
  readonly #stopping = new Set<string>();
  #listening: Disposable | undefined;
  /** The journals to look into for mail; all of them when it is not known which have some. */
  #due: Set<string> | "all" | undefined;
  #isLooking = false;
  #statesAt = 0;

  constructor(parts: PlacedRunsParts) {
    const { placing } = parts;
    this.engine = parts.engine;
    this.#parts = parts;
    this.#begin = new Gathered((starts) => placing.place(starts));
    this.#post = new Gathered((mail) => placing.post(mail));
  }

  get placing(): Placing {
    return this.#parts.placing;
  }

  /** Begins the journal of a run. One that has begun already stays as it is. */
  begin(start: EventOf<"run-start">): Promise<void> {
    return this.#begin.add(start);
  }

  post(mail: NewMail): void {
    // A message that is not kept is like one that was never sent: what it is about still has an end.
    this.#post.add(mail).catch(ignore);
  }

  /** One message stops every run of the tree that works elsewhere. */
  stopTree(rootId: string): void {
    if (this.#stopping.has(rootId)) return;
    this.#stopping.add(rootId);
    const posted = this.#post.add({ to: rootId, isForTree: true, body: { kind: "stop", mode: "stop" } });
    posted.catch(ignore).finally(() => this.#stopping.delete(rootId));
  }

  /** Has the engine continue the run until its end. A second wish joins the first. */
  ask(journalId: string): Promise<void> {
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
    const since = this.#parts.now();
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
    try {
      const end = await Promise.race([endWatchOf(this.placing).ended(journalId), endless.promise]);
      if (end === "parked") endWatchOf(this.placing).forget(journalId);
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

  /** Passes each message to the journal on once, in the order of their numbers, from those that were kept before. */
  receive(journalId: string, onMail: OnMail): Receiving {
    const { promise: looked, resolve: onLooked } = Promise.withResolvers<void>();
    const receiver: Receiver = { seen: new Set(), onMail, isNew: true, onLooked };
    this.#receivers.set(journalId, receiver);
    this.#listen();
    this.#hear({ kind: "mail", journalId });
    const stop = onDispose(() => {
      if (this.#receivers.get(journalId) === receiver) this.#receivers.delete(journalId);
      this.#rest();
    });
    return { looked, [Symbol.dispose]: () => stop[Symbol.dispose]() };
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
    this.#listening ??= this.#parts.placing.listen((news) => this.#hear(news));
  }

  #rest(): void {
    if (this.#waits.size + this.#receivers.size + this.#followed.size > 0) return;
    this.#listening?.[Symbol.dispose]();
    this.#listening = undefined;
  }

  #hear({ kind, journalId }: News): void {
    // Mail to many at once does not say to whom.
    if (kind === "all" || (kind === "mail" && journalId === undefined)) this.#due = "all";
    else if (kind !== "mail" || journalId === undefined || !this.#receivers.has(journalId)) return;
    else if (this.#due === undefined) this.#due = new Set([journalId]);
    else if (this.#due !== "all") this.#due.add(journalId);
    if (!this.#isLooking) void this.#look();
  }

  /** One look at a time; what is heard meanwhile is for the next. A look that fails is made again with the next news. */
  async #look(): Promise<void> {
    this.#isLooking = true;
    for (let due = this.#due; due !== undefined; due = this.#due) {
      this.#due = undefined;
      const ids = due === "all" ? [...this.#receivers.keys()] : [...due];
      await this.#readMail(ids).catch(ignore);
      for (const id of ids) this.#receivers.get(id)?.onLooked();
      if (due === "all") await this.#lookAround().catch(ignore);
    }
    this.#isLooking = false;
  }

  async #readMail(journalIds: readonly string[]): Promise<void> {
    if (journalIds.length === 0) return;
    // All of it each time, for numbers are given before they are kept: a lower one may come later.
    for (const mail of await this.#parts.placing.mail(journalIds, 0)) {
      const receiver = this.#receivers.get(mail.journalId);
      if (receiver === undefined || receiver.seen.has(mail.id)) continue;
      receiver.seen.add(mail.id);
      receiver.onMail(mail, receiver.isNew);
    }
    for (const id of journalIds) {
      const receiver = this.#receivers.get(id);
      if (receiver !== undefined) receiver.isNew = false;
    }
  }

  /** Looks at the states that no news tell. */
  async #lookAround(): Promise<void> {
    for (const followed of this.#followed) await followed.show();
    const now = this.#parts.now();
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
