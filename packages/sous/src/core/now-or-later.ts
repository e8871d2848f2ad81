/**
 * Work that seldom has to wait. As a generator it runs to its end at once, and becomes a promise at the first
 * `yield* wait(…)` of one. Profiles are built this way so that children start in the order of their calls: as async functions
 * a profile with fewer tools overtakes one that was asked for first.
 */

export type Steps<Result> = Generator<Promise<unknown>, Result, unknown>;

export function nowOrLater<Result>(steps: Steps<Result>): Result | Promise<Result> {
  const first = steps.next();
  return first.done ? first.value : later(steps, first.value);
}

/** The value, or the one the promise resolves with. */
export function* wait<Value>(value: Value | Promise<Value>): Steps<Value> {
  return value instanceof Promise ? ((yield value) as Value) : value;
}

async function later<Result>(steps: Steps<Result>, first: Promise<unknown>): Promise<Result> {
  for (let waiting = first; ; ) {
    const next = await waiting.then(
      (value) => steps.next(value),
      (error: unknown) => steps.throw(error),
    );
    if (next.done) return next.value;
    waiting = next.value;
  }
}
