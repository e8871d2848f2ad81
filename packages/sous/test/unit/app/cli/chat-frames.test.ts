/** The frames of a chat and the lines it leaves in the scrollback, for terminals of several sizes: pictures to compare with. */

import { suite, test } from "node:test";
import { type ChatScene, chatFrame } from "../../../../src/app/cli/chat/chat-view.ts";
import { edit, emptyEditor, insert, withText } from "../../../../src/app/cli/chat/editor.ts";
import type { KeyName } from "../../../../src/app/cli/chat/keys.ts";
import { Transcript } from "../../../../src/app/cli/chat/transcript.ts";
import { chooseStyle } from "../../../../src/app/cli/terminal/style.ts";
import { assertGolden } from "../../../support/app/cli/golden.ts";
import { everyEnding, START, Story, sixOfTenThousand, threeChildren } from "../../../support/app/cli/sample-events.ts";

const STYLE = chooseStyle({ color: "never", isAscii: false, isTerminal: true, env: {} });
const SIZES = [
  { columns: 20, rows: 4 },
  { columns: 34, rows: 10 },
  { columns: 61, rows: 13 },
  { columns: 80, rows: 25 },
  { columns: 100, rows: 40 },
];

type Question = NonNullable<ChatScene["question"]>;

function questionOf(lines: string[], count: number, isHeld: boolean, top?: number): Question {
  const rule = { effect: "allow", pattern: "terminal(make)", origin: "" } as const;
  const action = { title: "main/api-docs wants to use terminal", lines, why: ["no rule covers it"], rule };
  const who = { runId: "r", path: "main", agent: "main", above: [], callId: "c" };
  const request = { ...who, toolName: "terminal", input: {}, cwd: "/", digest: "9f2c41aa" };
  return { first: { request, action }, count, isHeld, top };
}

function linesOf(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `line ${index + 1} of the command`);
}

const SCENES: Record<string, { tell?: typeof threeChildren; says?: string } & Partial<ChatScene>> = {
  empty: {},
  "typed text": { editor: withText(emptyEditor(), "one line\nand 漢字 of another that is long ".repeat(4)) },
  "typed text, the cursor in its middle": { editor: withText(emptyEditor(), "word ".repeat(60), 77) },
  "three children": { tell: threeChildren },
  "three children and an answer": { tell: threeChildren, says: "**Two** things are said here, at length. ".repeat(20) },
  "a chosen child": { tell: threeChildren, selected: "main/tests", purpose: "main/tests" },
  "a hint": { tell: sixOfTenThousand, hint: "choices: /agents /budget /clear /compact /cost /exit /fork /help" },
  "a question": { tell: threeChildren, question: questionOf(["npm run openapi:build"], 1, false) },
  "a long question of three": {
    tell: threeChildren,
    question: questionOf(linesOf(9), 3, true),
  },
  "a question that is longer than the screen": { question: questionOf(linesOf(60), 1, false) },
  "the middle of it": { question: questionOf(linesOf(60), 1, false, 20) },
  "the end of it": { question: questionOf(linesOf(60), 1, false, 60) },
};

suite("frames", () => {
  for (const [name, { tell, says, ...more }] of Object.entries(SCENES)) {
    test(`the frames of ${name} are as they were`, () => {
      const pictures = SIZES.flatMap((size) => {
        const transcript = new Transcript(STYLE);
        const story = tell?.((event) => void transcript.apply(event, size.columns - 1));
        if (says !== undefined) story?.says("main", 70, says);
        const scene = {
          transcript,
          editor: emptyEditor(),
          purpose: undefined,
          question: undefined,
          selected: undefined,
          hint: undefined,
          now: START + 72_000,
          ...more,
        };
        const { lines, cursor, question } = chatFrame(scene, size, STYLE);
        const head = `== ${size.columns} × ${size.rows}, cursor ${cursor.row}:${cursor.column}`;
        return [`${head}${question?.isEndShown === false ? ", its end is not in sight" : ""}`, ...lines];
      });
      assertGolden(`frame-${name.replaceAll(/[ ,]+/g, "-")}.txt`, pictures);
    });
  }
});

