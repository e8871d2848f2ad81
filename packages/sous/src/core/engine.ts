/**
 * The ports of a tree over several workers. A placed run has a journal of its own; the process that claims it continues the
 * run. Messages carry ids: task, rights, budget and terms come from the store, so a forged or repeated one widens nothing.
 */

import type { EventOf, StoredEvent } from "./event.ts";
import type { CancelMode } from "./spawn.ts";
import type { Claim } from "./store.ts";

/** The place that has runs continued by workers: the store itself, or a durable engine beside it. */
export type Engine = {
  /** Has the run continued somewhere until it has ended. Asking again joins. Rejects when no worker can be asked. */
  continueRun(runId: string): Promise<void>;
  /** Workers see the files of the one that places: only then may agents with tools for files or the terminal be placed. */
  readonly sharesWorkspace?: boolean | undefined;
  /** Workers find what was placed by themselves: a run that no one waits for need not be asked for. */
  readonly isStore?: boolean | undefined;
};

/** The words to a run in another process. Each is acted on once, in the order of the numbers. */
export type MailBody =
  /** Stops the run at `path`, or the run that the journal begins with. */
  | { kind: "stop"; mode: CancelMode; path?: string | undefined; callId?: string | undefined }
  /** A person says something to the run at `path`; it reads it before its next turn. */
  | { kind: "steer"; path: string; text: string; callId?: string | undefined }
  /** The answer of a person to an open question; `digest` is that of the question as it was shown. */
  | {
      kind: "answer";
      runId: string;
      callId: string;
      digest: string;
      answer: "yes" | "no" | "later";
      reason?: string | undefined;
    };

/** A yes or a no. An answer that comes later leaves the question as it is. */
export function isDecided(body: MailBody): body is Extract<MailBody, { kind: "answer" }> {
  return body.kind === "answer" && body.answer !== "later";
}

/** `to` is a journal. With `isForTree` it is a root, and every journal of its tree that has not ended gets a copy. */
export type NewMail = { readonly to: string; readonly isForTree?: boolean | undefined; readonly body: MailBody };

/** A kept message to the writer of a journal. Numbers grow within a store. */
export type Mail = { readonly id: number; readonly journalId: string; readonly body: MailBody };

/** A hint that something may be new in the store: with the journal, where that is known. It may be missed or repeated. */
export type News = { readonly kind: "placed" | "ended" | "mail" | "all"; readonly journalId?: string | undefined };

/** A journal that a worker has taken: its first run has begun and has no end. */
export type TakenJournal = Claim & {
  readonly journalId: string;
  /** The claims since the run last got ahead, this one included: a run that kills its workers shows here. */
  readonly claims: number;
};

/** A process that takes placed runs, as it tells the store. */
export type WorkerFacts = {
  readonly name: string;
  /** The names of the agents it knows. It takes no others. */
  readonly agents: readonly string[];
  /** The runs that it works on at most at once, without those that only wait for children on workers. */
  readonly places: number;
  /** It takes only runs whose tree was made in this folder; those of any when unset. */
  readonly folder?: string | undefined;
};

/** A worker as others see it. */
export type WorkerState = WorkerFacts & {
  /** The process, as `describeOwner` says it. */
  readonly where: string;
  readonly isAlive: boolean;
  /**
   * True when its death is seen at once. False when it is seen only once its lease is over: it reaches the database through a pool
   * that changes connections, or has none to spare.
   */
  readonly isWatched: boolean;
  /** The journals that it holds. */
  readonly held: number;
};

/** A journal of a tree, for those that follow it. */
export type JournalState = {
  readonly journalId: string;
  readonly lastSeq: number;
  /**
   * `queued`: it was placed, and no worker has taken it yet. `dead`: the process that had it is gone, or has given it back.
   * `parked`: no process has it, and one of its questions has no answer.
   */
  readonly state: "queued" | "held" | "dead" | "parked" | "ended";
  /** The process that holds it, or held it last, in words. */
  readonly where: string | undefined;
  readonly claims: number;
};

/** The work of a store between processes. Not every store can do it: those that can have `placing`. */
export type Placing = {
  /**
   * Begins journals, each with the start of a placed run as its event 1, all of them or none, and leaves them to the workers. One
   * that has begun already stays as it is.
   */
  place(starts: readonly EventOf<"run-start">[]): Promise<void>;
  /**
   * Takes journals that were placed, have not ended, and have no living owner, those first that were placed first. A parked one is
   * taken only for mail since it was taken last: a stop, or the answer to one of its open questions. One that is marked as lost is not.
   */
  take(worker: WorkerFacts, limit: number): Promise<TakenJournal[]>;
  /** Says that this open store works as a worker from now on, until it is disposed. Its death is then seen at once. */
  enlist(worker: WorkerFacts): Promise<AsyncDisposable>;
  workers(): Promise<WorkerState[]>;
  /** The ends of the first runs of these journals, of those that have ended. */
  ends(journalIds: readonly string[]): Promise<EventOf<"run-end">[]>;
  /** The journals of a tree but that of its root, in the order in which they were placed. */
  journals(rootId: string): Promise<JournalState[]>;
  /** Mail to anything but a placed journal that has not ended does nothing. It is deleted when its journal ends. */
  post(mail: readonly NewMail[]): Promise<void>;
  /** The mail to these journals behind this number, in order. */
  mail(journalIds: readonly string[], after: number): Promise<Mail[]>;
  /** Calls on news, and at least twice a second. */
  listen(onNews: (news: News) => void): Disposable;
};

/** The way to a run that works elsewhere. */
export type PlacedRun = {
  /** `path` names a run below it; the run itself when unset. */
  stop(mode: CancelMode, callId?: string, path?: string): void;
  steer(path: string, text: string, callId?: string): void;
};

/** A store that can place runs. */
export type PlacingStore = { readonly placing: Placing };

/**
 * False for what a run records without getting ahead: it was taken, asks its model, or was cut off while it did. A run that kills
 * its workers records nothing else.
 */
export function isProgress(event: StoredEvent): boolean {
  if (event.type === "retry") return event.kind !== "interrupted";
  return event.type !== "resume" && event.type !== "turn-start";
}
