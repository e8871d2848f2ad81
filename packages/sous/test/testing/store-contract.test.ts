/** The contract on the memory store, and stores that break it. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { StoredEvent } from "../../src/core/event.ts";
import type { Store } from "../../src/core/store.ts";
import { openMemoryStore } from "../../src/store/memory.ts";
import { storeContract } from "../../src/testing/store-contract.ts";
import { wrapStore } from "../../src/testing/wrap-store.ts";

storeContract(test, async () => openMemoryStore());

suite("the contract finds a store that", () => {
  const broken: [what: string, change: (inner: Store) => Partial<Store>, found: string[]][] = [
    [
      "keeps the first part of a failing append",
      (inner) => ({
        async append(rootId, events) {
          for (const event of events) await inner.append(rootId, [event]);
        },
      }),
      ["an append is kept whole or not at all"],
    ],
    [
      "loses the last event of an append",
      (inner) => ({
        append: (rootId, events) => inner.append(rootId, events.slice(0, Math.max(1, events.length - 1))),
      }),
      ["what was appended is read back as it was, in the same order", "a large tree is kept whole"],
    ],
    [
      "reads backwards",
      (inner) => ({ read: async (...given) => [...(await inner.read(...given))].reverse() }),
      [
        "what was appended is read back as it was, in the same order",
        "a part can be read: after a number, of one run, a few at a time",
      ],
    ],
    [
      "lists oldest first",
      (inner) => ({ list: async (query) => (await inner.list(query)).reverse() }),
      ["runs are listed newest first, by pages and by filters"],
    ],
    [
      "cuts long labels",
      (inner) => ({ append: (rootId, events) => inner.append(rootId, events.map(withShortLabel)) }),
      ["hostile labels and texts are kept as they are and do nothing"],
    ],
    [
      "throws for an unknown run",
      (inner) => ({
        run: async (runId) => {
          const found = await inner.run(runId);
          if (found === undefined) throw new Error("No such run");
          return found;
        },
      }),
      ["unknown ids are nothing, not an error"],
    ],
  ];
  for (const [what, change, found] of broken) {
    test(what, async () => {
      const failed = await failedPromises(() => {
        const inner = openMemoryStore();
        return wrapStore(inner, change(inner));
      });
      for (const name of found) assert.ok(failed.includes(`a store: ${name}`), `${name} fails; found ${failed}`);
    });
  }
});

/** The names of the promises a store breaks. */
async function failedPromises(open: () => Store): Promise<string[]> {
  const checks: [name: string, run: () => Promise<void>][] = [];
  storeContract(
    (name, run) => checks.push([name, run]),
    async () => open(),
  );
  const failed: string[] = [];
  for (const [name, run] of checks) await run().catch(() => failed.push(name));
  return failed;
}

function withShortLabel(event: StoredEvent): StoredEvent {
  return event.type === "run-start" ? { ...event, label: event.label.slice(0, 100) } : event;
}
