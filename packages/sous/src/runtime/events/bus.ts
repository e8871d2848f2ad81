/** The listeners of a tree: direct callbacks, in the order they subscribed. A listener cannot change the run. */

import type { EventListener, SousEvent } from "../../core/event.ts";
import { onDispose } from "../../core/scope.ts";
import type { Journal } from "../../core/tree-ports.ts";

type Subscription = { readonly listener: EventListener; isLive: boolean; hasFailed: boolean };

export class Bus {
  /** The number of times that a listener threw or returned a promise that rejected. */
  faults = 0;
  /** Replaced, never changed: publishing goes over the array it began with. */
  #subscriptions: readonly Subscription[] = [];
  #isPublishing = false;
  /** Published by a listener, and shown when all listeners have seen the event before. */
  readonly #next: SousEvent[] = [];
  readonly #onListenerError: ((error: unknown) => void) | undefined;

  /** `onListenerError` is called with the first fault of each listener. */
  constructor(onListenerError?: (error: unknown) => void) {
    this.#onListenerError = onListenerError;
  }

  get isWatched(): boolean {
    return this.#subscriptions.length > 0;
  }

  subscribe(listener: EventListener): Disposable {
    const subscription: Subscription = { listener, isLive: true, hasFailed: false };
    this.#subscriptions = [...this.#subscriptions, subscription];
    return onDispose(() => {
      subscription.isLive = false;
      this.#subscriptions = this.#subscriptions.filter((each) => each !== subscription);
    });
  }

  publish(event: SousEvent): void {
    if (this.#subscriptions.length === 0) return;
    if (this.#isPublishing) {
      this.#next.push(event);
      return;
    }
    this.#isPublishing = true;
    this.#tellAll(event);
    if (this.#next.length > 0) this.#drain();
    this.#isPublishing = false;
  }

  #drain(): void {
    for (let index = 0; index < this.#next.length; index++) {
      const event = this.#next[index];
      if (event !== undefined) this.#tellAll(event);
    }
    this.#next.length = 0;
  }

  #tellAll(event: SousEvent): void {
    const subscriptions = this.#subscriptions;
    for (let index = 0; index < subscriptions.length; index++) {
      const subscription = subscriptions[index];
      if (subscription?.isLive) this.#tell(subscription, event);
    }
  }

  #tell(subscription: Subscription, event: SousEvent): void {
    try {
      const returned: unknown = subscription.listener(event);
      // An async function is a listener too: its rejection must not become the process's.
      if (returned instanceof Promise) returned.catch((error: unknown) => this.#countFault(subscription, error));
    } catch (error) {
      this.#countFault(subscription, error);
    }
  }

  #countFault(subscription: Subscription, error: unknown): void {
    this.faults += 1;
    if (subscription.hasFailed) return;
    subscription.hasFailed = true;
    try {
      this.#onListenerError?.(error);
    } catch {
      // The error listener may fail as well, and changes nothing either.
    }
  }
}

/** Listeners for single runs: each hears its own run only, and all of them share one subscription to the tree. */
export class RunListeners {
  readonly #journal: Pick<Journal, "subscribe">;
  readonly #byRun = new Map<string, EventListener>();
  #isSubscribed = false;

  constructor(journal: Pick<Journal, "subscribe">) {
    this.#journal = journal;
  }

  /** Hears the run from its start to its `run-end`, then forgets it. */
  add(runId: string, listener: EventListener): void {
    this.#byRun.set(runId, listener);
    if (this.#isSubscribed) return;
    this.#isSubscribed = true;
    this.#journal.subscribe((event) => {
      const own = this.#byRun.get(event.runId);
      if (event.type === "run-end") this.#byRun.delete(event.runId);
      return own?.(event);
    });
  }
}
