/** Waiting that a signal can end. */

import type { Clock } from "../core/clock.ts";

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
  let timer: Disposable | undefined;
  const elapsed = new Promise<void>((resolve) => {
    timer = clock.timer(milliseconds, resolve);
  });
  try {
    await untilSignal(elapsed, signal);
  } finally {
    timer?.[Symbol.dispose]();
  }
}

/** Never settles but by the signal. */
export function forever(signal: AbortSignal): Promise<never> {
  return untilSignal(new Promise<never>(() => {}), signal);
}
