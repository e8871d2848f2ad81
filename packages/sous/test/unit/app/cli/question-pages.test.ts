/** A question of the chat page by page: each row of it can be read, and y counts only once its end was in sight. */

import assert from "node:assert/strict";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { suite, test } from "node:test";
import type { Key } from "../../../../src/app/cli/chat/keys.ts";
import { LineAnswers } from "../../../../src/app/cli/chat/plain-chat.ts";
import { PromptLine } from "../../../../src/app/cli/chat/prompt-line.ts";
import { type QuestionPage, questionPage } from "../../../../src/app/cli/chat/question-view.ts";
import { MIN_SHOWN_MS, QuestionKeys, Questions } from "../../../../src/app/cli/chat/questions.ts";
import { chooseStyle } from "../../../../src/app/cli/terminal/style.ts";
import type { ApprovalAnswer } from "../../../../src/core/approval.ts";
import { describeAction } from "../../../../src/runtime/rights/action-text.ts";
import { HARM, HIDDEN_TEXTS } from "../../../support/runtime/rights/hidden-texts.ts";
import { readField, readRows } from "../../../support/runtime/rights/read-shown.ts";
import { noLinks, requestFor } from "../../../support/runtime/rights/requests.ts";

const STYLE = chooseStyle({ color: "never", isAscii: false, isTerminal: true, env: {} });
const MAX_PAGES = 2000;

/** A chat without its screen: what a person would see of the question, and their keys. */
class Reader {
  #now = 0;
  columns: number;
  rows: number;
  readonly answers: ApprovalAnswer[] = [];
  readonly questions: Questions;
  readonly #keys: QuestionKeys;
  #page: QuestionPage | undefined;

