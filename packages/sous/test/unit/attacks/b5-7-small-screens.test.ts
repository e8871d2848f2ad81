/** B5.7: a screen on which the rows of a question cannot be seen gives no yes; a larger one does. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { chatFrame } from "../../../src/app/cli/chat/chat-view.ts";
import { emptyEditor } from "../../../src/app/cli/chat/editor.ts";
import type { Key } from "../../../src/app/cli/chat/keys.ts";
import { PromptLine } from "../../../src/app/cli/chat/prompt-line.ts";
import { QuestionKeys, Questions } from "../../../src/app/cli/chat/questions.ts";
import { Transcript } from "../../../src/app/cli/chat/transcript.ts";
import { LiveScreen } from "../../../src/app/cli/terminal/live-screen.ts";
import { chooseStyle } from "../../../src/app/cli/terminal/style.ts";
import type { ApprovalAnswer } from "../../../src/core/approval.ts";
import { describeAction } from "../../../src/runtime/rights/action-text.ts";
import { VirtualClock } from "../../../src/testing/world.ts";
import { noLinks, requestFor } from "../../support/runtime/rights/requests.ts";

const STYLE = chooseStyle({ color: "never", isAscii: false, isTerminal: true, env: {} });
const SHORT = "echo short";
const LONG = Array.from({ length: 40 }, (_, index) => `echo row-${index}`).join("\n");

/** A question on a screen of this size, and keys that are pressed long after each frame. */
function ask(command: string, columns: number, rows: number) {
  const clock = new VirtualClock(0);
  const line = new PromptLine([]);
  const answers: ApprovalAnswer[] = [];
  const questions = new Questions(
    (request) => describeAction(request, { width: Number.POSITIVE_INFINITY, realPath: noLinks }),
    () => {},
  );
  const application = { clock, remember: () => {} } as never;
  const keys = new QuestionKeys({ questions, application, style: STYLE, line, say: () => {} });
  const transcript = new Transcript(STYLE);
  const screen = { columns, rows, write: () => {} };
  const live = new LiveScreen({
    screen,
    clock,
    isMoving: () => false,
    draw(size) {
      const { first, count } = questions;
      const question = first && { first, count, isHeld: keys.isHeld, top: keys.top };
      const hint = line.hint;
      const scene = { transcript, editor: emptyEditor(), purpose: undefined, selected: undefined, now: 0 };
      const frame = chatFrame({ ...scene, question, hint }, size, STYLE);
      keys.drawn(frame.question);
      return frame;
    },
  });
  const given = questions.ask(requestFor("terminal", { command }), new AbortController().signal);
  void Promise.resolve(given).then((answer) => answers.push(answer));
  const draw = (): void => {
    live.refresh();
    clock.fireNext(() => 0);
    clock.timer(2000, () => {});
    clock.fireNext(() => 0);
  };
  draw();
  return {
    answers,
    line,
    async press(...names: string[]): Promise<void> {
      for (const name of names) {
        keys.takes((name.length === 1 ? { type: "text", text: name } : { type: "key", name }) as Key);
        draw();
      }
      await new Promise(setImmediate);
    },
    resize(wide: number, high: number): void {
      screen.columns = wide;
      screen.rows = high;
      draw();
    },
  };
}

const PAGES = Array.from({ length: 60 }, () => [" ", "y", "a"]).flat();

suite("B5.7: a yes on a screen that is too small", () => {
  for (const [columns, rows, command] of [
    [1, 24, SHORT],
    [10, 24, SHORT],
    [10, 24, LONG],
    [15, 14, SHORT],
    [15, 14, LONG],
    [19, 30, SHORT],
    [19, 30, LONG],
    [20, 3, SHORT],
    [20, 6, LONG],
    [24, 7, LONG],
    [80, 3, SHORT],
    [80, 3, LONG],
  ] as const) {
    test(`B5.7: ${command.length} characters at ${columns} × ${rows} cannot be allowed, and can be on a larger screen`, async () => {
      const asked = ask(command, columns, rows);
      await asked.press("y", "a", "v", "y", "a", ...PAGES, "end", "y");
      assert.deepEqual(asked.answers, []);
      assert.equal(asked.line.hint, "Too small to show the question");
      asked.resize(100, 60);
      await asked.press("escape", "y");
      assert.deepEqual(asked.answers, [{ allow: true }]);
    });
  }

  test("B5.7: the smallest screens on which a question fits can give a yes", async () => {
    for (const [columns, rows, command] of [
      [20, 12, SHORT],
      [24, 14, LONG],
    ] as const) {
      const asked = ask(command, columns, rows);
      await asked.press("v", ...PAGES.filter((key) => key === " "), "y");
      assert.deepEqual(asked.answers, [{ allow: true }], `${columns} × ${rows}`);
    }
  });
});
