/** Mail between processes, as one of them writes and reads it. */

import type { Clock } from "../../../core/clock.ts";
import type { Mail, NewMail, News, Placing } from "../../../core/engine.ts";
import { ignore } from "../../../core/errors.ts";
import { onDispose } from "../../../core/scope.ts";
import { Gathered } from "./gathered.ts";
import { patiently } from "./patiently.ts";

/** `isOld`: the message was there when the receiver came. */
type OnMail = (mail: Mail, isOld: boolean) => void;
/** `last` is the number of the last message that was passed on. */
type Receiver = { last: number; readonly onMail: OnMail; isNew: boolean; onLooked(): void };

/** The mail of a journal, while this process works on it. */
export type Receiving = Disposable & {
  /** Resolves when what was kept before has been passed on, or could not be read. */
  readonly looked: Promise<void>;
};

type MailboxParts = { readonly placing: Placing; readonly clock: Pick<Clock, "timer"> };

/** A message is not of a journal that could be lost here. */
const NEVER_LOST = { degraded: undefined };

export class Mailbox {
  readonly #parts: MailboxParts;
  readonly #post: Gathered<NewMail>;
  readonly #receivers = new Map<string, Receiver>();
  /** The trees whose stop is on its way. */
  readonly #stopping = new Map<string, Promise<void>>();
  #listening: Disposable | undefined;
  /** The journals to look into for mail; all of them when it is not known which have some. */
  #due: Set<string> | "all" | undefined;
  #isLooking = false;

  constructor(parts: MailboxParts) {
    this.#parts = parts;
    this.#post = new Gathered((mail) => parts.placing.post(mail));
  }

  /** Resolves when the message is kept. A store that is away is waited for, but not with words, which could be said twice then. */
  post(mail: NewMail): Promise<void> {
    if (mail.body.kind === "steer") return this.#post.add(mail);
    return patiently(() => this.#post.add(mail), { clock: this.#parts.clock, journal: NEVER_LOST });
  }

  /** The same for those that do not wait. What a message that could not be kept is about still has an end. */
  tell(mail: NewMail): void {
    this.post(mail).catch(ignore);
  }

  /** One message stops every run of the tree that works elsewhere. */
  stopTree(rootId: string): Promise<void> {
    const known = this.#stopping.get(rootId);
    if (known !== undefined) return known;
    const posted = this.post({ to: rootId, isForTree: true, body: { kind: "stop", mode: "stop" } });
    const stopping = posted.finally(() => this.#stopping.delete(rootId));
    this.#stopping.set(rootId, stopping);
    return stopping;
  }

  /** Passes each message to the journal on once, in the order of their numbers, from those that were kept before. */
  receive(journalId: string, onMail: OnMail): Receiving {
    const { promise: looked, resolve: onLooked } = Promise.withResolvers<void>();
    const receiver: Receiver = { last: 0, onMail, isNew: true, onLooked };
    this.#receivers.set(journalId, receiver);
    this.#listening ??= this.#parts.placing.listen((news) => this.#hear(news));
    this.#hear({ kind: "mail", journalId });
    const stop = onDispose(() => {
      if (this.#receivers.get(journalId) === receiver) this.#receivers.delete(journalId);
      if (this.#receivers.size > 0) return;
      this.#listening?.[Symbol.dispose]();
      this.#listening = undefined;
    });
    return { looked, [Symbol.dispose]: () => stop[Symbol.dispose]() };
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
      const all = [...this.#receivers];
      const receivers = new Map(due === "all" ? all : all.filter(([id]) => due.has(id)));
      await this.#readMail(receivers).catch(ignore);
      for (const { onLooked } of receivers.values()) onLooked();
    }
    this.#isLooking = false;
  }

  /** A receiver that has come or gone meanwhile hears nothing of it. */
  async #readMail(receivers: ReadonlyMap<string, Receiver>): Promise<void> {
    if (receivers.size === 0) return;
    // A number is never kept behind a larger one.
    const after = Math.min(...[...receivers.values()].map(({ last }) => last));
    for (const mail of await this.#parts.placing.mail([...receivers.keys()], after)) {
      const receiver = receivers.get(mail.journalId);
      if (receiver === undefined || mail.id <= receiver.last || this.#receivers.get(mail.journalId) !== receiver)
        continue;
      receiver.last = mail.id;
      receiver.onMail(mail, receiver.isNew);
    }
    for (const receiver of receivers.values()) receiver.isNew = false;
  }
}
