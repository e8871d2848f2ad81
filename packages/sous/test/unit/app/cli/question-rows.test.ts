/** Questions at every width: a person sees where two of them differ, also by one space at the end of a row. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { suite, test } from "node:test";
import fc from "fast-check";
import { LineAnswers } from "../../../../src/app/cli/chat/plain-chat.ts";
import { questionPage } from "../../../../src/app/cli/chat/question-view.ts";
import { Questions } from "../../../../src/app/cli/chat/questions.ts";
import { questionsSentence } from "../../../../src/app/cli/run/questions.ts";
import { type Output, openOutput } from "../../../../src/app/cli/terminal/output.ts";
import { chooseStyle } from "../../../../src/app/cli/terminal/style.ts";
import { brokenRows, wholeRows } from "../../../../src/app/cli/terminal/whole-rows.ts";
import type { ApprovalRequest } from "../../../../src/core/approval.ts";
import { actionText, describeAction } from "../../../../src/runtime/rights/action-text.ts";
import { undone } from "../../../support/runtime/rights/read-shown.ts";
import { noLinks, requestFor } from "../../../support/runtime/rights/requests.ts";
import { rootFolder } from "../../../support/source-files.ts";

const STYLE = chooseStyle({ color: "never", isAscii: false, isTerminal: true, env: {} });

/** A terminal of this width, and what a person sees on it: no blanks at the end of a row. */
function terminal(columns: number): { output: Output; seen: () => string } {
  let written = "";
  const stream = { isTTY: true, columns, write: (text: string) => (written += text) };
  const output = openOutput(stream as never, { color: "never", ascii: false });
  return { output, seen: () => written.replace(/ +$/gm, "") };
}

const FLAGS = { dbPath: undefined, configFile: undefined };

const describe = (request: ApprovalRequest) =>
  describeAction(request, { width: Number.POSITIVE_INFINITY, realPath: noLinks });
const openQuestion = (request: ApprovalRequest) => {
  const { path, toolName, input } = request;
  return { id: "5", digest: "", path, toolName, input, action: actionText(request, { realPath: noLinks }) };
};

/** What a person sees of a question at each place where one is asked. */
const DOORS: Readonly<Record<string, (request: ApprovalRequest, columns: number) => string>> = {
  "a chat": (request, columns) => {
    const scene = { first: { request, action: describe(request) }, count: 1, isHeld: false, top: undefined };
    return questionPage(scene, columns - 1, 1e6, STYLE)
      .lines.join("\n")
      .replace(/ +$/gm, "");
  },
  "a chat in lines": (request, columns) => {
    const { output, seen } = terminal(columns);
    const reader = createInterface({ input: Readable.from([]) });
    const lines = new LineAnswers({
      reader,
      clock: { monotonic: () => 0 },
      tell: () => {},
      tellWhole: output.printWhole,
    });
    const questions = new Questions(describe, () => {});
    void questions.ask(request, new AbortController().signal);
    void lines.answer(questions);
    reader.close();
    return seen();
  },
  "sous run --park": (request, columns) => {
    const { output, seen } = terminal(columns);
    output.printReport(questionsSentence([openQuestion(request)], "run", FLAGS));
    return seen();
  },
  "sous replay --tree": (request, columns) => {
    const { output, seen } = terminal(columns);
    output.printWhole(questionsSentence([openQuestion(request)], "run", FLAGS).split("\n"));
    return seen();
  },
};

const word = fc
  .tuple(fc.constantFrom("x", "/", "é", "漢", "-f"), fc.integer({ min: 1, max: 130 }))
  .map(([each, length]) => each.repeat(length));
const command = fc
  .tuple(fc.array(word, { minLength: 1, maxLength: 5 }), fc.constantFrom(" ", "  "))
  .map(([words, between]) => words.join(between));
const pair = fc
  .tuple(command, fc.double({ min: 0, max: 1, noNaN: true }))
  .map(([one, where]) => [one, withSpaceAt(one, Math.round(where * one.length))] as const);

function withSpaceAt(text: string, at: number): string {
  return `${text.slice(0, at)} ${text.slice(at)}`;
}

