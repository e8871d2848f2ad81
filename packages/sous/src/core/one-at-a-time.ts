/**
 * Long synchronous work of the whole process, in a queue: `nextTurn` is awaited before each piece, so that timers and
 * signals that are due are heard between two of them, however many runs have work at the same moment.
 */
export function oneAtATime(nextTurn: () => Promise<unknown>) {
  let last: Promise<unknown> = Promise.resolve();

  /** Rejects without doing the work when `stop` throws at its turn. */
  return async <Result>(work: () => Result, stop?: Pick<AbortSignal, "throwIfAborted">): Promise<Result> => {
    const before = last;
    const { promise, resolve } = Promise.withResolvers<void>();
    last = promise;
    try {
      await before;
      await nextTurn();
      stop?.throwIfAborted();
      return work();
    } finally {
      resolve();
    }
  };
}
