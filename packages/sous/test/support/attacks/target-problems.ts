// biome-ignore-all lint/suspicious/noTemplateCurlyInString: paths as agents write them.

/** One run of an external agent in this process that asks for files which nobody may have, and for ordinary ones. */

import { once } from "node:events";
import { linkSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { agent } from "../../../src/core/agent.ts";
import { externalModel } from "../../../src/core/external-agent.ts";
import type { createRuntime } from "../../../src/runtime.ts";
import { temporaryTree } from "../app/tools/temporary-tree.ts";
import { fakeClient } from "../requirements/embedding.ts";
import { simpleTool } from "../requirements/support.ts";

type Question = readonly [toolName: "read_file" | "write_file" | "terminal", input: object];

const REFUSED: Question[] = [
  ["read_file", { path: "link" }],
  ["read_file", { path: "../outside/secret.txt" }],
  ["read_file", { path: "folder/secret.txt" }],
  ["read_file", { path: "hard.txt" }],
  ["read_file", { path: "socket" }],
  ["write_file", { path: ".git/hooks/pre-commit", content: "evil" }],
  ["write_file", { path: "inner-link", content: "evil" }],
  ["write_file", { path: "socket", content: "evil" }],
  ["write_file", { path: `${"./".repeat(5000)}.git/config`, content: "evil" }],
  // For programs that decode, choose or drop what stands there.
  ...[
    ...[
      "folder%2fsecret.txt",
      "%6cink",
      "docs/%2e%2e/link",
      "folder%252fsecret.txt",
      "%66older/secret.txt",
      "\uff056cink",
    ],
    ...[
      "{link,x}",
      "{x,link}",
      "{folder,docs}/secret.txt",
      "fol{der,x}/secret.txt",
      "{a,{b,link}}",
      "@(link|x)",
      "folder\\secret.txt",
    ],
    ...[
      "[l]ink",
      "[f]older/secret.txt",
      "[a-z]ink",
      "lin[k]",
      "[x[l]]ink",
      "[{l,x}]ink",
      "l\\ink",
      "f\\older/secret.txt",
    ],
  ].map((path): Question => ["read_file", { path }]),
  ...["[.]git/config", "{.git,x}/config", ".g%69t/config", "{.,x}git/hooks/x", ".g\\it/config", "[.-0]git/config"].map(
    (path): Question => ["write_file", { path, content: "evil" }],
  ),
  ["terminal", { command: "ls", cwd: "folder" }],
  ["read_file", { path: "{..,x}/x" }],
  ["read_file", { path: "{.,x}./x" }],
  ["terminal", { command: "ls", cwd: "{folder,x}" }],
  ["terminal", { command: "ls", cwd: "%66older" }],
  ["terminal", { command: "ls", cwd: "../outside" }],
];
/** Only a person can tell what is meant, and this one says no. */
const UNCLEAR: Question[] = [
  ...[
    "~/x",
    "file:///x",
    "file:x",
    "$HOME/x",
    "${HOME:-/}/x",
    "%HOME%/x",
    "`pwd`/x",
    '"/x"',
    "a/../../x",
    " /x",
    "x\n",
  ],
  ...[
    "docs/%2e%2e/%2e%2e/x",
    "docs/.%2e/../x",
    "docs/[.][.]/../x",
    "{~,x}/x",
    "%7e/x",
    "[~]/x",
    "x".concat("{a,b}".repeat(9)),
  ],
  ...["\u200bx", "*.txt", "plain.tx?", "\uff5e/x", "~\\x"],
].map((path): Question => ["read_file", { path }]);
const ORDINARY: Question[] = [
  ["read_file", { path: "plain.txt" }],
  ["read_file", { path: "./inner-link" }],
  ["read_file", { path: "docs/$types.d.ts" }],
  ...[
    ...[
      "app/[id]/page.tsx",
      "app/[...slug]/page.tsx",
      "app/[[...slug]]/page.tsx",
      "pages/[...slug].tsx",
      "routes/[[lang]]/+page@.svelte",
    ],
    ...[
      "{{cookiecutter.name}}/x.py",
      "docs/100%.md",
      "docs/a%20b.md",
      "docs/50%25.md",
      "app/(auth)/@modal/[id].tsx",
      "a/sitemap[.]xml.tsx",
    ],
  ].flatMap((path): Question[] => [
    ["read_file", { path }],
    ["write_file", { path, content: "x" }],
  ]),
  ["write_file", { path: "new.txt", content: "x" }],
  ["write_file", { path: "caf\u00e9.txt", content: "x" }],
  ["terminal", { command: "ls", cwd: "docs" }],
];

/** Says what went wrong: a yes that should not be, or a no to an ordinary file. Every rule allows everything. */
export async function targetProblems(create: typeof createRuntime): Promise<string[]> {
  await using tree = await temporaryTree({ "outside/secret.txt": "secret", "work/docs/": "", "work/.git/HEAD": "" });
  const work = join(tree.path, "work");
  mkdirSync(join(work, ".git/hooks"));
  writeFileSync(join(work, "plain.txt"), "plain");
  symlinkSync("../outside/secret.txt", join(work, "link"));
  symlinkSync("../outside", join(work, "folder"));
  symlinkSync("plain.txt", join(work, "inner-link"));
  linkSync(join(tree.path, "outside/secret.txt"), join(work, "hard.txt"));
  const server = createServer().listen(join(work, "socket"));
  await once(server, "listening");
  const problems: string[] = [];
  const client = fakeClient(async (_prompt, { host }) => {
    for (const [questions, expected] of [
      [REFUSED, false],
      [UNCLEAR, false],
      [ORDINARY, true],
    ] as const) {
      for (const [index, [toolName, input]] of questions.entries()) {
        const isAllowed = await host.approve({ callId: `${expected} ${index}`, toolName, input });
        if (isAllowed !== expected)
          problems.push(`${isAllowed ? "a yes" : "a no"} to ${toolName} ${JSON.stringify(input).slice(0, 80)}`);
      }
    }
    return "Done.";
  });
  const tools = ["read_file", "write_file", "terminal"].map((name) => simpleTool(name, () => "never"));
  const asking = agent({ name: "asking", model: externalModel(client.externalAgent()), tools });
  const asked: string[] = [];
  const approve = {
    decide: () => ({ effect: "allow" }) as const,
    ask: ({ input }: { input: unknown }) => {
      asked.push(String((input as { path?: unknown }).path));
      return { allow: false };
    },
  };
  await create({ approve, host: { cwd: work } }).run(asking, "Go.").result;
  await new Promise((resolve) => server.close(resolve));
  for (const [, input] of UNCLEAR) {
    const { path } = input as { path: string };
    if (!asked.includes(path)) problems.push(`no question about ${JSON.stringify(path)}`);
  }
  return problems;
}
