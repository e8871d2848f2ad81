/** B5.7: a question is the whole action, written so that all of it can be read back, or there is no question. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import fc from "fast-check";
import type { ApprovalRequest, AskedCall } from "../../../src/core/approval.ts";
import { actionText, describeAction } from "../../../src/runtime/rights/action-text.ts";
import { questionDigest } from "../../../src/runtime/rights/question.ts";
import { createValueRedactor } from "../../../src/runtime/secrets/redact.ts";
import { HIDDEN_TEXTS } from "../../support/runtime/rights/hidden-texts.ts";
import { readActionText, readField, readRows, undone } from "../../support/runtime/rights/read-shown.ts";
import { noLinks, requestFor } from "../../support/runtime/rights/requests.ts";
import { codePoint } from "../code-point.ts";

const SECRET = "correct-horse-battery-9";
const secrets = createValueRedactor([{ name: "API_KEY", value: SECRET }]);

const PIECES = [
  ..."a b;\n\t\r\b\0|<>:·=\"'\\`$",
  "  ",
  "\n\n\n\n",
  " ".repeat(9),
  " ".repeat(40),
  "\u001b[2K",
  "\u202e",
  "\u2066",
  "\u200b",
  "\u00a0",
  "\u2800",
  "\u{e0041}",
  "\ud83d",
  "\ude00",
  "漢字",
  "<U+001B>",
  "<U+003C>",
  "<12 spaces>",
  " <12 spaces> ",
  "\n<12 empty lines>\n",
  "\n| ",
  "\n  ",
  " · ",
  ": ",
  "x = 1",
  "path: a",
  "asked because of a rule",
  "end of question 5: approve it as 5:00000000",
  SECRET,
];
const LONG = ["x".repeat(450), "line\n".repeat(1000), "\n".repeat(500), ...Object.values(HIDDEN_TEXTS)];

const piece = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(...PIECES) },
  { weight: 4, arbitrary: codePoint },
  { weight: 1, arbitrary: fc.constantFrom(...LONG) },
);
const text = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(""));
const value = fc.oneof(
  { weight: 4, arbitrary: text },
  { weight: 1, arbitrary: fc.oneof(fc.integer(), fc.boolean(), fc.constant(null), fc.array(text, { maxLength: 3 })) },
  { weight: 1, arbitrary: fc.dictionary(text, text, { maxKeys: 2, noNullPrototype: true }) },
);
const name = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom("body", "title", "note", "a-b", "$c", "_") },
  { weight: 1, arbitrary: text },
);
const fields = fc.dictionary(name, value, { maxKeys: 3, noNullPrototype: true });

/** The first row of the question stands for this field, where it says the same. */
type Call = { toolName: string; input: Record<string, unknown>; main?: string; first?: string };

const withFields = (more: object, call: Omit<Call, "input">) =>
  fields.map((others): Call => ({ ...call, input: { ...others, ...more } }));
const agentName = fc.constantFrom("scout", "editor", "a child without a definition", "a, b");

const call: fc.Arbitrary<Call> = fc.oneof(
  // A tool takes no empty command.
  text
    .map((rest) => `x${rest}`)
    .chain((command) => withFields({ command }, { toolName: "terminal", main: "command", first: command })),
  fc
    .tuple(fc.constantFrom("write_file", "edit_file"), fc.constantFrom("src/a.ts", "./a/../b", "\u202eb\n| c"), text)
    .chain(([toolName, path, content]) => {
      const fit = toolName === "write_file" ? { path, content } : { path, old: content, new: `${content}x` };
      return withFields(fit, { toolName, main: "path", first: path.replace("./a/../", "") });
    }),
  text.chain((end) => {
    const url = `https://example.com/${end}`;
    return withFields({ url }, { toolName: "fetch", first: "example.com" });
  }),
  agentName.chain((agent) =>
    withFields({ agent, task_prompt: "x" }, { toolName: "subagent", main: "agent", first: agent }),
  ),
  withFields({}, { toolName: "subagent", first: "a child without a definition" }),
  fc.array(text, { maxLength: 3 }).chain((prompts) => {
    const tasks = prompts.map((task_prompt) => ({ agent: "scout", task_prompt }));
    return withFields({ tasks }, { toolName: "parallel_subagent", first: tasks.map(() => "scout").join(", ") });
  }),
  text.chain((serverName) => {
    const first = `${serverName} (an external agent, with tools of its own)`;
    return withFields({ serverName }, { toolName: "delegate_to_agent", main: "serverName", first });
  }),
  withFields({}, { toolName: "github__create_issue" }),
  withFields({}, { toolName: "unknown_tool" }),
);

