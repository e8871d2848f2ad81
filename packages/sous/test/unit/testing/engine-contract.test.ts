/** The engine of a store keeps the contract of engines, on each store whose workers are of one machine. */

import { suite, test } from "node:test";
import { openMemoryStore } from "../../../src/storage/store/memory.ts";
import { engineContract } from "../../../src/testing/engine-contract.ts";
import { stagedEngine } from "../../support/runtime/placing/staged-engine.ts";
import { sqlitePlace } from "../../support/storage/store/sqlite-place.ts";

suite("the engine of a memory store", { concurrency: true }, () => {
  engineContract(test, async () => {
    const store = openMemoryStore();
    return stagedEngine(
      async () => store,
      async () => undefined,
    );
  });
});

suite("the engine of a SQLite store", { concurrency: true }, () => {
  engineContract(test, async () => {
    const place = sqlitePlace();
    return stagedEngine(
      () => place.open(),
      async () => place[Symbol.asyncDispose](),
    );
  });
});
