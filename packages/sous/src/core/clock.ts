/** Time and chance as arguments, so that a test can own them, and waiting that a signal can end. */

import type { IsSampled, TraceContext } from "./trace-context.ts";

/** Time and timers: the machine's, or a test's own. */
export type Clock = {
  /** Wall time in milliseconds since 1970; for showing and storing. */
  now(): number;
  /** A cheaper `now` for what comes many times at once: at least as late as the start of this turn of the event loop. */
  lately?(): number;
  /** Milliseconds that never jump; for measuring and deadlines. */
  monotonic(): number;
  /**
   * Calls back once after at least `milliseconds`; disposing the timer before that prevents it. One that is `isQuiet` does not
   * keep the process alive.
   */
  timer(milliseconds: number, callback: () => void, isQuiet?: boolean): Disposable;
};

/** A moment after which something is called, once. Disposing it earlier prevents that. */
export type Deadline = Disposable & {
  /** Stops its time; pauses are counted, so two questions at once need two answers. */
  pause(): void;
  resume(): void;
  /** Milliseconds until it is due; 0 when it has been or is disposed. */
  remaining(): number;
};

/** All deadlines of a tree: however many there are, they share one timer. */
export type Deadlines = {
  /** Never calls back at once, also when `milliseconds` is 0. */
  add(milliseconds: number, onDue: () => void): Deadline;
};

/** A number in [0, 1). */
export type Random = () => number;

/** The machine that the runtime runs on, as far as it needs it. */
export type Host = {
  clock: Clock;
  /** A number in [0, 1). */
  random: () => number;
  /** The folder that tools work in. */
  cwd: string;
  /** Variables by name; those that look like secrets are taken out of everything that is kept. */
  environment: Readonly<Record<string, string | undefined>>;
  /** Set when spans of its runs are exported: external agents are handed the span of their run as the one they work in. */
  isSampled?: IsSampled | undefined;
  /** The trace of a root that starts now; when unset that of the variables TRACEPARENT, TRACESTATE and BAGGAGE. */
  trace?: (() => TraceContext | undefined) | undefined;
};

/** Settles like `work`, or rejects with the signal's reason as soon as it aborts. Leaves no listener behind. */
export function untilSignal<T>(work: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) return Promise.reject(signal.reason);
  return new Promise<T>((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(
      (value) => {
        signal.removeEventListener("abort", onAbort);
        resolve(value);
      },
      (error: unknown) => {
        signal.removeEventListener("abort", onAbort);
        reject(error);
      },
    );
  });
}

/** Waits on the clock, or rejects when the signal aborts; the timer is gone either way. */
export async function sleep(milliseconds: number, clock: Clock, signal: AbortSignal): Promise<void> {
  const { promise: elapsed, resolve } = Promise.withResolvers<void>();
  using _timer = clock.timer(milliseconds, resolve);
  await untilSignal(elapsed, signal);
}

/** Never settles but by the signal. */
export function forever(signal: AbortSignal): Promise<never> {
  return untilSignal(new Promise<never>(() => {}), signal);
}
