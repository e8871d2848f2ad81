/** Listeners for news of a store, and the tick that they hear when there is none: news may be missed. */

import type { Clock } from "../../core/clock.ts";
import type { News } from "../../core/engine.ts";
import { onDispose } from "../../core/scope.ts";
import { quietClock, systemClock } from "../../machine/host.ts";

type NewsSource = {
  readonly timer: Clock["timer"];
  /** Milliseconds between two ticks. */
  readonly tickMs: number;
  /** Called at each tick: true when there may be something new. */
  look(): boolean;
  /** Called when the first begins to listen. What it returns is disposed when no one listens any more. */
  begin?(): Disposable;
};

export type NewsListeners = Disposable & {
  listen(onNews: (news: News) => void): Disposable;
  tell(news: News): void;
};

/** The longest time without a call. */
export const MAX_SILENCE_MS = 500;

export function newsListeners({ timer: given, tickMs, look, begin }: NewsSource): NewsListeners {
  // A process that listens waits for something: it must not end meanwhile.
  const timer = given === quietClock.timer ? systemClock.timer : given;
  const listeners = new Set<(news: News) => void>();
  let ticking: Disposable | undefined;
  let begun: Disposable | undefined;

  function tell(news: News): void {
    for (const onNews of [...listeners]) onNews(news);
  }

  function tick(): void {
    ticking = timer(tickMs, tick);
    if (look()) tell({ kind: "all" });
  }

  function stop(): void {
    ticking?.[Symbol.dispose]();
    begun?.[Symbol.dispose]();
    ticking = undefined;
    begun = undefined;
  }

  return {
    tell,
    listen(listener) {
      // Each call is a listener of its own, also with the same function.
      const onNews = (news: News): void => listener(news);
      listeners.add(onNews);
      ticking ??= timer(tickMs, tick);
      begun ??= begin?.();
      return onDispose(() => {
        listeners.delete(onNews);
        if (listeners.size === 0) stop();
      });
    },
    [Symbol.dispose]() {
      listeners.clear();
      stop();
    },
  };
}
