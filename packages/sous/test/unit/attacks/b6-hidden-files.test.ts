/** B6.4: files that a question of an external agent names where they are easily overlooked: in a patch, beside its kind, in what explains it. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { actionsOf } from "../../../src/bridges/acp/permission.ts";
import { toolCall } from "../../../src/bridges/acp/schema.ts";

const HIDDEN = ".git/hooks/pre-commit";

/** True when only a person may allow it, or when the file is one of those that are judged. */
function isSeen(question: object): boolean {
  return actionsOf({ callId: "x", data: toolCall.parse({ toolCallId: "t", ...question }) }).some(
    ({ input, otherPaths = [], unclear }) =>
      unclear !== undefined || [(input as { path?: unknown }).path, ...otherPaths].includes(HIDDEN),
  );
}

function isClear(question: object): boolean {
  const actions = actionsOf({ callId: "x", data: toolCall.parse({ toolCallId: "t", ...question }) });
  return actions.every(({ unclear }) => unclear === undefined);
}

const ADDED = "@@ -0,0 +1 @@\n+evil\n";
/** Each changes the hidden file for git, patch, codex or a program that ends lines elsewhere. */
const PATCHES: Record<string, string> = {
  "a new empty file": `diff --git a/${HIDDEN} b/${HIDDEN}\nnew file mode 100644\nindex 0000000..e69de29\n`,
  "a mode": `diff --git a/${HIDDEN} b/${HIDDEN}\nold mode 100644\nnew mode 100755\n`,
  "a deleted empty file": `diff --git a/${HIDDEN} b/${HIDDEN}\ndeleted file mode 100644\nindex e69de29..0000000\n`,
  "a binary change": `diff --git a/${HIDDEN} b/${HIDDEN}\nindex 0..1\nGIT binary patch\nliteral 1\nIc\n`,
  "rename old and new": `diff --git a/x b/y\nrename old x\nrename new ${HIDDEN}\n`,
  "a link": `diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n${ADDED}`,
  "names in quotes": `diff --git "a/.\\147it/hooks/pre-commit" "b/.\\147it/hooks/pre-commit"\nnew file mode 100644\n`,
  "a context diff": `*** x\n--- ${HIDDEN}\n***************\n*** 1 ****\n! a\n--- 1 ----\n! evil\n`,
  "+++ alone": `+++ ${HIDDEN}\n${ADDED}`,
  "--- alone": `--- ${HIDDEN}\n${ADDED}`,
  "a line between the names": `--- /dev/null\ntext\n+++ ${HIDDEN}\n${ADDED}`,
  indented: `  --- /dev/null\n  +++ ${HIDDEN}\n  @@ -0,0 +1 @@\n  +evil\n`,
  "indented by tabs": `\t--- /dev/null\n\t+++ ${HIDDEN}\n\t@@ -0,0 +1 @@\n\t+evil\n`,
  "in a mail": `- --- /dev/null\n- +++ ${HIDDEN}\n${ADDED}`,
  "a tab behind +++": `---\t/dev/null\n+++\t${HIDDEN}\n${ADDED}`,
  "two blanks behind +++": `---  /dev/null\n+++  ${HIDDEN}\n${ADDED}`,
  "a word behind the name": `--- /dev/null\n+++ ${HIDDEN} junk\n${ADDED}`,
  "another first folder": `--- w/x\n+++ w/${HIDDEN}\n@@ -1 +1 @@\n-a\n+evil\n`,
  "bare carriage returns": `--- /dev/null\r+++ ${HIDDEN}\r@@ -0,0 +1 @@\r+evil\r`,
  "line separators": `+x\u2028--- /dev/null\u2028+++ ${HIDDEN}\u2028${ADDED}`,
  "Index without a blank": `Index:${HIDDEN}\n===\n${ADDED}`,
  "index in small letters": `index: ${HIDDEN}\n===\n${ADDED}`,
  "a prerequisite": `Prereq: 1\n--- /dev/null\n+++ ${HIDDEN}\n${ADDED}`,
  "a text before it": `Fix it.\n---\n+++ ${HIDDEN}\n${ADDED}`,
  "behind a hunk that is counted short": `@@ -1 +1 @@\n-a\n+b\n+++ ${HIDDEN}\n${ADDED}`,
  "in a hunk that is counted long": `@@ -1,9 +1,9 @@\n-a\n+b\n--- /dev/null\n+++ ${HIDDEN}\n${ADDED}`,
  "a script of ed": `1c\nevil\n.\nw ${HIDDEN}\n`,
  "a normal diff": `Index: x\n0a1\n> evil\n+++ ${HIDDEN}\n`,
  "codex, indented": `*** Begin Patch\n  *** Add File: ${HIDDEN}\n+evil\n*** End Patch`,
  "codex, indented behind another": `*** Begin Patch\n*** Update File: x\n@@\n a\n *** Update File: ${HIDDEN}\n+evil\n*** End Patch`,
  "codex in capitals": `*** Begin Patch\n*** ADD FILE: ${HIDDEN}\n+evil\n*** End Patch`,
  "codex without a blank": `*** Begin Patch\n***Add File: ${HIDDEN}\n+evil\n*** End Patch`,
  "codex in a here-document": `<<'EOF'\n*** Begin Patch\n  *** Add File: ${HIDDEN}\n+evil\nEOF`,
  "codex around another form": `*** Begin Patch\n*** Update File: x\n--- /dev/null\n+++ ${HIDDEN}\n${ADDED}`,
};