/** A run with tools, a failed one among them, an answer that is begun twice, and children that say what they do. */
function eventful(listener: ConstructorParameters<typeof Story>[0]): Story {
  const story = new Story(listener);
  story.starts("lead", 0, "Look around");
  story.calls("lead", 1, "terminal", { command: "seq 30" });
  story.gets("lead", 2, "terminal", Array.from({ length: 30 }, (_, index) => `${index + 1}`).join("\n"));
  story.calls("lead", 3, "read_file", { path: "src/a/rather/long/path/to/some/file/of/the/project.ts" });
  const failed = { output: "No file at\u001b[2J src.", isError: true, durationMs: 5, metadata: undefined };
  story.tell("lead", 4, { type: "tool-call-end", callId: "lead read_file", toolName: "read_file", ...failed });
  story.starts("lead/one", 4, "First part");
  story.starts("lead/two", 4, "Second part");
  story.calls("lead/one", 5, "grep", { pattern: "x" });
  story.gets("lead/one", 5, "grep", "a.ts:1:x");
  for (let index = 0; index < 12; index++) {
    story.calls("lead/two", 6, "read_file", { path: `part-${index}.ts` });
    story.gets("lead/two", 6, "read_file", "1\tx", { lines: 1 });
  }
  story.ends("lead/one", 7, { text: "Found x." });
  story.says("lead", 8, "The first words of an answer");
  const spent = { inputTokens: 9, outputTokens: 9, cachedInputTokens: 0, cacheWriteTokens: 0, totalTokens: 18 };
  story.tell("lead", 8, {
    type: "retry",
    attempt: 1,
    delayMs: 1000,
    kind: "overloaded",
    message: "anthropic/x is overloaded or failing",
    spent: { ...spent, estimated: true },
    costUsd: null,
  });
  story.says("lead", 9, "The first words");
  story.says("lead", 9, " of an answer, and more.\n");
  return story;
}

suite("the scrollback", () => {
  for (const [name, tell] of Object.entries({ everyEnding, threeChildren, sixOfTenThousand, eventful })) {
    for (const isExpanded of [false, true]) {
      test(`the scrollback of ${name} is as it was${isExpanded ? ", expanded" : ""}`, () => {
        const lines = [34, 61, 100].flatMap((columns) => {
          const transcript = new Transcript(STYLE);
          transcript.isExpanded = isExpanded;
          const done: string[] = [];
          tell((event) => done.push(...transcript.apply(event, columns)));
          const view = { now: START + 72_000, columns, maxLines: 14, frame: 0, style: STYLE };
          const work = transcript.workLines({ ...view, selected: undefined });
          const chosen = transcript.workLines({ ...view, selected: transcript.drawnPaths().at(-1) });
          return [`== ${columns}`, ...done, "-- now", ...work, "-- the last one chosen", ...chosen];
        });
        assertGolden(`scrollback-${name}${isExpanded ? "-expanded" : ""}.txt`, lines);
      });
    }
  }
});

test("every key of the line does the same at the same place, whatever the characters around it", () => {
  const KEYS: readonly KeyName[] = [
    "left",
    "right",
    "up",
    "down",
    "home",
    "end",
    "backspace",
    "delete",
    "word-left",
    "word-right",
    "kill-word-left",
    "kill-word-right",
    "kill-to-start",
    "kill-to-end",
    "new-line",
    "yank",
  ];
  const texts = ["one two", "漢字 かな", "a👩‍👩‍👧b é", "line 1\nline two\n\nfour", "  x  ", "", `${"ab".repeat(40)}`];
  const lines = texts.flatMap((text) =>
    [0, 1, 3, Math.floor(text.length / 2), text.length].flatMap((at) => {
      const editor = withText(emptyEditor(["earlier", "later one"]), text, Math.min(at, text.length));
      const after = KEYS.map((name) => {
        const { text: now, cursor } = edit(editor, { type: "key", name }) ?? { text: "-", cursor: 0 };
        return `  ${name}: ${JSON.stringify(now)} ${cursor}`;
      });
      const put = insert(editor, "x\r\ny\u0007");
      return [`${JSON.stringify(text)} at ${at}`, ...after, `  text: ${JSON.stringify(put.text)} ${put.cursor}`];
    }),
  );
  assertGolden("editor-keys.txt", lines);
});
