/** Stdout as a run uses it: whoever writes waits until it is taken, unless nobody takes it any more. */

export type Outlet = {
  /** Resolves when the text is taken, or never will be. Never rejects. */
  write(text: string): Promise<void>;
  /** Nobody reads any more. */
  readonly isClosed: boolean;
  /** Why something could not be written, when that is not because nobody reads. */
  readonly failure: Error | undefined;
};

export type OutletOptions = {
  stream: Pick<NodeJS.WriteStream, "write" | "on">;
  /** Called once. */
  onClosed: () => void;
  /** When it aborts, nobody waits any more. */
  patience: AbortSignal;
};

export function openOutlet({ stream, onClosed, patience }: OutletOptions): Outlet {
  let isClosed = false;
  let failure: Error | undefined;
  const waiting = new Set<() => void>();
  const letGo = (): void => {
    for (const resolve of waiting) resolve();
  };
  const fail = (error: NodeJS.ErrnoException): void => {
    if (isClosed || failure !== undefined) return;
    if (error.code === "EPIPE" || error.code === "ECONNRESET") isClosed = true;
    else failure = error;
    letGo();
    onClosed();
  };
  // For good: the error of the last write may come after everything else.
  stream.on("error", fail);
  patience.addEventListener("abort", letGo, { once: true });
  return {
    write(text) {
      if (isClosed || failure !== undefined) return Promise.resolve();
      return new Promise((resolve) => {
        const taken = (): void => {
          waiting.delete(taken);
          resolve();
        };
        waiting.add(taken);
        stream.write(text, (error) => {
          if (error) fail(error);
          taken();
        });
        if (patience.aborted) taken();
      });
    },
    get isClosed() {
      return isClosed;
    },
    get failure() {
      return failure;
    },
  };
}
