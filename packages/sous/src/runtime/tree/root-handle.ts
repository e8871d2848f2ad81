/** The handle that `run()` and `resume()` return: a run that can be awaited, iterated and controlled, also while it is being opened. */

import { ignore } from "../../core/errors.ts";
import type { SousEvent } from "../../core/event.ts";
import type { SpendingState } from "../../core/limits.ts";
import { messageFrom, type UserInput } from "../../core/message.ts";
import { type ResumeOptions, RunError, type RunHandle, type RunResult } from "../../core/runtime.ts";
import type { CancelMode } from "../../core/spawn.ts";
import type { EndedRoot, RootRun } from "./root-run.ts";

/** `id` is the handle's until the run is open: one that continues in a new run has the id of that run then. */
export function rootHandle<Output>(id: string, run: RootRun | Promise<RootRun>): RunHandle<Output> {
  return new RootHandle<Output>(id, run);
}

class RootHandle<Output> implements RunHandle<Output> {
  readonly #id: string;
  readonly #opening: Promise<RootRun>;
  readonly #ended: Promise<EndedRoot>;
  #result: Promise<RunResult<Output>> | undefined;
  #live: RootRun | undefined;
  #isCancelled = false;

  constructor(id: string, run: RootRun | Promise<RootRun>) {
    this.#id = id;
    this.#live = run instanceof Promise ? undefined : run;
    this.#opening = Promise.resolve(run);
    this.#ended = this.#opening.then((opened) => this.#follow(opened));
    // A caller that only iterates must not be ended by an unhandled rejection.
    this.#ended.catch(ignore);
  }

  #follow(opened: RootRun): Promise<EndedRoot> {
    this.#live = opened;
    if (this.#isCancelled) opened.cancel(undefined, "stop");
    return opened.ended;
  }

  get result(): Promise<RunResult<Output>> {
    if (this.#result === undefined) {
      this.#result = this.#ended.then((end) => end.result as RunResult<Output>);
      this.#result.catch(ignore);
    }
    return this.#result;
  }

  get id(): string {
    return this.#live?.id ?? this.#id;
  }

  // biome-ignore lint/suspicious/noThenProperty: a handle is awaitable on purpose.
  then<Value = RunResult<Output>, Other = never>(
    onFulfilled?: ((result: RunResult<Output>) => Value | PromiseLike<Value>) | null,
    onRejected?: ((reason: unknown) => Other | PromiseLike<Other>) | null,
  ): Promise<Value | Other> {
    return this.#ended.then(orThrow<Output>).then(onFulfilled, onRejected);
  }

  catch<T>(onRejected: (error: unknown) => T): Promise<RunResult<Output> | T> {
    return this.then(undefined, onRejected);
  }

  finally(onFinally: () => void): Promise<RunResult<Output>> {
    return this.#ended.then(orThrow<Output>).finally(onFinally);
  }

  [Symbol.asyncIterator](): AsyncIterator<SousEvent> {
    return this.#live?.iterate() ?? iterateLater(this.#opening.then((opened) => opened.iterate()));
  }

  steer(path: string, text: string): boolean {
    return this.#live?.steer(path, text) ?? false;
  }

  cancel(path?: string, { mode = "stop" }: { mode?: CancelMode } = {}): boolean {
    if (this.#live !== undefined) return this.#live.cancel(path, mode);
    this.#isCancelled ||= path === undefined;
    return path === undefined;
  }

  spending(): SpendingState {
    return this.#live?.spending() ?? { limits: [], runs: [] };
  }

  async send(path: string, message: string): Promise<string> {
    return (await this.#opening).send(path, message);
  }

  followUp(message: UserInput, { summarizes }: Pick<ResumeOptions, "summarizes"> = {}): RunHandle<Output> {
    const task = messageFrom(message);
    const next =
      this.#live?.followUp(task, summarizes) ?? this.#opening.then((opened) => opened.followUp(task, summarizes));
    return new RootHandle<Output>(next instanceof Promise ? this.#id : next.id, next);
  }
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
