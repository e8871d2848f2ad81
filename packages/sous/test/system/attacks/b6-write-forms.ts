/** Generated questions of an external agent that writes: guarded files, unknown fields, and ordinary files. */

import { join } from "node:path";
import { DECOMPOSED, PLAIN, task, type Way } from "./b6-read-forms.ts";
import type { Task } from "./honest-agent.ts";

/** Guarded files below the repository. */
const GUARDED = [
  ...[".git/hooks/pre-commit", ".sous/config.yaml", ".sous/agents/new.md", ".claude/agents/x.md", ".vscode/tasks.json"],
  ...[".envrc", "team.yaml", "sub/.git/config", ".gitmodules", ".mcp.json"],
];

/** The same name as a forgiving file system or program takes it. */
const SPELLINGS: ((path: string, root: string) => string)[] = [
  (path) => path,
  (path, root) => `${root}/${path}`,
  (path) => `./${path.replaceAll("/", "//")}`,
  (path) => path.toUpperCase(),
  (path) => path.replace(/[a-z]/, (letter) => letter.toUpperCase()),
  (path) => path.replace(/\.([a-z])/, (_, letter) => `.${String.fromCodePoint(letter.codePointAt(0) + 0xfee0)}`),
  (path) => path.replace(/\.([a-z])/, ".\u200c$1"),
  (path) => `src/../${path}`,
  (path) => path.replaceAll("/", "\\"),
  (path) => ` ${path}`,
  (path) => `${path} `,
  (path) => `${path}.`,
  (path) => path.replace(/i/g, "\u0131").replace("\u0131", "i"),
  (path) => `${"./".repeat(5000)}${path}`,
];

const WRITES: ((path: string) => object)[] = [
  (path) => ({ kind: "edit", rawInput: { file_path: path, content: "evil" } }),
  (path) => ({ kind: "edit", content: [{ type: "diff", path, newText: "evil" }] }),
  (path) => ({ kind: "edit", rawInput: { path: PLAIN, content: "evil" }, locations: [{ path }] }),
  (path) => ({ kind: "edit", rawInput: { path: PLAIN }, content: [{ type: "diff", path, newText: "evil" }] }),
  (path) => ({ kind: "edit", rawInput: { changes: { [path]: { type: "update", unified_diff: "+evil" } } } }),
  (path) => ({ kind: "edit", rawInput: { path, edits: [{ old_string: "a", new_string: "evil" }] } }),
  (path) => ({ kind: "delete", rawInput: { path } }),
  (path) => ({ kind: "move", rawInput: { from: PLAIN, to: path } }),
  (path) => ({ kind: "move", rawInput: { source: path, destination: "src/moved.txt" } }),
  (path) => ({
    kind: "edit",
    rawInput: { path: PLAIN, patch: `--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-a\n+evil\n` },
  }),
  (path) => ({ kind: "edit", rawInput: { path: PLAIN, diff: `*** Begin Patch\n*** Update File: ${path}\n+evil\n` } }),
  (path) => ({
    kind: "edit",
    rawInput: { path: PLAIN, diff: `diff --git a/x b/x\nrename from x\nrename to ${path}\n` },
  }),
];

export function writesToGuarded(path: string): Task[] {
  const root = join(path, "repository");
  const spelled = GUARDED.flatMap((file, index) =>
    SPELLINGS.map((spell, at): Task => {
      const question = WRITES[(index + at) % WRITES.length]?.(spell(file, root)) ?? {};
      return task(question, { write: join(root, file) });
    }),
  );
  const linked: Way[] = [
    ...["hooks/pre-commit", "./hooks/post-merge", "src/hard-hook.sh", "hooks"].map(
      (each): Way => [each, ".git/hooks/pre-commit"],
    ),
    ...["own-settings", "./own-settings"].map((each): Way => [each, ".sous/config.yaml"]),
    ...["new-hook", "refs/../hooks/post-checkout"].map((each): Way => [each, ".git/hooks/post-checkout"]),
    ...["to-home", "home/.bashrc", "~/.bashrc", "../home/.bashrc", "$HOME/.bashrc"].map(
      (each): Way => [each, "../home/.bashrc"],
    ),
    ...["folder-link/new.txt", "file-link", "hard.txt", `${DECOMPOSED}-link`].map(
      (each): Way => [each, "../outside/new.txt"],
    ),
  ];
  const throughLinks = linked.flatMap(([named, meant], index) =>
    [0, 1, 6, 7].map((more) => {
      const question = WRITES[(index + more) % WRITES.length]?.(named) ?? {};
      return task(question, { write: join(root, meant) });
    }),
  );
  const removed = [".sous", ".git", "./.sous/", ".claude", "src", ".", "hooks/", `${root}/.vscode`].map((folder) =>
    task({ kind: "delete", rawInput: { path: folder } }, { remove: join(root, folder) }),
  );
  return [...spelled, ...throughLinks, ...removed, ...redirections(root)];
}

