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
  ["terminal", { command: "ls", cwd: "folder" }],
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
  ...["\u200bx", "*.txt", "plain.tx?", "\uff5e/x", "~\\x"],
].map((path): Question => ["read_file", { path }]);
const ORDINARY: Question[] = [
  ["read_file", { path: "plain.txt" }],
  ["read_file", { path: "./inner-link" }],
  ["read_file", { path: "docs/$types.d.ts" }],
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
