/** The handle that `run()` and `resume()` return: a run that can be awaited, iterated and controlled, also while it is being opened. */

import { ignore } from "../../core/errors.ts";
import { messageFrom } from "../../core/message.ts";
import { RunError, type RunHandle, type RunResult } from "../../core/runtime.ts";
import type { EndedRoot, RootRun } from "./root-run.ts";

/** `id` is the handle's until the run is open: one that continues in a new run has the id of that run then. */
export function rootHandle<Output>(id: string, run: RootRun | Promise<RootRun>): RunHandle<Output> {
  const opening = Promise.resolve(run);
  let live = run instanceof Promise ? undefined : run;
  let isCancelled = false;
  const ended = opening.then((opened) => {
    live = opened;
    if (isCancelled) opened.cancel(undefined, "stop");
    return opened.ended;
  });
  const result = ended.then((end) => end.result as RunResult<Output>);
  const settled = ended.then(orThrow<Output>);
  // A caller that only iterates must not be ended by an unhandled rejection.
  result.catch(ignore);
  settled.catch(ignore);
  return {
    get id() {
      return live?.id ?? id;
    },
    result,
    // biome-ignore lint/suspicious/noThenProperty: a handle is awaitable on purpose.
    then: (onFulfilled, onRejected) => settled.then(onFulfilled, onRejected),
    catch: (onRejected) => settled.catch(onRejected),
    finally: (onFinally) => settled.finally(onFinally),
    [Symbol.asyncIterator]: () => live?.iterate() ?? iterateLater(opening.then((opened) => opened.iterate())),
    steer: (path, text) => live?.steer(path, text) ?? false,
    cancel(path, { mode = "stop" } = {}) {
      if (live !== undefined) return live.cancel(path, mode);
      isCancelled ||= path === undefined;
      return path === undefined;
    },
    spending: () => live?.spending() ?? { limits: [], runs: [] },
    send: async (path, message) => (await opening).send(path, message),
    followUp(message, { summarizes } = {}) {
      const task = messageFrom(message);
      const next = live?.followUp(task, summarizes) ?? opening.then((opened) => opened.followUp(task, summarizes));
      return rootHandle<Output>(next instanceof Promise ? id : next.id, next);
    },
  };
}

/** `failed` is the one ending that rejects; the result comes along. */
function orThrow<Output>({ result, cause }: EndedRoot): RunResult<Output> {
  if (result.status === "failed") throw new RunError(result.error?.message ?? "The run failed", result, cause);
  return result as RunResult<Output>;
}

function iterateLater<T>(opening: Promise<AsyncIterator<T>>): AsyncIterator<T> {
  // The reader is told by its first `next()`.
  opening.catch(ignore);
  return {
    next: async () => (await opening).next(),
    return: async () => (await opening).return?.() ?? { done: true, value: undefined },
  };
}