suite("B6.4: a patch that changes another file than the one it is for", () => {
  const carriers: Record<string, (patch: string) => object> = {
    patch: (patch) => ({ path: "plain.txt", patch }),
    diff: (diff) => ({ file_path: "plain.txt", diff }),
    "a list of edits": (patch) => ({ path: "plain.txt", edits: [{ old_text: "a", new_text: "b" }, { patch }] }),
    "the changes of codex": (unified_diff) => ({ changes: { "plain.txt": { type: "update", unified_diff } } }),
  };
  for (const [form, patch] of Object.entries(PATCHES))
    test(`B6.4: ${form}: the file is judged, or only a person may allow it`, () => {
      for (const [where, carry] of Object.entries(carriers))
        assert.ok(isSeen({ kind: "edit", rawInput: carry(patch) }), where);
    });

  const honest: Record<string, string> = {
    git: "diff --git a/x b/x\nindex 1234567..89abcde 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@ f()\n-a\n+b\n c\n",
    "git without a line end":
      "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n",
    "a new file of git":
      "diff --git a/x b/x\nnew file mode 100755\nindex 0000000..89abcde\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+b\n",
    "a moved file": "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n",
    opencode: `Index: /w/x\n${"=".repeat(67)}\n--- /w/x\n+++ /w/x\n@@ -1 +1 @@\n-a\n+b\n`,
    "two hunks": "@@ -1 +1 @@\n-a\n+b\n@@ -9 +9,2 @@\n c\n+d\n",
    Windows: "--- x\r\n+++ x\r\n@@ -1 +1 @@\r\n-a\r\n+b\r\n",
    "SQL and Markdown": "@@ -1,3 +1,3 @@\n--- a comment\n-*** a\n-@@ x\n+--- b\n++++ c\n+diff --git a/x b/x\n",
    "an empty line that stays": "@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n",
    codex: "*** Begin Patch\n*** Update File: x\n@@ class A\n a\n-b\n+c\n@@\n-d\n*** End of File\n*** End Patch\n",
    "lines alone": "-old\n+new\n same",
  };
  for (const [form, patch] of Object.entries(honest))
    test(`B6.4: a patch in the form of ${form} needs no person`, () =>
      assert.ok(isClear({ kind: "edit", rawInput: { path: "/w/x", patch } })));
});

