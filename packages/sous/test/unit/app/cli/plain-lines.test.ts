/** The line about each event, with texts of any length: every field has its own cut, and nothing in it acts on a terminal. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { chooseStyle } from "../../../../src/app/cli/terminal/style.ts";
import { plainLine } from "../../../../src/app/cli/view/plain-lines.ts";
import { RunTree } from "../../../../src/app/cli/view/run-tree.ts";
import type { StoredEvent } from "../../../../src/core/event.ts";
import { ROWS, STORED_TYPES } from "../../../../src/core/words/event-rows.ts";
import { changed, EVERY_EVENT } from "../../../support/core/every-event.ts";

const style = chooseStyle({ color: "never", isAscii: false, isTerminal: false, env: {} });

function lineAbout(event: StoredEvent): string | undefined {
  const tree = new RunTree("→");
  tree.apply(EVERY_EVENT["run-start"]);
  tree.apply(event);
  return plainLine(event, tree, style);
}

/** The event with a text of 900 units in each of these fields. */
function long(type: StoredEvent["type"], ...fields: string[]): StoredEvent {
  return fields.reduce<StoredEvent>(
    (event, field) => changed(event, [field], "x".repeat(900)) as StoredEvent,
    EVERY_EVENT[type],
  );
}

const cut = (length: number): string => `${"x".repeat(length)}...`;

test("a long text is cut in its own field, and the rest of the line stays", () => {
  const lines = [
    long("outside-session", "server"),
    long("spawn-refused", "label", "message"),
    long("stalled", "waitingFor"),
    long("budget-warning", "message"),
    long("steer", "text"),
    long("approval-request", "toolName", "toolReason"),
  ].map(lineAbout);
  assert.deepEqual(lines, [
    `lead  continues a session of ${cut(80)}`,
    `lead  refused ${cut(80)}: ${cut(400)}`,
    `lead  silent for 60s, waits for ${cut(80)}`,
    `lead  ${cut(400)}`,
    `lead  is told: ${cut(400)}`,
    `lead  wants: ${cut(80)} (${cut(200)})`,
  ]);
});

test("the line about every stored event says what it has always said", () => {
  const lines = STORED_TYPES.map((type) => [type, lineAbout(EVERY_EVENT[type])]);
  assert.deepEqual(
    lines.filter(([, line]) => line !== undefined),
    [
      ["run-start", "lead  starts: Look."],
      ["tool-call-end", "lead  grep  → failed: nothing"],
      ["outside-session", "lead  continues a session of claude"],
      ["outside-call", "lead  Bash  npm test  → failed: 3 failed"],
      ["approval-request", "lead  wants: write (Its description has changed.)"],
      ["approval-end", "lead  not allowed"],
      ["budget-warning", "lead  Token limit exceeded: 1200/1000"],
      ["retry", "lead  asks again in 0.5s (overloaded)"],
      ["prune", "lead  dropped 4 old messages to make room"],
      ["truncation", "lead  cut a report to 4096 of 9000 bytes"],
      ["spawn-refused", "lead  refused scout: Token limit exceeded: 12/10"],
      ["placed", "lead  placed scout"],
      ["stalled", "lead  silent for 60s, waits for the model"],
      ["steer", "lead  is told: Look closely."],
      ["resume", "lead  is taken by two on host-b"],
      ["run-end", "lead  ✗ failed (2 turns · 3 tools · ~12 tok · $0.03 · 1.2s)"],
    ],
  );
});

test("no text in an event acts on the terminal of its reader", () => {
  const codes = "a\u001b]0;owned\u0007\u001b[2J\u009b2J\u202e\u2028\u{e0041}\rx";
  for (const type of STORED_TYPES) {
    for (const [field, word] of Object.entries(ROWS[type].fields)) {
      if (!/^(?:id|text|json)\??$/.test(word)) continue;
      const line = lineAbout(changed(EVERY_EVENT[type], [field], codes) as StoredEvent);
      assert.doesNotMatch(line ?? "", /[\p{Cc}\p{Cf}\u2028\u2029]/u, `${type}.${field}`);
    }
  }
});
