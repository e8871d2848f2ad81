/** How long is waited for what was told to stop: not for ever. */

/** A tool that ignores its signal is left behind after a second; this is for whatever else might hang. */
const LONGEST_STOP_MS = 2000;
const LONGEST_EXIT_MS = 800;

export type Patience = Disposable & {
  readonly signal: AbortSignal;
  /** What it waits for, or undefined when that took too long. */
  wait<T>(work: PromiseLike<T>): Promise<T | undefined>;
};

/** Its signal aborts some time after the given one. */
export function patienceAfter(stop: AbortSignal, milliseconds: number = LONGEST_STOP_MS): Patience {
  const over = new AbortController();
  const ended = Promise.withResolvers<undefined>();
  let timer: NodeJS.Timeout | undefined;
  over.signal.addEventListener("abort", () => ended.resolve(undefined), { once: true });
  const begin = (): void => {
    timer = setTimeout(() => over.abort(), milliseconds);
  };
  if (stop.aborted) begin();
  else stop.addEventListener("abort", begin, { once: true });
  return {
    signal: over.signal,
    wait: (work) => Promise.race([work, ended.promise]),
    [Symbol.dispose]() {
      stop.removeEventListener("abort", begin);
      clearTimeout(timer);
    },
  };
}

/** Everything is said and closed: what still keeps the process alive, such as an idle connection, is not waited for. */
export function exitSoon(): void {
  setTimeout(() => process.exit(), LONGEST_EXIT_MS).unref();
}
