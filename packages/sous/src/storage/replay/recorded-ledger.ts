/**
 * The ledger of a rerun: what was granted then is granted now, and what was refused is refused, in the recorded words. A tree
 * that shared its budget cannot ask the others again, and no run has to wait for money that was there in the end.
 */

import { BudgetExceeded, Refused } from "../../core/errors.ts";
import type { EventOf, StoredEvent } from "../../core/event.ts";
import type { Budget, CallAsk, Holding, Lease, Ledger, RunSlot, StartAsk, Started } from "../../core/limits.ts";
import { isExternalModel } from "../../core/model.ts";
import type { Scope } from "../../core/scope.ts";
import type { Recording } from "./recording.ts";
import { wasStopped } from "./stops.ts";

/** The progress of the rerun. */
export type Progress = {
  hasCome(event: StoredEvent): boolean;
  isNext(event: StoredEvent): boolean;
  /** Resolves when it is the turn of this event. */
  turn(event: StoredEvent): Promise<void>;
};

export function recordedLedger({ events }: Pick<Recording, "events">, budget: Budget, progress: Progress): Ledger {
  return new RecordedLedger(new Past(events, progress), budget.costUsd !== undefined);
}

type Refusal = EventOf<"spawn-refused">;

/** The answer to a question. It waited in vain when its run was stopped before it was answered. */
type Verdict = number | BudgetExceeded | "stopped";

/** The progress of each agent, by path. */
class Past {
  /** Each start, or the refusal in its place. */
  readonly #starts: ReadonlyMap<string, (EventOf<"run-start"> | Refusal)[]>;
  readonly #questions: ReadonlyMap<string, StoredEvent[]>;
  /** The output that the last question of each agent was granted. */
  readonly #caps = new Map<string, number>();
  /** Refusals of children that waited to start, in order, each with the last event from outside before it. */
  readonly #refusals = new Map<Refusal, StoredEvent | undefined>();
  /** The refusals whose children wait now. */
  readonly #waiting = new Map<Refusal, () => void>();
  /** The paths of external agents. */
  readonly #external = new Set<string>();
  readonly #progress: Progress;

  constructor(events: readonly StoredEvent[], progress: Progress) {
    this.#progress = progress;
    let external: StoredEvent | undefined;
    for (const event of events) {
      if (isFromOutside(event)) external = event;
      if (isRefusal(event) && event.waited === true) this.#refusals.set(event, external);
      if (event.type === "run-start" && isExternalModel(event.model)) this.#external.add(event.path);
    }
    const starts = events.filter((event) => event.type === "run-start" || isRefusal(event));
    this.#starts = Map.groupBy(starts, (event) => (event.type === "run-start" ? event.path : (event.childPath ?? "")));
    this.#questions = Map.groupBy(events.filter(isOfQuestion), ({ path }) => path);
  }

  /** The error with which this child was refused at once; undefined when it was not. */
  refusalOf(path: string): BudgetExceeded | undefined {
    const [next] = this.#starts.get(path) ?? [];
    if (next?.type !== "spawn-refused" || next.errorType !== "quota" || next.waited === true) return undefined;
    return BudgetExceeded.inWords(next.message);
  }

  /** Undefined when the child started; what keeps it from that comes when it came then. */
  start(path: string, scope: Scope): Promise<never> | undefined {
    const next = this.#starts.get(path)?.shift();
    if (next?.type !== "spawn-refused") return undefined;
    const error =
      next.errorType === "cancelled" ? new Refused("cancelled", next.message) : BudgetExceeded.inWords(next.message);
    if (next.waited !== true) throw error;
    return this.#refused(next, error, scope);
  }

  /** Called when something has changed that others may have waited for: refuses those that were refused then because of it. */
  touch(isCause: (event: StoredEvent) => boolean = () => false): void {
    for (const [refusal, cause] of this.#refusals) {
      const refuse = this.#waiting.get(refusal);
      const isDue = cause === undefined || this.#progress.hasCome(cause) || isCause(cause);
      if (refuse === undefined || !isDue) return;
      refuse();
    }
  }

  /** The answer of this agent is there, and is about to be recorded. */
  settle(path: string): void {
    this.touch((event) => event.path === path && this.#progress.isNext(event));
  }

  /** Rejects when the recorded refusal came, or at least in its turn. */
  #refused(event: Refusal, error: Error, scope: Scope): Promise<never> {
    const refused = new Promise<never>((_, reject) => {
      const end = (reason: unknown) => {
        this.#waiting.delete(event);
        this.#refusals.delete(event);
        reject(reason);
      };
      const refuse = () => end(error);
      this.#waiting.set(event, refuse);
      this.#progress.turn(event).then(refuse, refuse);
      scope.onAbort(end);
    });
    // The extra promise makes this as late as the ledger itself: a run that is notified of two things is notified in the recorded order.
    return refused.then((never) => never);
  }

