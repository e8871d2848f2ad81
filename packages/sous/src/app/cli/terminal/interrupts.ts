/** Signals that stop a command, and how long a stop is waited for. */

import { once } from "node:events";
import { CommandError } from "../exit-codes.ts";

export type Interrupts = Disposable & {
  /** Aborts when the work has to stop now. */
  readonly signal: AbortSignal;
  /** Aborts when the work should say what it has and end; without `wrapsUp` never. */
  readonly wrapUp: AbortSignal;
  /** The exit code of the signal that came. */
  exitCode(): number;
  /** The signal that came, as people know it. */
  reason(): string | undefined;
  /** Stops the work for another reason than a signal. */
  stop(exitCode: number, reason: string): void;
};

const CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
export type StopSignal = keyof typeof CODES;

/** The time that last words may take, because a second interrupt may never come. */
const MAX_WRAP_UP_MS = 5000;

type InterruptOptions = {
  wrapsUp?: boolean;
  /** Returns the signals that came before, and stops listening. */
  earlier?: (() => readonly StopSignal[]) | undefined;
};

/**
 * The first signal stops the work; the next one has its usual effect. With `wrapsUp` the first interrupt only asks for an
 * end, and the second stops the work.
 */
export function catchInterrupts({ wrapsUp = false, earlier }: InterruptOptions = {}): Interrupts {
  const stopping = new AbortController();
  const wrappingUp = new AbortController();
  let code: number = CODES.SIGINT;
  let reason: string | undefined;
  let timer: NodeJS.Timeout | undefined;
  const hear = (name: StopSignal): void => {
    if (stopping.signal.aborted) return;
    code = CODES[name];
    reason = name;
    if (!wrapsUp || name !== "SIGINT" || wrappingUp.signal.aborted) {
      stop();
      return;
    }
    wrappingUp.abort();
    timer = setTimeout(stop, MAX_WRAP_UP_MS).unref();
  };
  const removeListeners = (): void => {
    clearTimeout(timer);
    for (const [name, listener] of listeners) process.off(name, listener);
  };
  const stop = (): void => {
    // A later signal has its usual effect.
    removeListeners();
    stopping.abort();
  };
  const listeners = (Object.keys(CODES) as StopSignal[]).map((name) => [name, (): void => hear(name)] as const);
  for (const [name, listener] of listeners) process.on(name, listener);
  for (const came of earlier?.() ?? []) hear(came);
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
    [Symbol.dispose]: removeListeners,
  };
}

/** Waits for `opening`, unless `stop` aborts first; then what is still opened is closed again. */
export async function openUnlessStopped<T extends AsyncDisposable>(opening: Promise<T>, stop: AbortSignal): Promise<T> {
  const stopped = Promise.withResolvers<never>();
  const refuse = (): void => stopped.reject(stop.reason);
  stop.addEventListener("abort", refuse, { once: true });
  if (stop.aborted) refuse();
  try {
    return await Promise.race([stopped.promise, opening]);
  } catch (error) {
    opening.then((late) => late[Symbol.asyncDispose]()).catch(() => {});
    throw error;
  } finally {
    stop.removeEventListener("abort", refuse);
  }
}

/** Waits for `opening`, which listens to the signals itself. Throws a `CommandError` with the code of the signal that came. */
export async function openUnlessInterrupted<T>(opening: Promise<T>, interrupts: Interrupts): Promise<T> {
  try {
    return await opening;
  } catch (error) {
    const reason = interrupts.reason();
    throw reason === undefined ? error : new CommandError(`Stopped by ${reason}`, interrupts.exitCode());
  }
}

/** A tool that ignores its signal is abandoned after a second; this limits everything else that might hang. */
const MAX_STOP_MS = 2000;

export type Patience = Disposable & {
  readonly signal: AbortSignal;
  /** Returns the result of the work, or undefined when it took too long. */
  wait<T>(work: PromiseLike<T>): Promise<T | undefined>;
};

/** Makes a patience whose signal aborts some time after the given one. */
export function patienceAfter(stop: AbortSignal, milliseconds: number = MAX_STOP_MS): Patience {
  const over = new AbortController();
  const ended = Promise.withResolvers<undefined>();
  let timer: NodeJS.Timeout | undefined;
  const begin = (): void => {
    timer = setTimeout(() => {
      over.abort();
      ended.resolve(undefined);
    }, milliseconds);
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

const KEEP_ALIVE_MS = 60_000;

/** Resolves when the signal aborts, and keeps the process alive until then. */
export async function untilStopped(signal: AbortSignal): Promise<void> {
  const timer = setInterval(() => {}, KEEP_ALIVE_MS);
  if (!signal.aborted) await once(signal, "abort");
  clearInterval(timer);
}
