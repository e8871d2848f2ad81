/** B6.4: the one check of targets, and the names of files that the texts of an external agent hold. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { filesOfPatch, foldersOfPattern } from "../../../src/bridges/acp/named-files.ts";
import { actionsOf } from "../../../src/bridges/acp/permission.ts";
import { toolCall } from "../../../src/bridges/acp/schema.ts";
import { createRuntime } from "../../../src/runtime.ts";
import { targetProblems } from "../../support/attacks/target-problems.ts";

test("B6.4: an external agent gets no yes to what our tools refuse, whatever the rules allow, and a person is asked about the rest", async () => {
  assert.deepEqual(await targetProblems(createRuntime), []);
});

suite("B6.4: the files that a patch of an external agent names", () => {
  const rows: [how: string, patch: string, files: string[]][] = [
    ["git", "diff --git a/x b/x\n--- a/src/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", ["a/src/x", "src/x", "b/y", "y"]],
    ["a new file", "--- /dev/null\n+++ new.txt\n@@ -0,0 +1 @@\n+b\n", ["new.txt"]],
    ["times behind the names", "--- x\t2026-01-01\n+++ y\t2026-01-02\n@@ -1 +1 @@\n", ["x", "y"]],
    ["Windows", "--- x\r\n+++ y\r\n@@ -1 +1 @@\r\n", ["x", "y"]],
    ["a moved file", "diff --git a/x b/x\nrename from x\nrename to .envrc\n", ["x", ".envrc"]],
    ["a copied file", "copy from x\ncopy to .envrc\n", ["x", ".envrc"]],
    ["svn", "Index: .envrc\n=====\n", [".envrc"]],
    [
      "codex",
      "*** Begin Patch\n*** Add File: a\n+x\n*** Update File: b\n*** Move to: c\n*** Delete File: d\n",
      ["a", "b", "c", "d"],
    ],
    ["a change that looks like a header", "@@ -1,2 +1 @@\n--- a comment of SQL\n-x\n+y\n", []],
    ["no patch", "+evil", []],
  ];
  for (const [how, patch, files] of rows)
    test(`B6.4: a patch in the form of ${how} names its files`, () => assert.deepEqual(filesOfPatch(patch), files));
});

suite("B6.4: the folders that a pattern of an external agent looks into", () => {
  const inside: Record<string, string[]> = {
    "**/*.{ts,tsx}": [],
    "{src,test}/**/*.ts": ["src", "test"],
    "src/deep/*.ts": ["src/deep"],
    "app/(auth)/[id]/*.tsx": ["app/(auth)"],
    ".*": [],
    ".github/*": [".github"],
    "...": [],
    "{": [],
  };
  for (const [pattern, folders] of Object.entries(inside))
    test(`B6.4: the pattern ${pattern} looks inside`, () =>
      assert.deepEqual(foldersOfPattern(pattern)?.toSorted(), folders));

  const outside = [
    ...[
      "..",
      "../*",
      "a/../../*",
      "/etc/*",
      "~/*",
      "$HOME/*",
      "%HOME%/*",
      "file:///*",
      "FILE:x",
      "..\\*",
      " /*",
      "{/etc,a}/*",
    ],
    ...[
      "{a,..}/*",
      "{a,{b,..}}/*",
      "{.,a}./*",
      ".{.,a}/*",
      "{,a}/etc",
      "@(a|..)/*",
      "+(.)./*",
      ".*/*",
      ".?/*",
      ".[.]/*",
    ],
    ...["\uff0e\uff0e/*", `${"{a,b}".repeat(9)}`],
  ];
  for (const pattern of outside)
    test(`B6.4: the pattern ${pattern} may look outside`, () => assert.equal(foldersOfPattern(pattern), undefined));
});

suite("B6.4: a question of an external agent in the words of our tools", () => {
  const rows: [how: string, question: object, actions: unknown][] = [
    [
      "a folder beside an empty one",
      { kind: "execute", rawInput: { command: "ls", cwd: null, workdir: "/out" } },
      [["terminal", { command: "ls", cwd: "/out" }]],
    ],
    [
      "a change of codex that moves nothing",
      { kind: "edit", rawInput: { changes: { "a.ts": { type: "update", unified_diff: "+x", move_path: null } } } },
      [["write_file", { path: "a.ts", changes: { "a.ts": { type: "update", unified_diff: "+x", move_path: null } } }]],
    ],
    [
      "a pattern with folders",
      { kind: "search", name: "Glob", rawInput: { pattern: "{src,link}/*", path: "top" } },
      [
        ["glob", { pattern: "{src,link}/*", path: "top" }],
        ["glob", { pattern: "{src,link}/*", path: "top/link" }],
        ["glob", { pattern: "{src,link}/*", path: "top/src" }],
      ],
    ],
  ];
  for (const [how, question, expected] of rows) {
    test(`B6.4: ${how} is asked as what it does`, () => {
      const data = toolCall.parse({ toolCallId: "t", ...question });
      const actions = actionsOf({ callId: "x", data }).map(({ toolName, input }) => [toolName, input]);
      assert.deepEqual(actions, expected);
    });
  }
});
