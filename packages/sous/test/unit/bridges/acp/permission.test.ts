/** Questions as real agents send them, in the words of our tools. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { actionsOf } from "../../../../src/bridges/acp/permission.ts";
import { toolCall } from "../../../../src/bridges/acp/schema.ts";

function actions(data: object) {
  return actionsOf({ callId: "x", data: toolCall.parse({ toolCallId: "t", ...data }) }).map(({ toolName, input }) => [
    toolName,
    input,
  ]);
}

suite("D5: a question of an agent is asked as a call of our own tools", () => {
  test("D5: Claude Code runs a command and writes a file", () => {
    const bash = { kind: "execute", title: "`npm test`", rawInput: { command: "npm test", description: "Run tests" } };
    assert.deepEqual(actions(bash), [["terminal", { command: "npm test" }]]);
    const write = {
      kind: "edit",
      rawInput: { file_path: "/w/a.ts", content: "new" },
      content: [{ type: "diff", path: "/w/a.ts", oldText: null, newText: "new" }],
      locations: [{ path: "/w/a.ts" }],
    };
    assert.deepEqual(actions(write), [["write_file", { path: "/w/a.ts", content: "new" }]]);
  });

  test("D5: codex runs a line for a shell, with the fields of its own question", () => {
    const rawInput = {
      call_id: "1",
      turn_id: "2",
      started_at_ms: 1,
      command: ["bash", "-lc", "git status"],
      cwd: "/w",
      reason: null,
      parsed_cmd: [{ type: "unknown", cmd: "git status" }],
      proposed_execpolicy_amendment: ["git", "status"],
    };
    assert.deepEqual(actions({ kind: "execute", rawInput }), [["terminal", { cwd: "/w", command: "git status" }]]);
  });

  test("D5: a program with arguments is quoted word by word", () => {
    const rawInput = { command: ["grep", "-n", "a b", "it's"] };
    assert.deepEqual(actions({ kind: "execute", rawInput }), [["terminal", { command: "grep -n 'a b' 'it'\\''s'" }]]);
  });

  test("D5: opencode edits with a diff in its input, and each file is asked about", () => {
    const rawInput = { filepath: "/w/a.ts", diff: "-old\n+new" };
    assert.deepEqual(actions({ kind: "edit", rawInput, locations: [{ path: "/w/b.ts" }] }), [
      ["write_file", { path: "/w/b.ts", diff: "-old\n+new" }],
      ["write_file", { path: "/w/a.ts", diff: "-old\n+new" }],
    ]);
  });

  test("D5: reading, searching and fetching are asked as such", () => {
    assert.deepEqual(actions({ kind: "read", rawInput: { file_path: "a" } }), [["read_file", { path: "a" }]]);
    const search = { kind: "search", name: "Grep", rawInput: { pattern: "x", path: "src" } };
    assert.deepEqual(actions(search), [["grep", { pattern: "x", path: "src" }]]);
    assert.deepEqual(actions({ kind: "search", name: "Glob", rawInput: { pattern: "*.ts" } }), [
      ["glob", { pattern: "*.ts" }],
    ]);
    assert.deepEqual(actions({ kind: "fetch", rawInput: { url: "https://a.test/" } }), [
      ["fetch", { url: "https://a.test/" }],
    ]);
  });

  test("D5: gemini names its command in the title only, so a person reads the title", () => {
    assert.deepEqual(actions({ kind: "execute", title: "ls\nrm -r x" }), [
      ["outside_execute", { title: "ls\nrm -r x", kind: "execute", paths: [], input: {} }],
    ]);
  });

  test("B5.7: two actions that look the same when they are cut are not the same action", () => {
    const long = (end: string) =>
      actions({ kind: "other", name: "run it", rawInput: { text: "x".repeat(20_000) + end } });
    assert.equal(long("a")[0]?.[0], "outside_run_it");
    assert.notDeepEqual(long("a"), long("b"));
    const titled = (end: string) => actions({ kind: "other", title: "x".repeat(5000) + end });
    assert.notDeepEqual(titled("a"), titled("b"));
  });
});
