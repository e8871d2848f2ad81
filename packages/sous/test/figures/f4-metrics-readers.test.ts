/** F4: every form in which a program asks for metrics and never reads them. `npm test` has one of each kind. */

import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { Endpoint, MAX_GROWTH, testForms } from "../support/bridges/telemetry/greedy-readers.ts";

suite("F4: programs that never read, in every form", () => {
  const endpoint = new Endpoint();
  let memory = 0;
  before(async () => {
    await endpoint.opened();
    memory = await endpoint.memory("!");
  });
  after(() => endpoint.close());

  testForms(endpoint, "all");

  test("F4: nothing of all these connections is kept", async () => {
    const grown = (await endpoint.memory("!")) - memory;
    assert.ok(grown < MAX_GROWTH, `${grown} bytes more`);
  });
});
