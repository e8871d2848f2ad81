// biome-ignore-all lint/suspicious/noTemplateCurlyInString: paths as agents write them.

/** Generated questions of an external agent that reads: files outside, and ordinary ones. */

import { linkSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Task } from "./honest-agent.ts";

export const CANARY = "the canary sings";
/** é as one character, and as e with an accent. */
const COMPOSED = "\u00e9";
export const DECOMPOSED = "e\u0301";

const FILES: Record<string, string> = {
  "outside/secret.txt": CANARY,
  "outside/sub/other.txt": CANARY,
  "home/secret.txt": CANARY,
  "home/.bashrc": CANARY,
  "repository/src/plain.txt": "plain",
  "repository/src/deep/plain.txt": "plain",
  "repository/src/[id].tsx": "plain",
  "repository/caf\u00e9.md": "plain",
  "repository/\uff21.txt": "plain",
  "repository/.git/hooks/pre-commit": CANARY,
  "repository/.git/refs/heads/main": CANARY,
  "repository/.sous/config.yaml": "",
  "repository/.sous/agents/x.md": CANARY,
  "repository/.claude/agents/x.md": CANARY,
  "repository/.vscode/tasks.json": CANARY,
  "repository/.envrc": CANARY,
};

/** Links of the repository by their names. */
const LINKS: Record<string, string> = {
  "file-link": "../outside/secret.txt",
  "folder-link": "../outside",
  "sub-link": "../outside/sub",
  chain: "src/chain",
  "src/chain": "deep/chain",
  "src/deep/chain": "../../../outside/secret.txt",
  "src/up": "../..",
  home: "../home",
  [`${COMPOSED}-link`]: "../outside/secret.txt",
  [`${DECOMPOSED}-folder`]: "../outside",
  hooks: ".git/hooks",
  refs: ".git/refs",
  "own-settings": ".sous/config.yaml",
  "to-home": "../home/.bashrc",
  "new-hook": ".git/hooks/post-checkout",
  inner: "src/deep",
};

/** Makes the files, the links and the hard links; `path` has `repository`, `home` and `outside`. */
export function layOut(path: string): void {
  for (const [name, content] of Object.entries(FILES)) {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    writeFileSync(join(path, name), content);
  }
  for (const [name, target] of Object.entries(LINKS)) symlinkSync(target, join(path, "repository", name));
  symlinkSync(join(path, "outside/secret.txt"), join(path, "repository/absolute-link"));
  linkSync(join(path, "outside/secret.txt"), join(path, "repository/hard.txt"));
  linkSync(join(path, "repository/.git/hooks/pre-commit"), join(path, "repository/src/hard-hook.sh"));
}

/** A path of the question, and the name below the tree that an agent takes it for. */
export type Way = readonly [path: string, meant: string];

function waysOut(path: string): Way[] {
  const root = join(path, "repository");
  const secret = join(path, "outside/secret.txt");
  const inOutside = [
    ...[
      "file-link",
      "absolute-link",
      "chain",
      "src/chain",
      "./src/./deep/chain",
      "hard.txt",
      "src/up/outside/secret.txt",
    ],
    ...[
      "folder-link/secret.txt",
      "./folder-link//secret.txt",
      "sub-link/../secret.txt",
      `${root}/folder-link/secret.txt`,
    ],
    ...[
      "../outside/secret.txt",
      "src/../../outside/secret.txt",
      "a/../../outside/secret.txt",
      `${root}/../outside/secret.txt`,
    ],
    ...[
      "inner/../../../outside/secret.txt",
      secret,
      `/${secret}`,
      `file://${secret}`,
      `FILE://${secret}`,
      `fiLe:${secret}`,
    ],
    ...[
      `file://localhost${secret}`,
      `file:${secret.slice(1)}`,
      `vscode-remote://x${secret}`,
      "file-link/",
      "file-link/.",
    ],
    ...[` ${secret}`, `\t../outside/secret.txt`, `\n${secret}`, "file-link ", `\u00a0${secret}`, `\ufeff${secret}`],
    ...[
      `"${secret}"`,
      `'${secret}'`,
      "..\\outside\\secret.txt",
      ".\\..\\outside\\secret.txt",
      secret.replaceAll("/", "\\"),
    ],
    ...[
      `${DECOMPOSED}-link`,
      `./${DECOMPOSED}-link`,
      `${COMPOSED}-folder/secret.txt`,
      `${root}/${COMPOSED}-folder/secret.txt`,
    ],
    ...["\uff0e\uff0e/outside/secret.txt", "\uff0e\uff0e\uff0foutside\uff0fsecret.txt", ".\u200b./outside/secret.txt"],
    ...["file\u2060-link", "\u200bfile-link", "%2e%2e/outside/secret.txt", "file-lin?", "folder-l*/secret.txt"],
    ...[`${"./".repeat(5000)}file-link`, `${"./".repeat(5000)}../outside/secret.txt`],
  ];
  const inHome = [
    ...[
      "~/secret.txt",
      "~root/../secret.txt",
      "~\\secret.txt",
      " ~/secret.txt",
      "$HOME/secret.txt",
      "${HOME}/secret.txt",
    ],
    ...[
      "${HOME:-/}/secret.txt",
      "$HOME//secret.txt",
      "${HOME%/}/secret.txt",
      "$(echo ~)/secret.txt",
      "`echo ~`/secret.txt",
    ],
    ...[
      "%HOME%/secret.txt",
      "%USERPROFILE%\\secret.txt",
      "$env:HOME/secret.txt",
      "home/secret.txt",
      "\uff5e/secret.txt",
    ],
  ];
  return [
    ...inOutside.map((each): Way => [each, "outside/secret.txt"]),
    ...inHome.map((each): Way => [each, "home/secret.txt"]),
  ];
}