suite("B5.7: two questions that differ in one space", () => {
  const asks: Readonly<Record<string, (text: string) => ApprovalRequest>> = {
    "in a command": (text) => requestFor("terminal", { command: text }),
    "in the content of a file": (text) => requestFor("write_file", { path: "a.txt", content: `a\n${text}\nb` }),
    "in the name of a tool": (text) =>
      requestFor("srv__x", {}, { origin: { server: "srv", tool: text, definition: "1" } }),
  };
  for (const [door, see] of Object.entries(DOORS)) {
    for (const [where, ask] of Object.entries(asks)) {
      test(`B5.7: ${where} are seen as two by a person at ${door}, at widths of 20 to 120`, () => {
        const check = ([one, other]: readonly [string, string], columns: number): void =>
          assert.notEqual(see(ask(one), columns), see(ask(other), columns));
        fc.assert(fc.property(pair, fc.integer({ min: 20, max: 120 }), check), { numRuns: 150 });
      });
    }

    test(`B5.7: at each break of ${door} one space more is seen, at widths of 20 to 120`, () => {
      for (let columns = 20; columns <= 120; columns += 4) {
        for (let length = columns - 24; length <= columns + 4; length++) {
          const before = `rm -rf ./${"b".repeat(Math.max(0, length))}`;
          const shown = [`${before}* ok`, `${before} * ok`, `${before}*  ok`, `${before}* ok `].map((each) =>
            see(requestFor("terminal", { command: each }), columns),
          );
          assert.equal(new Set(shown).size, shown.length, `${columns} columns\n${shown.join("\n")}`);
        }
      }
    });
  }

  test("B5.7: a chat that becomes narrower while it asks breaks the question again", () => {
    const see = DOORS["a chat"];
    assert.ok(see);
    const action = describe(requestFor("terminal", { command: `${"a ".repeat(60)}b` }));
    const first = { request: requestFor("terminal", {}), action };
    const scene = { first, count: 1, isHeld: false, top: undefined };
    for (const columns of [120, 60, 20]) {
      const { lines } = questionPage(scene, columns, 1e6, STYLE);
      const rows = lines.filter((line) => /^ +a(?: a)*(?: b)?$/.test(line));
      for (const row of rows) assert.ok(row.length <= columns, row);
      assert.equal(rows.map((row, index) => row.slice(index === 0 ? 2 : 4)).join(""), `${"a ".repeat(60)}b`);
    }
  });
});

suite("B5.7: rows of a question", () => {
  test("B5.7: the rows of a text together are the text, fit, and end with no blank", () => {
    const text = fc.array(fc.oneof(word, fc.constantFrom(" ", "  ", "| ", " · ")), { maxLength: 12 });
    const check = (pieces: string[], columns: number, atWords: boolean): void => {
      const whole = `${pieces.join("")}.`;
      const rows = brokenRows(whole, columns, atWords);
      assert.equal(rows.join(""), whole);
      for (const row of rows) {
        assert.ok([...row].reduce((width, each) => width + (each <= "~" ? 1 : 2), 0) <= columns);
        assert.doesNotMatch(row, / $/);
      }
    };
    // A question writes longer gaps as their length.
    const short = text.filter((pieces) => !pieces.join("").includes(" ".repeat(9)));
    fc.assert(fc.property(short, fc.integer({ min: 12, max: 120 }), fc.boolean(), check), { numRuns: 500 });
  });

  test("B5.7: the last blank of a text is written as its number, and can be undone", () => {
    assert.deepEqual(wholeRows("ls ", 40), ["ls<U+0020>"]);
    assert.equal(undone(wholeRows("ls  ", 40).join("")), "ls  ");
    assert.deepEqual(wholeRows("| ", 40), ["| "]);
    assert.deepEqual(wholeRows("ls <12 spaces> ", 40), ["ls <12 spaces> "]);
  });
});

test("B5.7: the page about rules describes every mark of a question", () => {
  const page = readFileSync(join(rootFolder, "docs/reference/permissions.md"), "utf8");
  const command = `a${" ".repeat(9)}b\u202e<12 spaces>${"\n".repeat(5)}c`;
  const shown = describe(requestFor("srv__tool", { text: command, number: 5 })).lines.join("\n");
  const marks = ["<U+202E>", "a <7 spaces> b", "<U+003C>12 spaces>", "<4 empty lines>", "number = 5"];
  for (const mark of marks) {
    assert.ok(shown.includes(mark), `${mark} in ${shown}`);
    assert.ok(page.includes(mark.replace("number", "name")), mark);
  }
  for (const row of wholeRows("x ", 20)) assert.ok(page.includes(row.slice(1)), row);
});
