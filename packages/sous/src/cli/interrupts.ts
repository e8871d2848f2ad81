/** A person or a system that wants the process to stop. */

export type Interrupts = Disposable & {
  /** Aborts when the work has to stop now. */
  readonly signal: AbortSignal;
  /** Aborts when the work should say what it has and end; without `wrapsUp` never. */
  readonly wrapUp: AbortSignal;
  /** By the signal that came. */
  exitCode(): number;
  /** The signal that came, as people know it. */
  reason(): string | undefined;
  /** Something else than a signal wants the work to stop. */
  stop(exitCode: number, reason: string): void;
};

const CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/** How long last words may take: whoever sends one interrupt does not always send another. */
const LONGEST_WRAP_UP_MS = 30_000;

/**
 * The first signal stops the work; the next one has its usual effect. With `wrapsUp` the first interrupt only asks for an
 * end, and the second stops the work.
 */
export function catchInterrupts({ wrapsUp = false }: { wrapsUp?: boolean } = {}): Interrupts {
  const stopping = new AbortController();
  const wrappingUp = new AbortController();
  let code: number = CODES.SIGINT;
  let reason: string | undefined;
  let timer: NodeJS.Timeout | undefined;
  const listen = (name: keyof typeof CODES): Disposable => {
    const listener = (): void => {
      if (stopping.signal.aborted) return;
      code = CODES[name];
      reason = name;
      if (!wrapsUp || name !== "SIGINT" || wrappingUp.signal.aborted) {
        stop();
        return;
      }
      wrappingUp.abort();
      timer = setTimeout(stop, LONGEST_WRAP_UP_MS).unref();
    };
    process.on(name, listener);
    return { [Symbol.dispose]: () => void process.off(name, listener) };
  };
  const listeners = [listen("SIGINT"), listen("SIGTERM"), listen("SIGHUP")];
  const forget = (): void => {
    clearTimeout(timer);
    for (const each of listeners) each[Symbol.dispose]();
  };
  const stop = (): void => {
    // From here on a signal has its usual effect.
    forget();
    stopping.abort();
  };
  return {
    signal: stopping.signal,
    wrapUp: wrappingUp.signal,
    exitCode: () => code,
    reason: () => reason,
    stop(exitCode, why) {
      if (stopping.signal.aborted) return;
      code = exitCode;
      reason = why;
      stop();
    },
    [Symbol.dispose]: forget,
  };
}
