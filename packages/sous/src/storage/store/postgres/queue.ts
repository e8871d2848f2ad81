/** A queue in front of a pool of connections, because the pool counts waiting in its own queue as time to connect. */

import type { PostgresPool } from "./connection.ts";

/** The default of a pool of `pg`. */
const DEFAULT_CONNECTIONS = 10;

const queues = new WeakMap<PostgresPool, PoolQueue>();

/** All stores on one pool wait in one queue. */
export function queueOf(pool: PostgresPool): PoolQueue {
  const queue = queues.get(pool) ?? new PoolQueue(pool.options?.max ?? DEFAULT_CONNECTIONS);
  queues.set(pool, queue);
  return queue;
}

/** Never lends more connections at once than there are; first come, first served, and no request is refused. */
export class PoolQueue {
  #free: number;
  /** The number of connections that are not held for long. */
  #shared: number;
  readonly #waiting: (() => void)[] = [];

  constructor(connections: number) {
    this.#free = Math.max(1, connections);
    this.#shared = this.#free;
  }

  /** Waits until a connection is free. It is given back when the result is disposed. */
  async take(): Promise<Disposable> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return { [Symbol.dispose]: () => this.#giveBack() };
  }

  /** The right to hold a connection for long; undefined when no other would be left to share. Take it as any other. */
  holdOne(): Disposable | undefined {
    if (this.#shared <= 1) return undefined;
    this.#shared -= 1;
    return {
      [Symbol.dispose]: () => {
        this.#shared += 1;
      },
    };
  }

  #giveBack(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}