export const PLAIN = "src/plain.txt";

const READS: ((path: string) => object)[] = [
  (path) => ({ kind: "read", rawInput: { path } }),
  (path) => ({ kind: "read", rawInput: { file_path: path, offset: 1, limit: 9 } }),
  (path) => ({ kind: "read", locations: [{ path }] }),
  (path) => ({ kind: "read", rawInput: { path: PLAIN }, locations: [{ path }] }),
  (path) => ({ kind: "read", rawInput: { abs_path: path }, locations: [{ path: PLAIN }] }),
  (path) => ({ kind: "read", rawInput: { path: PLAIN, filePath: path } }),
  (path) => ({ kind: "search", name: "Grep", rawInput: { pattern: "canary", path } }),
  (path) => ({ kind: "search", name: "Glob", rawInput: { pattern: "*", path } }),
  (path) => ({ kind: "read", content: [{ type: "diff", path, newText: "" }], rawInput: { path: PLAIN } }),
];

/** Each way in two of the shapes. */
export function readsOutside(path: string): Task[] {
  const ways = waysOut(path).flatMap(([named, meant], index) =>
    [0, 4].map((more): Task => {
      const question = READS[(index + more) % READS.length]?.(named) ?? {};
      return task(question, { read: join(path, meant) });
    }),
  );
  return [...ways, ...searchesOutside(path), ...commandsOutside(path)];
}

function searchesOutside(path: string): Task[] {
  const patterns = [
    ...[
      "../outside/*",
      "src/../../outside/*",
      "~/*",
      "$HOME/*",
      `${path}/outside/*`,
      `file://${path}/outside/*`,
      "..\\outside\\*",
    ],
    ...[
      `{${path}/outside,src}/*`,
      "{src,..}/outside/*",
      "{src,~}/*",
      "{.,x}./outside/*",
      ".{.,x}/outside/*",
      "{,/}/outside/*",
    ],
    ...[
      "{../outside,src}/*",
      "{a,{b,..}}/outside/*",
      ".*/outside/*",
      ".?/outside/*",
      ".[.]/outside/*",
      "@(..)/outside/*",
    ],
    ...["src/{up,../..}/outside/*", " ../outside/*", "\uff0e\uff0e/outside/*"],
  ];
  const shapes: ((pattern: string) => object)[] = [
    (pattern) => ({ kind: "search", name: "Glob", rawInput: { pattern } }),
    (pattern) => ({ kind: "search", title: "Search for files", rawInput: { pattern } }),
    (glob) => ({ kind: "search", name: "Grep", rawInput: { pattern: "canary", glob } }),
    (include) => ({ kind: "search", name: "Grep", rawInput: { pattern: "canary", include, path: "src" } }),
  ];
  const paths = [["../outside"], 5, { folder: "../outside" }, [], "", "folder-link", `${path}/outside`];
  const questions = [
    ...patterns.flatMap((pattern) => shapes.map((shape) => shape(pattern))),
    ...paths.map((each) => ({ kind: "search", name: "Grep", rawInput: { pattern: "canary", path: each } })),
    ...["folder-link/*", "{src,folder-link}/*", "./folder-link/**/*.txt"].map((each) => shapes[0]?.(each) ?? {}),
    { kind: "search", name: "Glob", rawInput: { pattern: "outside/*", path: "src/up" } },
    { kind: "search", name: "Glob", rawInput: { pattern: "up/outside/*", path: "src" } },
  ];
  return questions.map((question) => task(question, { read: join(path, "outside/secret.txt") }));
}

function commandsOutside(path: string): Task[] {
  const command = "cat secret.txt";
  const inputs: object[] = [
    ...["folder-link", "../outside", `${path}/outside`, "sub-link/..", "~", `file://${path}/outside`].flatMap((cwd) => [
      { command, cwd },
      { command, workdir: cwd },
      { command, cwd: null, workdir: cwd },
      { command, cwd: false, workdir: cwd },
      { command, cwd: "src", workdir: cwd },
    ]),
    { command: "ls", cmd: command },
    { command: ["ls"], cmd: command },
    { command: "ls", cwd: ["../outside"] },
  ];
  return inputs.map((rawInput) => task({ kind: "execute", rawInput }, { read: join(path, "outside/secret.txt") }));
}

export function task(question: object, act: Task["act"]): Task {
  return { name: JSON.stringify(question).replace(/(?:\.\/){9,}/, "(./)+"), question, act };
}

/** Ordinary reads: allowed without any rule. */
export function ordinaryReads(path: string): Task[] {
  const root = join(path, "repository");
  const paths = [
    ...[
      PLAIN,
      `./${PLAIN}`,
      `${root}/${PLAIN}`,
      "inner/plain.txt",
      "src/[id].tsx",
      "caf\u00e9.md",
      "cafe\u0301.md",
      "\uff21.txt",
    ],
    ...["src/deep/plain.txt", ".gitignore", `${root}/inner/plain.txt`, "src//plain.txt"],
  ];
  const patterns = [
    "**/*.{ts,tsx}",
    "{src,test}/**/*.ts",
    "src/**",
    ".github/*",
    "app/(auth)/[id]/*.tsx",
    "*.{a..c}",
    "...",
  ];
  return [
    ...paths.flatMap((each, index) =>
      [0, 1, 2, 6].map((more) => READS[(index + more) % 3 === 0 ? more : (index + more) % 3]?.(each) ?? {}),
    ),
    ...patterns.flatMap((pattern) => [
      { kind: "search", name: "Glob", rawInput: { pattern } },
      { kind: "search", name: "Grep", rawInput: { pattern: "\\.\\./|^~|/api", glob: pattern, exclude: ["dist"] } },
    ]),
  ].map((question) => task(question, { read: join(root, PLAIN) }));
}