  constructor(columns: number, rows: number) {
    this.columns = columns;
    this.rows = rows;
    this.questions = new Questions(
      (request) => describeAction(request, { width: Number.POSITIVE_INFINITY, realPath: noLinks }),
      () => this.#keys?.onQuestion(),
    );
    const clock = { monotonic: () => this.#now };
    this.#keys = new QuestionKeys({
      questions: this.questions,
      application: { clock, remember: () => {} } as never,
      style: STYLE,
      line: new PromptLine([]),
      say: () => {},
    });
  }

  ask(content: string): this {
    const request = requestFor("write_file", { path: "a.txt", content }, { digest: "9f2c41aa" });
    const answer = this.questions.ask(request, new AbortController().signal);
    void Promise.resolve(answer).then((given) => this.answers.push(given));
    return this;
  }

  draw(): QuestionPage {
    const { first, count } = this.questions;
    assert.ok(first !== undefined);
    const scene = { first, count, isHeld: this.#keys.isHeld, top: this.#keys.top };
    this.#page = questionPage(scene, this.columns, this.rows, STYLE);
    assert.ok(!this.#page.isEndShown || this.#page.lines.length <= this.rows);
    this.#keys.drawn(this.#page);
    this.#now += MIN_SHOWN_MS;
    return this.#page;
  }

  /** The rows of the question in sight. */
  inSight(): string[] {
    const { lines } = this.draw();
    const ends = lines.findIndex((line) => /^ {2}(?:rows \d+ to|end of the question 9f2c41aa)/.test(line));
    const choices = lines.findIndex((line) => /^ {2}(?:y once|n no)/.test(line));
    return lines.slice(1, ends < 0 ? choices : ends).map((line) => line.slice(2));
  }

  press(...names: string[]): this {
    for (const name of names) {
      const key = (name.length === 1 ? { type: "text", text: name } : { type: "key", name }) as Key;
      this.#keys.takes(key);
      this.#now += 1000;
    }
    return this;
  }
}

const settled = () => new Promise(setImmediate);

suite("B5.7: a question of the chat that is longer than the screen", () => {
  for (const [how, text] of Object.entries(HIDDEN_TEXTS)) {
    test(`B5.7: text ${how} is read page by page, and y counts at its end`, async () => {
      for (const [columns, rows] of [
        [40, 8],
        [100, 12],
      ] as const) {
        const content = `${"line\n".repeat(12)}${text}`;
        const reader = new Reader(columns, rows).ask(content);
        assert.equal(reader.draw().isEndShown, false);
        reader.press("y", "a", "v");
        const rowsRead: string[] = [];
        for (let page = 0; !reader.draw().isEndShown; page++) {
          assert.ok(page < MAX_PAGES);
          rowsRead.push(...reader.inSight());
          reader.press("y", "a", " ");
        }
        // The last page begins with rows of the page before it.
        rowsRead.push(...reader.inSight().slice(rowsRead.length - reader.draw().lastTop));
        const [path, shown = ""] = readRows(rowsRead);
        assert.deepEqual([path, readField(shown)], ["a.txt", ["content", content]]);
        await settled();
        assert.deepEqual(reader.answers, []);
        reader.press("y");
        await settled();
        assert.deepEqual(reader.answers, [{ allow: true }]);
      }
    });
  }
});

suite("B5.7: a screen that changes while a question is read", () => {
  const content = `${"x".repeat(2000)}${HARM}${"y".repeat(2000)}`;

  test("B5.7: a screen of another width begins with the first row again, so that no row is passed over", async () => {
    for (const [before, after] of [
      [40, 100],
      [100, 40],
      [60, 61],
    ] as const) {
      const reader = new Reader(100, 10).ask(content);
      reader.columns = before;
      reader.draw();
      reader.press("v");
      reader.draw();
      reader.press("end", "up", "up");
      reader.draw();
      reader.columns = after;
      reader.draw();
      reader.press("y");
      const [first] = reader.inSight();
      assert.equal(first, "a.txt");
      await settled();
      assert.deepEqual(reader.answers, []);
    }
  });

  test("B5.7: a screen that becomes wide enough to show the end is no reading of it", async () => {
    const reader = new Reader(40, 10).ask(content);
    reader.draw();
    reader.press("v");
    for (let page = 0; page < 8; page++) {
      reader.draw();
      reader.press(" ");
    }
    reader.columns = 150;
    reader.draw();
    reader.press("y");
    await settled();
    assert.deepEqual(reader.answers, []);
  });

  test("B5.7: the end of one question is not the end of the next", async () => {
    const stop = new AbortController();
    const reader = new Reader(60, 10);
    const first = requestFor("write_file", { path: "b.txt", content: "short" });
    void reader.questions.ask(first, stop.signal);
    reader.ask(content);
    assert.equal(reader.draw().isEndShown, true);
    stop.abort();
    assert.equal(reader.draw().isEndShown, false);
    reader.press("y", "a");
    await settled();
    assert.deepEqual(reader.answers, []);
  });

  test("B5.7: a question of which only the end can be seen at once is not allowed before it", async () => {
    for (let rows = 3; rows <= 8; rows++) {
      const reader = new Reader(24, rows).ask(`a\nb\nc\nd\ne\nf\n${HARM}`);
      if (reader.draw().isEndShown) continue;
      reader.press("y", "a", "enter", "y");
      await settled();
      assert.deepEqual(reader.answers, [], `${rows} rows`);
    }
  });
});

suite("B5.7: a question of a chat without a screen", () => {
  for (const [how, text] of Object.entries(HIDDEN_TEXTS)) {
    test(`B5.7: text ${how} is printed whole, and the end of it is behind its last line`, async () => {
      const told: string[] = [];
      let whole: readonly string[] = [];
      const tell = (said: string): void => void told.push(said);
      const tellWhole = (said: readonly string[]): void => {
        whole = said;
      };
      const reader = createInterface({ input: Readable.from([]) });
      const lines = new LineAnswers({ reader, clock: { monotonic: () => 0 }, tell, tellWhole });
      const questions = new Questions(
        (request) => describeAction(request, { width: Number.POSITIVE_INFINITY, realPath: noLinks }),
        () => {},
      );
      const request = requestFor("write_file", { path: "a.txt", content: text }, { digest: "9f2c41aa" });
      const answer = questions.ask(request, new AbortController().signal);
      await lines.answer(questions);
      // The end of the input is a no.
      assert.deepEqual(await answer, { allow: false });
      const [end = ""] = told;
      const [title, ...rows] = whole;
      assert.equal(title, "lead/scout wants to use write_file");
      for (const row of rows) assert.ok(row.startsWith("  "), row);
      const [path, field = ""] = readRows(rows.map((row) => row.slice(2)));
      assert.deepEqual([path, readField(field)], ["a.txt", ["content", text]]);
      assert.match(end, /^end of the question 9f2c41aa: y once, n no; /);
    });
  }
});