const options = { realPath: noLinks };

/** The input that the rows of a question stand for. */
function readInput(entries: readonly string[], { toolName, main, first, input }: Call): Record<string, unknown> {
  const [head, ...others] = entries;
  const expected = first === undefined ? undefined : secrets.text(first.toWellFormed());
  const isHead = first !== undefined && head?.toWellFormed() === expected;
  assert.ok(isHead || first === undefined || toolName === "delegate_to_agent", `${head} is not ${expected}`);
  const read = Object.fromEntries((isHead ? others : entries).map(readField));
  if (main === undefined || main in read || !isHead) return read;
  return { ...read, [main]: main === "serverName" ? secrets.text(String(input[main])) : head };
}

function askedOf({ runId, callId, toolName, input, origin, target }: ApprovalRequest): AskedCall {
  return { type: "approval-request", runId, callId, toolName, input, origin, target };
}

suite("B5.7: a question is the whole action", () => {
  test("B5.7: each of 2,000 actions can be read back from its question, secrets aside, at every width, and no two have one question", () => {
    const seen = new Map<string, string>();
    const check = (made: Call, width: number): void => {
      const whole = requestFor(made.toolName, made.input);
      const input = secrets.value(made.input) as Record<string, unknown>;
      const request = { ...whole, input };
      const line = actionText(request, options);
      const rows = describeAction(request, { ...options, width });
      for (const entries of [readActionText(line).entries, readRows(rows.lines)])
        assert.deepEqual(readInput(entries, made), input);
      for (const shown of [line, ...rows.lines]) {
        assert.ok(!shown.includes(SECRET));
        assert.doesNotMatch(shown, /(?![\n ])[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u);
      }
      assert.ok(line.includes("\n") || line.length <= 400);
      const json = JSON.stringify(Object.entries(made.input).sort());
      const key = `${line}\n${questionDigest(askedOf(whole))}`;
      assert.equal(seen.get(key) ?? json, json);
      seen.set(key, json);
    };
    fc.assert(fc.property(call, fc.constantFrom(1, 20, 76, 100_000), check), { numRuns: 2000 });
  });

  test("B5.7: two actions of one tool that differ in one place have two texts", () => {
    const pairs: [tool: string, one: object, other: object][] = [
      ["subagent", { agent: "a child without a definition" }, {}],
      ["srv__t", { a: "·", b: "c" }, { a: "", "·": "", b: "c" }],
      ["srv__t", { a: "x · b: c" }, { a: "x", b: "c" }],
      ["srv__t", { a: "1" }, { a: 1 }],
      ["srv__t", { a: "b\nc: d" }, { a: "b", c: "d" }],
      ["srv__t", { "a: b": "c" }, { a: "b: c" }],
      ["terminal", { command: "ls · cwd: a" }, { command: "ls", cwd: "a" }],
      ["terminal", { command: "ls\n| rm" }, { command: "ls\nrm" }],
    ];
    for (const [tool, ...inputs] of pairs) {
      const [one, other] = inputs.map((input) => actionText(requestFor(tool, input), options));
      assert.notEqual(one, other);
    }
    const dots = readActionText(actionText(requestFor("srv__t", { a: "·", b: "c" }), options)).entries;
    assert.deepEqual(dots.map(readField), [
      ["a", "·"],
      ["b", "c"],
    ]);
  });

  test("B5.7: the marks of a question are undone to the character they were made from", () => {
    const marked = "<U+001B><U+003C>12 spaces> <U+003C>U+003C>";
    assert.equal(undone(marked), "\u001b<12 spaces> <U+003C>");
  });

  test("B5.7: names that a server has chosen do not pass for a part of the action, nor a part of the action for them", () => {
    const of = (tool: string, input: object) => {
      const origin = { server: "bad", tool, definition: "1" };
      return actionText(requestFor("bad__tool", input, { origin }), options);
    };
    const parts = ["a", "b: c", "d · e: f", "g = 1", "h:", ": i"];
    const seen = new Map<string, string>();
    for (const tool of parts) {
      for (const field of parts) {
        for (const content of parts) {
          const shown = of(`tool${tool}`, { [field]: content, [`${field}x`]: `${content}: y` });
          const who = JSON.stringify([tool, field, content]);
          assert.equal(seen.get(shown) ?? who, who);
          seen.set(shown, who);
          const { title, entries } = readActionText(shown);
          assert.equal(title, `lead/scout wants to use bad › tool${tool}`);
          assert.deepEqual(entries.map(readField), [
            [field, content],
            [`${field}x`, `${content}: y`],
          ]);
        }
      }
    }
  });

  test("B5.7: the reason why a person is asked is whole, and stands behind the action at every width", () => {
    for (const reason of Object.values(HIDDEN_TEXTS)) {
      for (const width of [20, 76, 100_000]) {
        const { lines, why } = describeAction(requestFor("srv__tool", { a: "b" }, { reason }), { ...options, width });
        assert.deepEqual([readRows(lines), readRows(why)], [["a: b"], [`asked because ${reason}`]]);
      }
    }
  });
});

test("B5.7: no source and no page says that the whole of a question stands above", () => {
  const top = join(import.meta.dirname, "../../../../..");
  const files = ["docs", "packages/sous/src", "packages/sous/test/support", "README.md", "SECURITY.md"].flatMap(
    (place) => {
      const names = statSync(join(top, place)).isFile() ? [""] : readdirSync(join(top, place), { recursive: true });
      return names.map((name) => join(top, place, String(name))).filter((file) => /\.(?:ts|md|txt)$/.test(file));
    },
  );
  assert.ok(files.length > 300);
  for (const file of files) assert.doesNotMatch(readFileSync(file, "utf8"), /the whole of it is above/i, file);
});

suite("B5.7: the digest of a question", () => {
  const asked: AskedCall = {
    type: "approval-request",
    runId: "run",
    callId: "call",
    toolName: "srv__tool",
    input: { a: "1", b: { c: [1, 2], d: null } },
    origin: { server: "srv", tool: "tool", definition: "abc" },
    toolReason: "It has changed.",
    target: { paths: ["/w/a", "/w/b"], sha256: "00" },
  };
  const others: Record<string, Partial<AskedCall>> = {
    "another run": { runId: "run2" },
    "another call": { callId: "call2" },
    "another tool": { toolName: "srv__other" },
    "another input": { input: { a: "1", b: { c: [2, 1], d: null } } },
    "a field more": { input: { a: "1", b: { c: [1, 2], d: null }, e: "" } },
    "another type of value": { input: { a: 1, b: { c: [1, 2], d: null } } },
    "an invisible character": { input: { a: "1\u200b", b: { c: [1, 2], d: null } } },
    "half a pair": { input: { a: "1\ud83d", b: { c: [1, 2], d: null } } },
    "the other half": { input: { a: "1\ude00", b: { c: [1, 2], d: null } } },
    "another definition": { origin: { server: "srv", tool: "tool", definition: "abd" } },
    "no origin": { origin: undefined },
    "another reason of the tool": { toolReason: "It has changed!" },
    "no reason of the tool": { toolReason: undefined },
    "another real path": { target: { paths: ["/w/a", "/w/c"], sha256: "00" } },
    "another order of paths": { target: { paths: ["/w/b", "/w/a"], sha256: "00" } },
    "another file": { target: { paths: ["/w/a", "/w/b"], sha256: "01" } },
    "no hash": { target: { paths: ["/w/a", "/w/b"] } },
    "no target": { target: undefined },
  };

  test("B5.7: a question has eight digits, and each part of it changes them", () => {
    const digests = [asked, ...Object.values(others).map((other) => ({ ...asked, ...other }))].map(questionDigest);
    for (const digest of digests) assert.match(digest ?? "", /^[0-9a-f]{8}$/);
    assert.equal(new Set(digests).size, Object.keys(others).length + 1);
  });

  test("B5.7: the order of keys does not change the digest", () => {
    const input = { b: { d: null, c: [1, 2] }, a: "1" };
    assert.equal(questionDigest({ ...asked, input }), questionDigest(asked));
    const target = { sha256: "00", paths: ["/w/a", "/w/b"] };
    assert.equal(
      questionDigest({ ...asked, target, origin: { ...asked.origin, definition: "abc" } as never }),
      questionDigest(asked),
    );
  });

  test("B5.7: a question over 256 kB has no digest, in whichever part it is too long", () => {
    const long = "x".repeat(256 * 1024);
    for (const part of [{ input: { a: long } }, { input: { [long]: 1 } }, { input: [long] }, { toolReason: long }])
      assert.equal(questionDigest({ ...asked, ...part }), undefined);
    assert.equal(questionDigest({ ...asked, input: { a: "漢".repeat(90_000) } }), undefined);
    assert.match(questionDigest({ ...asked, input: { a: "x".repeat(250 * 1024) } }) ?? "", /^[0-9a-f]{8}$/);
  });
});
