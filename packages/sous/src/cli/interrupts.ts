/** A person or a system that wants the process to stop. */

export type Interrupts = Disposable & {
  readonly signal: AbortSignal;
  /** By the signal that came. */
  exitCode(): number;
};

const CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/** The first signal stops the run; the second has its usual effect. */
export function catchInterrupts(): Interrupts {
  const controller = new AbortController();
  let code: number = CODES.SIGINT;
  const listeners = Object.entries(CODES).map(([name, itsCode]) => {
    const listener = (): void => {
      code = itsCode;
      controller.abort();
    };
    process.once(name, listener);
    return { name, listener };
  });
  return {
    signal: controller.signal,
    exitCode: () => code,
    [Symbol.dispose]() {
      for (const { name, listener } of listeners) process.off(name, listener);
    },
  };
}
