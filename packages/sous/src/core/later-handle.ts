/** The handle of a run that is still being opened: it can be awaited, iterated and talked to at once. */

import { makeHandle } from "./handle.ts";
import type { RunHandle } from "./runtime.ts";

/** `open` is given the moment the handle is there: whoever wants to iterate it then misses nothing. */
export function laterHandle<Output>(
  id: string,
  open: (onHandle: (handle: RunHandle<Output>) => void) => Promise<void>,
): RunHandle<Output> {
  let handle: RunHandle<Output> | undefined;
  let isCancelled = false;
  const waiting: ((handle: RunHandle<Output>) => void)[] = [];
  const opening = open((opened) => {
    handle = opened;
    for (const each of waiting) each(opened);
    if (isCancelled) opened.cancel();
  });
  /** In an object: a handle by itself would be awaited. */
  const ready = opening.then(() => {
    if (handle === undefined) throw new Error("The run was not opened");
    return { handle };
  });
  const made = makeHandle<Output>({
    id,
    result: ready.then(({ handle: opened }) => opened),
    iterate() {
      const iterator = Promise.withResolvers<ReturnType<RunHandle<Output>[typeof Symbol.asyncIterator]>>();
      if (handle !== undefined) iterator.resolve(handle[Symbol.asyncIterator]());
      else waiting.push((opened) => iterator.resolve(opened[Symbol.asyncIterator]()));
      opening.catch(iterator.reject);
      return {
        next: async () => (await iterator.promise).next(),
        return: async () => (await iterator.promise).return?.() ?? { done: true, value: undefined },
      };
    },
    steer: (path, text) => handle?.steer(path, text) ?? false,
    cancel(path, options) {
      if (handle !== undefined) return handle.cancel(path, options);
      isCancelled ||= path === undefined;
      return path === undefined;
    },
    spending: () => handle?.spending() ?? { limits: [], runs: [] },
    send: async (path, message) => (await ready).handle.send(path, message),
    followUp: (message, options) =>
      laterHandle(id, async (onHandle) => onHandle((await ready).handle.followUp(message, options))),
  });
  return Object.defineProperty(made, "id", { get: () => handle?.id ?? id, enumerable: true });
}