suite("B6.4: a change under a kind that makes none", () => {
  const inputs: Record<string, object> = {
    read: { path: "plain.txt" },
    search: { pattern: "x" },
    execute: { command: "ls" },
    fetch: { url: "https://example.com/" },
    delete: { path: "plain.txt" },
    move: { from: "plain.txt", to: "other.txt" },
  };
  const changes: object[] = [
    { content: [{ type: "diff", path: HIDDEN, newText: "evil" }] },
    { content: [{ type: "diff", path: "plain.txt", oldText: "a", newText: "evil" }] },
    {
      content: [
        { type: "content", content: { type: "text", text: "x" } },
        { type: "diff", path: HIDDEN, newText: "" },
      ],
    },
  ];
  for (const [kind, rawInput] of Object.entries(inputs)) {
    for (const [index, change] of changes.entries())
      test(`B6.4: only a person may allow ${kind} with change ${index + 1}`, () =>
        assert.ok(!isClear({ kind, rawInput, ...change })));
  }
  for (const kind of ["execute", "fetch"]) {
    for (const path of [HIDDEN, "/etc/passwd", "../x", "~/x"])
      test(`B6.4: only a person may allow ${kind} with the location ${path}`, () =>
        assert.ok(!isClear({ kind, rawInput: inputs[kind], locations: [{ path }] })));
  }

  test("B6.4: a command may say where it runs and what it names", () => {
    const rawInput = { command: "cat src/a.ts && ls", cwd: "/w" };
    assert.ok(isClear({ kind: "execute", rawInput, locations: [{ path: "/w" }, { path: "/w/src/a.ts" }] }));
  });
});

suite("B6.4: a field that explains an action holds nothing but texts and the shapes of codex", () => {
  const values: unknown[] = [
    { path: HIDDEN },
    [{ path: HIDDEN }],
    [[HIDDEN]],
    [{ type: "write", path: HIDDEN }],
    { 0: HIDDEN },
  ];
  for (const name of ["description", "reason", "timeout", "call_id", "parsed_cmd", "available_decisions"]) {
    for (const value of values)
      test(`B6.4: only a person may allow an action with ${name} = ${JSON.stringify(value)}`, () => {
        for (const [kind, rawInput] of [
          ["edit", { path: "plain.txt" }],
          ["execute", { command: "ls" }],
        ] as const)
          assert.ok(!isClear({ kind, rawInput: { ...rawInput, [name]: value } }), kind);
      });
  }

  test("B6.4: what codex sends needs no person", () => {
    const rawInput = {
      command: ["bash", "-lc", "ls"],
      cwd: "/w",
      parsed_cmd: [
        { type: "list_files", cmd: "ls", path: null },
        { type: "read", cmd: "cat a", name: "a", path: "a" },
      ],
      proposed_execpolicy_amendment: ["ls"],
      available_decisions: [
        "approved",
        { approved_execpolicy_amendment: { proposed_execpolicy_amendment: ["ls"] } },
        "abort",
      ],
    };
    assert.ok(isClear({ kind: "execute", rawInput }));
  });
});

suite("B6.4: an external agent gets no page that our own tool does not ask for", () => {
  const hosts = [
    ...[
      "localhost",
      "LOCALHOST",
      "x.localhost",
      "localhost.",
      "localhost.localdomain",
      "ip6-localhost",
      "ip6-loopback",
      "vm",
    ],
    ...[
      "metadata.google.internal",
      "printer.local",
      "intranet",
      "db.lan",
      "a.corp",
      "x.home",
      "x.onion",
      "1.0.0.127.in-addr.arpa",
    ],
    ...[
      "127.0.0.1",
      "127.1",
      "0x7f000001",
      "[::1]",
      "[::ffff:127.0.0.1]",
      "0",
      "user@example.com",
      "example.com\\\\.evil.org",
    ],
  ];
  for (const host of hosts)
    test(`B6.4: only a person may allow http://${host}/`, () =>
      assert.ok(!isClear({ kind: "fetch", rawInput: { url: `http://${host}/` } })));
});
