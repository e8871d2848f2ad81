/** Waits for a tool, and not for ever: one that ignores its signal is left behind after a grace period. */

import type { Clock } from "../core/clock.ts";
import type { Scope } from "../core/scope.ts";

const GRACE_MS = 1000;

export function waitForTool(work: Promise<unknown>, scope: Scope, clock: Clock): Promise<unknown> {
  return new Promise((resolve, reject) => {
    let grace: Disposable | undefined;
    const stop = (reason: unknown) => {
      grace = clock.timer(GRACE_MS, () => reject(reason));
    };
    scope.listen(stop);
    work.then(
      (value) => {
        scope.unlisten(stop);
        grace?.[Symbol.dispose]();
        resolve(value);
      },
      (error: unknown) => {
        scope.unlisten(stop);
        grace?.[Symbol.dispose]();
        reject(error);
      },
    );
  });
}