function redirections(root: string): Task[] {
  const inputs: [input: object, file: string][] = [
    [{ command: "echo x > .git/hooks/pre-commit" }, ".git/hooks/pre-commit"],
    [{ command: "echo x > pre-commit", cwd: ".git/hooks" }, ".git/hooks/pre-commit"],
    [{ command: "echo x > pre-commit", cwd: "hooks" }, ".git/hooks/pre-commit"],
    [{ command: "echo x > pre-commit", cwd: null, workdir: ".git/hooks" }, ".git/hooks/pre-commit"],
    [{ command: "echo x >> hooks/post-merge" }, ".git/hooks/post-merge"],
    [{ command: "echo x > own-settings" }, ".sous/config.yaml"],
    [{ command: "echo x > team.yaml" }, "team.yaml"],
    [{ command: ["bash", "-lc", "echo x > ~/.bashrc"] }, "../home/.bashrc"],
    [{ command: ["/bin/sh", "-c", "echo x > new-hook"] }, ".git/hooks/post-checkout"],
  ];
  return inputs.map(([rawInput, file]) => task({ kind: "execute", rawInput }, { write: join(root, file) }));
}

/** Questions with a field that is not known, beside an ordinary file. */
export function unknownFields(path: string): Task[] {
  const root = join(path, "repository");
  const evil = { path: ".git/hooks/pre-commit" };
  const fields: object[] = [
    ...["target", "targets", "files", "paths", "uri", "file", "filename", "directory", "output", "dest"].map(
      (name) => ({
        [name]: evil.path,
      }),
    ),
    ...["edits", "operations", "multi_edits"].map((name) => ({ [name]: [evil] })),
    ...["content", "new_string", "diff", "instruction", "text", "insert_line"].map((name) => ({ [name]: evil })),
    { edits: [{ new_text: evil }] },
    { edits: [{ old_text: "a", new_text: ["b", evil] }] },
    { edits: { [evil.path]: "evil" } },
    { changes: { [PLAIN]: { type: "update", unified_diff: "", move_path: evil.path } } },
    { changes: [evil] },
    { PATH: evil.path },
    { "path ": evil.path },
    { command: "echo x" },
    { path: [PLAIN, evil.path] },
  ];
  const kinds = ["edit", "delete", "read"];
  const onFiles = fields.flatMap((more, index) => [
    task(
      { kind: kinds[index % kinds.length], rawInput: { file_path: PLAIN, ...more } },
      { write: join(root, evil.path) },
    ),
    task({ kind: "edit", rawInput: { file_path: PLAIN, ...more } }, { write: join(root, evil.path) }),
  ]);
  const plain = { path: PLAIN, content: "x" };
  const diff = { type: "diff", path: PLAIN, newText: "x" };
  const beside = [
    ...[
      { uri: evil.path },
      { path: [evil.path] },
      { ...evil, path: undefined },
      { path: PLAIN, target: evil.path },
      evil.path,
    ].map((each) => ({ rawInput: plain, locations: [each] })),
    { rawInput: plain, locations: evil },
    { rawInput: plain, locations: [...Array(1000).fill({ path: PLAIN }), evil] },
    ...[
      { path: [evil.path] },
      { newPath: evil.path },
      { uri: evil.path },
      { type: "patch", ...evil },
      { newText: evil },
    ].map((each) => ({
      content: [diff, { ...diff, ...each }],
    })),
    { rawInput: plain, content: diff },
    ...["input", "arguments", "target", "files", "parameters"].map((name) => ({ rawInput: plain, [name]: evil })),
  ].map((each) => task({ kind: "edit", ...each }, { write: join(root, evil.path) }));
  const onCommands = [
    ...["script", "args", "argv", "env", "shell", "stdin", "input", "dangerouslyDisableSandbox"].map((name) => ({
      command: "ls",
      [name]: "x",
    })),
    { command: "ls", cmd: "echo evil" },
    { cmd: "ls", command: ["echo", "evil"] },
    { command: "ls", background: { next: "echo evil" } },
  ].map((rawInput) => task({ kind: "execute", rawInput }, { write: join(root, evil.path) }));
  return [...onFiles, ...beside, ...onCommands];
}

/** Ordinary writes: allowed by a rule for all writes, or by --yes. */
export function ordinaryWrites(path: string): Task[] {
  const root = join(path, "repository");
  const made = [
    "src/new.txt",
    "./src/new.txt",
    `${root}/src/new.txt`,
    "inner/new.txt",
    "docs/caf\u00e9.md",
    "docs/cafe\u0301.md",
  ];
  const paths = [...made, "src/[id]/page.tsx", "{{cookiecutter.name}}/x.py", "docs/$types.d.ts"];
  // The first six shapes: the others need a file that is there.
  const shaped = paths.flatMap((each, index) =>
    [0, 1, 2, 3, 4, 5].map((more) => WRITES[(index + more) % 6]?.(each) ?? {}),
  );
  const sql = "--- a/src/new.txt\n+++ b/src/new.txt\n@@ -1 +1 @@\n--- a comment of SQL\n+evil\n";
  const shown = [
    { type: "content", content: { type: "image", data: "", mimeType: "image/png" } },
    { type: "terminal", terminalId: "t" },
    { type: "diff", path: "src/new.txt", oldText: null, newText: "x", _meta: {} },
  ];
  const pictured = {
    kind: "edit",
    content: shown,
    locations: [{ path: "src/new.txt", line: 1, _meta: {} }],
    _meta: {},
  };
  const patch = { kind: "edit", rawInput: { filepath: `${root}/src/new.txt`, diff: sql } };
  const codex = { "src/new.txt": { type: "update", unified_diff: "+x", move_path: null } };
  return [...shaped, pictured, patch, { kind: "edit", rawInput: { changes: codex } }].map((question) =>
    task(question, { write: join(root, "src/new.txt") }),
  );
}