  /** The verdict on the next question of this agent. */
  ask(path: string): Verdict {
    const left = this.#questions.get(path) ?? [];
    if (this.#external.has(path) && left[0]?.type === "message-end" && !this.#progress.hasCome(left[0]))
      return grown(left[1]);
    if (left[0]?.type === "message-end") left.shift();
    // An attempt that failed is made again with what was granted, unless that was refused.
    const isAgain = left[0]?.type === "retry";
    if (isAgain) left.shift();
    // Last words that could not be paid are said without the last results.
    if (left[0]?.type === "prune" && !this.#progress.hasCome(left[0])) return NO_ANSWER;
    while (left[0]?.type === "prune") left.shift();
    const [next] = left;
    if (isAgain && next?.type !== "budget-warning") return this.#caps.get(path) ?? Number.POSITIVE_INFINITY;
    switch (next?.type) {
      case "turn-start":
        left.shift();
        this.#caps.set(path, next.reserved === 0 ? Number.POSITIVE_INFINITY : next.reserved - next.promptTokens);
        break;
      case "budget-warning":
        left.shift();
        return BudgetExceeded.inWords(next.message);
      case "run-end":
        // The session could not be opened.
        if (this.#external.has(path) && next.status === "failed") return Number.POSITIVE_INFINITY;
        return wasStopped({ end: next }) && next.status !== "budget_exceeded" ? "stopped" : NO_ANSWER;
      case undefined:
        return "stopped";
      default:
    }
    return this.#caps.get(path) ?? Number.POSITIVE_INFINITY;
  }

  /** The run has ended: what comes next at this path is its follow-up. */
  ended(path: string): void {
    const left = this.#questions.get(path) ?? [];
    const end = left.findIndex(({ type }) => type === "run-end");
    left.splice(0, end + 1);
    this.touch();
  }
}

/** The verdict on a question of an external agent while it works: it gets the amount, or is stopped and then answers. */
function grown(next: StoredEvent | undefined): Verdict {
  return next?.type === "budget-warning" ? BudgetExceeded.inWords(next.message) : Number.POSITIVE_INFINITY;
}

/** The verdict on last words that could not be paid: nothing was recorded of them. */
const NO_ANSWER = BudgetExceeded.inWords("The recording has no further answer");

class RecordedLedger implements Ledger {
  readonly isMetered = true;
  readonly #past: Past;
  readonly #limitsMoney: boolean;

  constructor(past: Past, limitsMoney: boolean) {
    this.#past = past;
    this.#limitsMoney = limitsMoney;
  }

  open(budget: Budget, { path }: { path: string }): Ledger {
    const refusal = this.#past.refusalOf(path);
    if (refusal !== undefined) throw refusal;
    return this.openAs(path, budget);
  }

  openAs(_of: string, budget: Budget): Ledger {
    return new RecordedLedger(this.#past, this.#limitsMoney || budget.costUsd !== undefined);
  }

  enter(path: string): Holding {
    return new RecordedHolding(path, this.#past);
  }

  start({ path, scope }: StartAsk): Started | Promise<Started> {
    scope.throwIfAborted();
    const refused = this.#past.start(path, scope);
    if (refused !== undefined) return refused;
    return { holding: this.enter(path), slot: FREE_SLOT, first: undefined };
  }

  limitsMoney(): boolean {
    return this.#limitsMoney;
  }

  startExecution(): void {}
  useExecution(): void {}
  undoExecution(): void {}
  countExecution(): void {}
  charge(): void {}
  left = (): Budget => ({});
  limits = (): [] => [];
  chain = (): [] => [];
  holdings = (): [] => [];
  flushed = (): undefined => {};
}

class RecordedHolding implements Holding {
  readonly #path: string;
  readonly #past: Past;

  constructor(path: string, past: Past) {
    this.#path = path;
    this.#past = past;
  }

  reserve(_ask: CallAsk, scope: Scope): Lease | Promise<Lease> {
    scope.throwIfAborted();
    const verdict = this.#past.ask(this.#path);
    if (verdict === "stopped") return untilStopped(scope);
    if (verdict instanceof BudgetExceeded) throw verdict;
    return { outputCap: verdict, settle: () => this.#past.settle(this.#path), [Symbol.dispose]: () => {} };
  }

  keep(): void {}

  takeStep(): void {
    this.#past.touch();
  }

  runCall(): Disposable {
    this.#past.touch();
    return NOTHING_HELD;
  }

  wait(): Disposable {
    this.#past.touch();
    return NOTHING_HELD;
  }

  [Symbol.dispose](): void {
    this.#past.ended(this.#path);
  }
}

const NOTHING_HELD: Disposable = { [Symbol.dispose]: () => {} };

/** A run that had a slot then has it now. */
const FREE_SLOT: RunSlot = { ...NOTHING_HELD, rest: () => {}, wake: () => {} };

function untilStopped(scope: Scope): Promise<never> {
  return new Promise((_, reject) => void scope.onAbort(reject));
}

/** True for a child that had its path already: one that is refused before that is refused again by itself. */
function isRefusal(event: StoredEvent): event is Refusal {
  if (event.type !== "spawn-refused" || event.childPath === undefined) return false;
  if (event.errorType !== "quota" && event.errorType !== "cancelled") return false;
  // The clock of the rerun says so, too.
  return !event.message.startsWith("Time limit exceeded");
}

function isFromOutside({ type }: StoredEvent): boolean {
  return ["message-end", "retry", "tool-call-end", "approval-end"].includes(type);
}

function isOfQuestion({ type }: StoredEvent): boolean {
  return ["turn-start", "message-end", "retry", "budget-warning", "prune", "run-end"].includes(type);
}
