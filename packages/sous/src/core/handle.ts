/** What `run()` returns: a promise that can also be iterated and talked to. */

import type { SousEvent } from "./event.ts";
import type { RunHandle, RunResult } from "./runtime.ts";

/** Everything a handle does besides being awaited. */
export type HandleParts<Output> = Pick<
  RunHandle<Output>,
  "id" | "steer" | "cancel" | "send" | "followUp" | "spending"
> & {
  result: Promise<RunResult<Output>>;
  iterate(): AsyncIterator<SousEvent>;
};

export function makeHandle<Output>(parts: HandleParts<Output>): RunHandle<Output> {
  const { result, iterate, ...control } = parts;
  // A caller that only iterates must not be ended by an unhandled rejection.
  result.catch(() => {});
  return {
    ...control,
    // biome-ignore lint/suspicious/noThenProperty: a handle is awaitable on purpose.
    then: (onFulfilled, onRejected) => result.then(onFulfilled, onRejected),
    catch: (onRejected) => result.catch(onRejected),
    finally: (onFinally) => result.finally(onFinally),
    [Symbol.asyncIterator]: iterate,
  };
}
