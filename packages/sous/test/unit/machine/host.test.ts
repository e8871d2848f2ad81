/** The machine as a host: its ids. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { agent, openMemoryStore, run } from "../../../src/index.ts";
import { says, scriptedModel } from "../../../src/testing.ts";

test("runs of one process are listed in the order in which they began, also within a millisecond and over runtimes", async () => {
  const store = openMemoryStore();
  const ids: string[] = [];
  for (let index = 0; index < 200; index++) {
    const { runId } = await run(agent({ name: "one", model: scriptedModel(says("Done.")) }), "Go.", { store });
    ids.unshift(runId);
  }
  const listed = await store.list({ limit: 200 });
  assert.deepEqual(
    listed.map(({ id }) => id),
    ids,
  );
});
