/** The calls of an external agent are recorded bounded, without secrets, and the same when they are played again. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { NO_REDACTION } from "../../../src/core/clean-text.ts";
import type { ExternalCall } from "../../../src/core/external-agent.ts";
import { utf8Length } from "../../../src/core/usage.ts";
import { boundExternalCall } from "../../../src/runtime/loop/provider-activity.ts";
import { createRedactor } from "../../../src/runtime/secrets/redact.ts";
import { parseStoredEvent } from "../../../src/storage/store/event-schema.ts";
import { EVERY_EVENT } from "../../support/core/every-event.ts";
import { randomText } from "../../support/runtime/secrets/made-up-keys.ts";

const KEY = randomText("in an external call", 30);
const redactor = createRedactor([{ name: "SERVICE_KEY", value: KEY }]);

const CALL: ExternalCall = {
  callId: "t1",
  phase: "end",
  name: "Bash",
  kind: "execute",
  title: "npm test",
  input: { command: "npm test", options: [1, null, true] },
  output: "3 passed",
  isError: false,
};

function nested(levels: number): unknown {
  let value: unknown = KEY;
  for (let level = 0; level < levels; level++) value = [value];
  return value;
}

suite("B6.5: a call of an external agent", () => {
  test("a short call is recorded as it is", () => {
    assert.deepEqual(boundExternalCall(CALL, redactor), CALL);
  });

  test("a call has no result when it begins", () => {
    const { output: _output, isError: _isError, ...start } = CALL;
    assert.deepEqual(boundExternalCall({ ...CALL, phase: "start" }, redactor), { ...start, phase: "start" });
  });

  const long: [what: string, change: Partial<ExternalCall>][] = [
    ["long names", { callId: "c".repeat(9000), name: "é".repeat(9000), kind: "k".repeat(300), title: "𝒳".repeat(200) }],
    ["a long output", { output: `${"line\n".repeat(5000)}the end` }],
    ["an output of megabytes", { output: "é".repeat(2_000_000) }],
    ["a long input", { input: { text: '"\\'.repeat(50_000), more: "\u0001é".repeat(3000) } }],
    ["an input of many levels", { input: nested(20_000) }],
    ["an input without JSON", { input: { big: 1n } }],
    ["no input", { input: undefined }],
    ["codes of a terminal", { title: "\u001b[31mred", output: "\u001b]0;title\u0007\u009b" }],
    ["half a character", { title: "a\ud800", output: "\udc00" }],
    ["secrets", { title: `say ${KEY}`, input: { [KEY]: KEY }, output: `${"x".repeat(2000)}${KEY}`.repeat(3) }],
  ];
  for (const [what, change] of long) {
    test(`a call with ${what} is bounded, and recorded the same again`, () => {
      const kept = boundExternalCall({ ...CALL, ...change }, redactor);
      for (const text of [kept.callId, kept.name, kept.kind, kept.title]) assert.ok(text.length <= 200);
      assert.ok(utf8Length(JSON.stringify(kept.input)) <= 4096);
      assert.ok(utf8Length(kept.output ?? "") <= 4096);
      assert.ok(JSON.stringify(kept).isWellFormed());
      assert.ok(!JSON.stringify(kept).includes(KEY));
      assert.deepEqual(boundExternalCall(kept, redactor), kept);
      assert.deepEqual(parseStoredEvent({ ...EVERY_EVENT["outside-call"], ...kept }).type, "outside-call");
    });
  }

  test("a long output keeps its beginning and its end, and says what was cut", () => {
    const output = `first ${"x".repeat(20_000)} last`;
    const { output: kept = "" } = boundExternalCall({ ...CALL, output }, NO_REDACTION);
    assert.match(kept, /^first x+\n\[Notice: \d+ of 20011 bytes were cut here\]\nx+ last$/);
  });

  test("a call keeps no half of a secret where its text is cut", () => {
    for (let before = 160; before <= 200; before++) {
      const title = `${"x".repeat(before)}${KEY}`;
      assert.ok(!boundExternalCall({ ...CALL, title }, redactor).title.includes(KEY.slice(0, 8)));
    }
  });
});
