/** Waits for a tool, and not for ever: one that ignores its signal is left behind after a grace period. */

import type { Clock } from "../core/clock.ts";
import type { Scope } from "../core/scope.ts";

const GRACE_MS = 1000;

export function waitForTool(work: PromiseLike<unknown>, scope: Scope, clock: Clock): Promise<unknown> {
  return new Promise((resolve, reject) => {
    let grace: Disposable | undefined;
    const link = scope.onAbort((reason) => {
      grace = clock.timer(GRACE_MS, () => reject(reason));
    });
    const done = () => {
      link[Symbol.dispose]();
      grace?.[Symbol.dispose]();
    };
    work.then(
      (value) => {
        done();
        resolve(value);
      },
      (error: unknown) => {
        done();
        reject(error);
      },
    );
  });
}
