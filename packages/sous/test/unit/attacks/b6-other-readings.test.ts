/** B6.4: a path of an external agent is judged in each way in which a program may take it, and costs two looks at the file system. */

import assert from "node:assert/strict";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { suite, test } from "node:test";
import { agent } from "../../../src/core/agent.ts";
import { externalModel } from "../../../src/core/external-agent.ts";
import { createPolicy } from "../../../src/runtime/rights/policy.ts";
import { createRuntime } from "../../../src/runtime.ts";
import { temporaryTree } from "../../support/app/tools/temporary-tree.ts";
import { fakeClient } from "../../support/requirements/embedding.ts";
import { simpleTool } from "../../support/requirements/support.ts";
import { rulesFrom } from "../../support/runtime/rights/requests.ts";

type Asked = readonly [toolName: string, input: object, otherPaths?: readonly string[]];

/** What an external agent is answered, and how often the file system was asked for a real path meanwhile. */
async function answersTo(
  asked: readonly Asked[],
  cwd: string,
  rules: readonly string[],
): Promise<{ yes: boolean; looks: number }[]> {
  const found: { yes: boolean; looks: number }[] = [];
  let looks = 0;
  const { native } = fs.realpathSync;
  const client = fakeClient(async (_prompt, { host }) => {
    fs.realpathSync.native = ((path: string) => {
      looks += 1;
      return native(path);
    }) as typeof native;
    syncBuiltinESMExports();
    for (const [index, [toolName, input, otherPaths]] of asked.entries()) {
      looks = 0;
      const yes = await host.approve({ callId: String(index), toolName, input, otherPaths });
      found.push({ yes, looks });
    }
    return "Done.";
  });
  const tools = ["read_file", "write_file", "terminal"].map((name) => simpleTool(name, () => "never"));
  const asking = agent({ name: "asking", model: externalModel(client.externalAgent()), tools });
  const policy = createPolicy({ rules: rulesFrom(...rules), guards: { top: cwd } });
  try {
    await createRuntime({ approve: { decide: policy.decide }, host: { cwd } }).run(asking, "Go.").result;
  } finally {
    fs.realpathSync.native = native;
    syncBuiltinESMExports();
  }
  return found;
}

suite("B6.4: a rule that denies holds for each way to read a path", () => {
  const paths = [
    ...["src\\secret\\x", "src\\secret/x", ".\\src\\secret\\x", "src%2fsecret/x", "src/%73ecret/x", "src/s%65cret%2fx"],
    ...[
      "src/[s]ecret/x",
      "src/{secret,x}/x",
      "{src,x}/secret/x",
      "src/[a-z]ecret/x",
      "\uff53rc/secret/x",
      "src/se\\cret/x",
    ],
    ...[
      "src/%2573ecret/x",
      "src/@(secret|x)/x",
      "src/sec[r]et/[x]",
      "SRC%2fsecret/x",
      "src/{s,x}ecret/x",
      "src/./%73ecret/x",
    ],
    ...["docs\\..\\src\\secret\\x", "src\\\\secret\\\\x", "src/secret%2F%78"],
  ];
  for (const path of paths)
    test(`B6.4: ${path} is denied as src/secret/x`, async () => {
      await using tree = await temporaryTree({ "src/secret/x": "", "docs/": "" });
      const rules = [
        "allow read_file",
        "allow write_file",
        "deny read_file(src/secret/**)",
        "deny write_file(src/secret/**)",
      ];
      const answers = await answersTo(
        [
          ["read_file", { path }],
          ["write_file", { path }],
        ],
        tree.path,
        rules,
      );
      assert.deepEqual(
        answers.map(({ yes }) => yes),
        [false, false],
      );
    });

  test("B6.4: a name of a patch counts without its first folder and without what stands behind a blank", async () => {
    await using tree = await temporaryTree({ "src/secret/x": "" });
    const rules = ["allow write_file", "deny write_file(/src/secret/**)"];
    const other: Asked = [
      "write_file",
      { path: "w/src/secret/x junk" },
      ["src/secret/x junk", "w/src/secret/x", "src/secret/x"],
    ];
    const answers = await answersTo([other, ["write_file", { path: "w/src/x" }, ["src/x"]]], tree.path, rules);
    assert.deepEqual(
      answers.map(({ yes }) => yes),
      [false, true],
    );
  });
});

test("B6.4: names with brackets, braces and percent signs that frameworks use need no person", async () => {
  await using tree = await temporaryTree({ "app/[id]/page.tsx": "" });
  const paths = [
    ...[
      "app/[id]/page.tsx",
      "app/[...slug]/page.tsx",
      "app/[[...slug]]/page.tsx",
      "pages/[...slug].tsx",
      "pages/[[...all]].js",
    ],
    ...[
      "{{cookiecutter.name}}/x.py",
      "docs/100%.md",
      "docs/a%20b.md",
      "app/(auth)/[id].tsx",
      "routes/sitemap[.]xml.tsx",
    ],
  ];
  const asked = paths.flatMap((path): Asked[] => [
    ["read_file", { path }],
    ["write_file", { path, content: "x" }],
  ]);
  const answers = await answersTo(asked, tree.path, ["allow write_file"]);
  assert.deepEqual(
    asked.filter((_, index) => answers[index]?.yes !== true),
    [],
  );
});

test("B6.4: a question of an external agent costs one real path of the workspace and one of the file", async () => {
  await using tree = await temporaryTree({ "plain.txt": "", "sub/in.txt": "" });
  const rules = [
    "allow read_file",
    "allow write_file",
    "allow terminal(*)",
    "deny write_file(secret*)",
    "deny read_file(secret*)",
  ];
  const asked: Asked[] = [
    ["read_file", { path: "plain.txt" }],
    ["read_file", { path: join(tree.path, "sub/in.txt") }],
    ["write_file", { path: "plain.txt", content: "x" }],
    ["terminal", { command: "npm test -- sub/in.txt sub a b c d e f g h" }],
    ["terminal", { command: "ls", cwd: "sub" }],
    ["terminal", { command: "ls > plain.txt" }],
  ];
  const answers = await answersTo(asked, tree.path, rules);
  assert.deepEqual(
    answers,
    [2, 2, 2, 1, 2, 2].map((looks) => ({ yes: true, looks })),
  );
});
