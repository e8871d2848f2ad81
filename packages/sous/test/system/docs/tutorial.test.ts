/** The tutorial as a reader follows it: the blocks of a step, one after the other, are a program that prints what the page says. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { promisify } from "node:util";
import { codeBlocks } from "../../support/docs/markdown-files.ts";
import { packedSous } from "../../support/packed-sous.ts";
import { rootFolder } from "../../support/source-files.ts";

const path = "docs/tutorials/01-first-agent.md";
const text = readFileSync(join(rootFolder, path), "utf8");
const code = codeBlocks({ path, text }).map((block) => block.code);
const printed = [...text.matchAll(/```text\n(.*?)```/gs)].map(([, output = ""]) => output);

const folder = mkdtempSync(join(tmpdir(), "sous-tutorial-"));
writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

suite("K1: the first tutorial works on the first try, from the packed tarball", () => {
  before(async () => symlinkSync(join((await packedSous()).project, "node_modules"), join(folder, "node_modules")));
  const [agent = "", tool = "", ...rest] = code;
  const programs: [step: string, program: string][] = [
    ["an agent", agent],
    ["a tool", [tool, ...rest.slice(0, 2)].join("\n")],
    // The third step keeps the imports and the tool of the second.
    ["a child", [tool, ...rest.slice(2)].join("\n")],
  ];
  test("the tutorial has three programs and what each of them prints", () => {
    assert.equal(code.length, 7);
    assert.equal(printed.length, 3);
  });
  for (const [index, [step, program]] of programs.entries()) {
    test(`step ${index + 1} of the tutorial works: ${step}`, async () => {
      const file = join(folder, `step-${index + 1}.ts`);
      writeFileSync(file, program);
      const { PATH = "", NODE_COMPILE_CACHE } = process.env;
      const env = { PATH, NODE_COMPILE_CACHE };
      const { stdout } = await promisify(execFile)(process.execPath, [file], { env });
      assert.equal(stdout, printed[index]);
    });
  }
});
