/** When the variables of the machine are looked at again. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { systemHost } from "../../../../src/machine/host.ts";
import { redactorFor } from "../../../../src/runtime/tree/redaction.ts";
import { randomText } from "../../../support/runtime/secrets/made-up-keys.ts";

test("B3.3: a secret that is added, changed or renamed counts from the next look, and without a change all is kept", () => {
  const [first, second] = [randomText("first", 24), randomText("second", 24)];
  const environment: Record<string, string> = { ONE_TOKEN: first };
  let now = 0;
  const clock = { ...systemHost().clock, monotonic: () => now };
  const look = (later: number) => {
    now += later;
    return redactorFor({ environment, clock });
  };
  const before = look(0);
  assert.equal(before.text(`${first} ${second}`), `[redacted: ONE_TOKEN] ${second}`);
  assert.equal(look(5_000), before);
  environment.ONE_TOKEN = second;
  assert.equal(look(19), before, "trees that start together share a look");
  assert.equal(look(1).text(`${first} ${second}`), `${first} [redacted: ONE_TOKEN]`);
  delete environment.ONE_TOKEN;
  environment.TWO_TOKEN = second;
  assert.equal(look(20).text(second), "[redacted: TWO_TOKEN]");
  environment.ONE_TOKEN = first;
  assert.equal(look(20).text(`${first} ${second}`), "[redacted: ONE_TOKEN] [redacted: TWO_TOKEN]");
});
