/** A store around another one: what is not changed is passed on. */

import type { Store } from "../core/store.ts";

export function wrapStore(inner: Store, changes: Partial<Store>): Store {
  return {
    isImmediate: inner.isImmediate,
    append: (...given) => inner.append(...given),
    claim: (...given) => inner.claim(...given),
    release: (...given) => inner.release(...given),
    markLost: (...given) => inner.markLost(...given),
    read: (...given) => inner.read(...given),
    run: (...given) => inner.run(...given),
    list: (...given) => inner.list(...given),
    children: (...given) => inner.children(...given),
    tree: (...given) => inner.tree(...given),
    delete: (...given) => inner.delete(...given),
    prune: (...given) => inner.prune(...given),
    [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose](),
    ...changes,
  };
}
