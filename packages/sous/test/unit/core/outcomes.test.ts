/** The table of endings: what every door says of each, and how many files a new stop reason needs. */

import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { StoredEvent } from "../../../src/core/event.ts";
import type { RunStatus, StopReason } from "../../../src/core/outcome.ts";
import {
  endingRow,
  OUTCOMES,
  oneOf,
  RUN_STATUSES,
  STOP_REASON_WORDS,
  stopReasonOf,
  UNENDED_STATUSES,
} from "../../../src/core/words/outcomes.ts";
import { says } from "../../../src/testing/steps.ts";
import { ChangedSources, changedText } from "../../support/changed-sources.ts";
import { NEW_STOP_REASON } from "../../support/core/new-words.ts";
import { readGolden, runChanged } from "../../support/core/next-version.ts";
import { importChanged } from "../../support/mutation.ts";
import { rootFolder, sourceFiles } from "../../support/source-files.ts";
import { RESULT_JSON, sayingsOf } from "./ending-doors.ts";

/** Commit f58d199 said the same, when each door had its own words. */
const ENDINGS: readonly [status: RunStatus, stopReason: StopReason | undefined, sayings: readonly unknown[]][] = [
  ["completed", undefined, [0, "green +", "completed", "end_turn", "complete", "good", "completed"]],
  [
    "incomplete",
    "turns",
    [6, "yellow ~", "out of turns", "max_turn_requests", "incomplete", "half", "incomplete (turns)"],
  ],
  [
    "incomplete",
    "consent",
    [7, "yellow ~", "lacked approval", "end_turn", "incomplete", "half", "incomplete (consent)"],
  ],
  ["incomplete", undefined, [6, "yellow ~", "out of turns", "end_turn", "incomplete", "half", "incomplete"]],
  [
    "budget_exceeded",
    undefined,
    [5, "red x", "over budget", `max_tokens ${cut()}`, "budget_exceeded", "bad", "budget exceeded"],
  ],
  ["timeout", undefined, [6, "red x", "timed out", `max_turn_requests ${cut()}`, "timeout", "bad", "timeout"]],
  ["cancelled", undefined, [130, "yellow -", "cancelled", "cancelled", "cancelled", "bad", "cancelled"]],
  ["refused", undefined, [1, "red x", "model refused", "refusal", "refused", "bad", "refused"]],
  ["failed", undefined, [1, "red x", "failed", "fails: It stopped", "failed", "bad", "failed"]],
];

function cut(): string {
  return "It stopped. The answer may not be complete.";
}

suite("every door says what it has always said of", () => {
  for (const [status, stopReason, expected] of ENDINGS) {
    test(`a run that is ${status}${stopReason === undefined ? "" : ` because of ${stopReason}`}`, async () => {
      const { exit, look, words, editor, reported, page, markdown } = await sayingsOf({ status, stopReason });
      const [, badge] = /^<span class="badge (\w+)">/.exec(page) ?? [];
      assert.deepEqual([exit, look, words, editor, reported, badge, markdown], expected);
    });
  }
});

test("the model that asked for a child reads why it has no usable result", async () => {
  const said = RUN_STATUSES.map(async (status) => (await sayingsOf({ status, stopReason: undefined })).model);
  assert.deepEqual(
    (await Promise.all(said)).map((text) => text.slice(0, text.indexOf(" | "))),
    [
      "",
      "",
      "Subagent stopped",
      "Subagent stopped (scout)",
      "Subagent stopped (scout)",
      "The subagent's model refused the task",
      "Subagent failed: Subagent stopped",
    ],
  );
});

test("a stop reason counts only when the run is incomplete", async () => {
  for (const status of RUN_STATUSES.filter((each) => each !== "incomplete")) {
    const alone = await sayingsOf({ status, stopReason: undefined });
    for (const stopReason of STOP_REASON_WORDS) {
      assert.deepEqual(await sayingsOf({ status, stopReason }), alone, `${status}, ${stopReason}`);
      assert.equal(endingRow({ status, stopReason }), OUTCOMES[status]);
    }
  }
  for (const status of UNENDED_STATUSES) assert.equal(stopReasonOf({ status, stopReason: "turns" }), undefined);
});

test("a stop reason that a database made up is passed over", () => {
  for (const stopReason of [undefined, "", "later", "constructor", "toString", "__proto__", "hasOwnProperty"]) {
    assert.equal(stopReasonOf({ status: "incomplete", stopReason }), undefined);
    assert.equal(endingRow({ status: "incomplete", stopReason }), OUTCOMES.incomplete);
  }
});

test("a list of words is one sentence, however many there are", () => {
  assert.deepEqual(
    [oneOf([]), oneOf(["a"]), oneOf(["a", "b"], "`"), oneOf(["a", "b", "c"])],
    ["", "a", "`a` or `b`", "a, b or c"],
  );
});

