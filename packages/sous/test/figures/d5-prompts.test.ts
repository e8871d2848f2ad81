/** D5: the test of what is stored before an external agent is prompted finds a fault that is planted in the sources. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { importWithout } from "../support/mutation.ts";
import { storedAtPrompt } from "../support/runtime/stored-at-prompt.ts";

test("D5: a prompt on what is not stored is noticed", async () => {
  const { createRuntime } = await importWithout<typeof import("../../src/runtime.ts")>(
    import.meta.resolve("../../src/runtime.ts"),
    { guard: "store-before-prompt" },
  );
  assert.ok(!(await storedAtPrompt(createRuntime)).includes("turn-start"));
});
