/** B5.2: patterns, paths and globs that look like options. Judged by whether anything was started or made. */

import assert from "node:assert/strict";
import { chmod, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { openPrograms } from "../../../src/app/process/programs.ts";
import { grepTool } from "../../../src/app/tools/grep.ts";
import type { Programs } from "../../../src/core/process.ts";
import { type TemporaryTree, temporaryTree } from "../../support/app/tools/temporary-tree.ts";
import { answerOf } from "../../support/app/tools/write-tools.ts";

/** Obeys every option that makes ripgrep, find or git run or write something, and finds nothing. */
const OBEDIENT = `#!/bin/sh
for each in "$@"; do
  case "$each" in
    --) exit 1 ;;
    --pre=*|--pre|-exec*|--output=*|-o*|--upload-pack=*|--ext-diff|--hostname-bin=*|-f*|--file=*) touch "$MARKER_FOLDER/marker"; exit 1 ;;
  esac
done
touch "$MARKER_FOLDER/marker"
exit 1
`;

suite("B5.2: nothing that is looked for becomes an option", () => {
  let tree: TemporaryTree;
  let programs: Programs;
  let asked = 0;
  before(async () => {
    const script = (folder: string): string => OBEDIENT.replaceAll("$MARKER_FOLDER", folder);
    tree = await temporaryTree({ "work/a.txt": "--pre=touch\n", "bin/": "", "markers/": "", "state/": "" });
    await writeFile(join(tree.path, "bin/rg"), script(join(tree.path, "markers")));
    await chmod(join(tree.path, "bin/rg"), 0o755);
    const environment = { PATH: `${join(tree.path, "bin")}:/usr/bin:/bin` };
    const real = openPrograms({ stateFolder: join(tree.path, "state"), environment });
    programs = {
      find: (name) => real.find(name),
      start: (request) => real.start(request),
      talk: (request) => real.talk(request),
      run: (request) => {
        asked += 1;
        return real.run(request);
      },
      [Symbol.asyncDispose]: () => real[Symbol.asyncDispose](),
    };
  });
  after(async () => {
    await programs[Symbol.asyncDispose]();
    await tree[Symbol.asyncDispose]();
  });

  const values: readonly string[] = [
    "--pre=touch marker",
    "--pre",
    "-exec touch marker",
    "--output=marker",
    "-omarker",
    "--upload-pack=touch",
    "--ext-diff",
    "--hostname-bin=touch",
    "--file=/etc/passwd",
    "-f/etc/passwd",
  ];
  for (const value of values) {
    test(`B5.2: ${value} does not become an option`, async () => {
      const work = join(tree.path, "work");
      const tool = grepTool(work, programs);
      const before = asked;
      await answerOf(tool, { pattern: value, literal: true }, work);
      assert.equal(asked, before + 1, "the program was asked, so it could have obeyed");
      await answerOf(tool, { pattern: "needle", path: value }, work);
      await answerOf(tool, { pattern: "needle", glob: value }, work);
      assert.deepEqual(await readdir(join(tree.path, "markers")), []);
      assert.deepEqual(await readdir(work), ["a.txt"]);
    });
  }

  test("B5.2: a program that gets such a value as an option does obey, so the rows above can fail", async () => {
    const work = join(tree.path, "work");
    await programs.run({ program: "rg", args: ["--pre=touch", "--", "x"], cwd: work, maxOutputBytes: 1000 });
    assert.deepEqual(await readdir(join(tree.path, "markers")), ["marker"]);
  });
});