test("a row of the table is all that the doors need for a new stop reason", async () => {
  const fileUrl = import.meta.resolve("../../../src/core/words/outcomes.ts");
  const path = "core/words/outcomes.ts";
  const text = changedText(path, readFileSync(fileURLToPath(fileUrl), "utf8"), NEW_STOP_REASON[path]);
  const changed = { fileUrl, text };
  const doors = await importChanged<typeof import("./ending-doors.ts")>(
    import.meta.resolve("./ending-doors.ts"),
    changed,
  );
  const { exit, words, person, editor, model, page, markdown, outOfTurns } = await doors.sayingsOf({
    status: "incomplete",
    stopReason: "patience" as StopReason,
  });
  assert.deepEqual([exit, words, editor, outOfTurns], [5, "out of patience", "refusal", [false, false]]);
  assert.equal(person, "warning: nobody waited for the run");
  assert.equal(model, " | [Notice: patience ran out in turn 4] Part. (subagent_id: a1)");
  assert.equal(page, '<span class="badge half">incomplete</span> (nobody waited)');
  assert.equal(markdown, "incomplete (patience)");
  const listed = "Why it is incomplete: `patience`, `turns` or `consent`.";
  assert.equal(doors.RESULT_JSON.find(({ name }) => name === "stop_reason")?.about, listed);
  assert.equal(doors.ATTRIBUTES["sous.stop_reason"].about, listed);
  assert.match(
    JSON.stringify(doors.REPORT_SCHEMA),
    /incomplete: patience of no one, or `turns`, or `consent`: an approval/,
  );
  const { exitCodesPage } = await importChanged<typeof import("../../../../../scripts/reference/exit-codes-page.ts")>(
    import.meta.resolve("../../../../../scripts/reference/exit-codes-page.ts"),
    changed,
  );
  assert.match(exitCodesPage(), /\| `incomplete` +\| `patience` +\| 5 +\|/);
  // The table as it is knows nothing of it.
  assert.doesNotMatch(JSON.stringify(RESULT_JSON), /patience/);
});

test("a run that ends for a new stop reason is stored in the next version, and journals of before are read", async () => {
  using sources = new ChangedSources(NEW_STOP_REASON);
  const endOf = ({ events }: { events: readonly StoredEvent[] }) => {
    const end = events.find((event) => event.type === "run-end");
    return [end?.status, end?.stopReason as string | undefined];
  };
  assert.deepEqual(endOf(await runChanged(sources, { lead: [says("I give up.")] })), ["incomplete", "patience"]);
  assert.deepEqual(endOf(await runChanged(sources, { lead: [says("Done.")] })), ["completed", undefined]);
  assert.ok((await readGolden(sources)).some((event) => event.type === "run-end" && event.stopReason === "turns"));
});

suite("three files know a stop reason: its type, its row, and the file that produces it", () => {
  const files = [
    ...sourceFiles().filter(({ path }) => !path.startsWith("testing/store-contract")),
    ...globSync("scripts/**/*.ts", { cwd: rootFolder }).map((path) => ({
      path,
      text: readFileSync(join(rootFolder, path), "utf8"),
    })),
  ];
  const OWNERS: Readonly<Record<StopReason, readonly string[]>> = {
    turns: ["core/outcome.ts", "core/words/outcomes.ts", "runtime/loop/ending.ts"],
    consent: ["core/outcome.ts", "core/words/outcomes.ts"],
  };
  for (const word of STOP_REASON_WORDS) {
    test(`three files know the stop reason ${word}`, () => {
      const naming = files.filter(({ text }) => namesStopReason(text, word)).map(({ path }) => path);
      assert.deepEqual(naming, OWNERS[word]);
    });
  }

  test("the search finds a word that is compared, set, listed, used as a key or written in a description", () => {
    const planted = [
      'if (result.stopReason === "consent") return 7;',
      'return { status: "incomplete", stopReason: "consent" };',
      'node.stopReason = "consent";',
      "const { words } = STOP_REASONS.consent;",
      'const WORDS = { turns: "out of turns", consent: "an action needed approval" };',
      'stopReason: z.enum(["turns", "consent"]),',
      'switch (stopReason) {\n  case "turns":\n    return 1;\n  case "consent":\n    return 2;\n}',
      '"Why it is incomplete: `turns` or `consent`."',
      '"Why it is incomplete: `turns`, or `consent`: an approval that no one could give."',
    ];
    for (const text of planted) assert.ok(namesStopReason(text, "consent"), text);
    const others = [
      'throw new Refused("consent", message);',
      'if (errorType === "consent") return denied;',
      'type Sums = Pick<RunRecord, "turns" | "usage">;',
      "consent: 7,",
    ];
    for (const text of others) for (const word of STOP_REASON_WORDS) assert.ok(!namesStopReason(text, word), text);
  });
});

/** Whether a text uses the word as a stop reason. `consent` is also an error type, and `turns` are also counted. */
function namesStopReason(text: string, word: StopReason): boolean {
  const quoted = `["'\`]${word}["'\`]`;
  const forms = [
    // Compared, set, or listed in a schema or a type.
    `stop_?reason\\)? *(?:[!=]==|[=:]|\\?\\?)[^;\\n]*${quoted}`,
    `${quoted} [!=]== [\\w.]*stop_?reason\\b`,
    `switch \\([\\w.]*stop_?reason\\) \\{(?:(?!\\n\\}).)*?case ${quoted}`,
    // A key of a table of stop reasons.
    `stop_?reasons(?:\\.|\\[")${word}\\b`,
    `\\bturns: [{"].{0,800}?\\bconsent: [{"]`,
    // A description that lists them.
    `\\bturns\`?,? or \`?consent\\b`,
  ];
  return forms.some((form) => new RegExp(form, "is").test(text));
}
