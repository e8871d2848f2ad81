import assert from "node:assert/strict";
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { suite, test } from "node:test";
import { grepTool } from "../../../../src/app/tools/grep.ts";
import { ToolFailure } from "../../../../src/core/errors.ts";
import type { ProgramRequest, ProgramResult, Programs } from "../../../../src/core/process.ts";
import { temporaryTree } from "../../../support/app/tools/temporary-tree.ts";
import { answerOf } from "../../../support/app/tools/write-tools.ts";

type Answer = Partial<Omit<ProgramResult, "output">> & { output?: string; droppedBytes?: number };

/** Programs in which `rg` gives a prepared answer and remembers what it was asked. */
function programsWith(answer: Answer, found: string | undefined = "/usr/bin/rg") {
  const requests: ProgramRequest[] = [];
  const { output = "", droppedBytes = 0, ...rest } = answer;
  const programs: Programs = {
    find: async () => found,
    start: () => Promise.reject(new Error("nothing is started in the background")),
    talk: () => Promise.reject(new Error("nothing is talked to")),
    async run(request) {
      requests.push(request);
      const said = { head: output, tail: "", droppedBytes };
      return { exitCode: 0, endedBy: null, stopped: undefined, durationMs: 1, ...rest, output: said };
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  return { programs, requests };
}

const FILES = { "a.txt": "needle\n", "b.txt": "needle\n", "sub/c.txt": "needle\n", "d.txt": "hay\n" };
const ALL = "a.txt:1:needle\nb.txt:1:needle\nsub/c.txt:1:needle";

suite("H6: grep with ripgrep", () => {
  test("H6: grep reads the files that ripgrep names, and decides itself what matches in them", async () => {
    await using tree = await temporaryTree({ ...FILES, "sub/lines.txt": "need le\n" });
    const named = ["a.txt", "sub/c.txt", "sub/lines.txt", "gone.txt", "../d.txt"];
    const { programs } = programsWith({ output: named.map((name) => `${tree.path}/${name}\0`).join("") });
    const answer = await answerOf(grepTool(undefined, programs), { pattern: "need+le" }, tree.path);
    assert.equal(answer, "a.txt:1:needle\nsub/c.txt:1:needle");
    const below = programsWith({ output: `${tree.path}/sub/c.txt\0` });
    assert.equal(
      await answerOf(grepTool(undefined, below.programs), { pattern: "needle", path: "sub" }, tree.path),
      "sub/c.txt:1:needle",
    );
    // What answers to the name may obey files of the folder in which it is started.
    assert.deepEqual([below.requests[0]?.cwd, below.requests[0]?.args.at(-1)], ["/", `${join(tree.path, "sub")}/`]);
  });

  const unusable: [what: string, answer: Answer, found?: string][] = [
    ["it is not installed", {}, ""],
    ["it fails", { exitCode: 2 }],
    ["it is killed", { exitCode: null, endedBy: "SIGKILL" }],
    ["it takes too long", { stopped: "timeout" }],
    ["it says too much", { output: "./a.txt\0", droppedBytes: 7 }],
    ["it says something else", { output: "warning: ./a.txt\0" }],
    ["its last name has no end", { output: "./a.txt\0./b" }],
  ];
  for (const [what, answer, found] of unusable) {
    test(`H6: every file is read when ${what}`, async () => {
      await using tree = await temporaryTree(FILES);
      const { programs } = programsWith(answer, found === "" ? undefined : found);
      const given = found === "" ? { ...programs, find: async () => undefined } : programs;
      assert.equal(await answerOf(grepTool(undefined, given), { pattern: "needle" }, tree.path), ALL);
    });
  }

  test("H6: every file is read when ripgrep cannot be started, and another error is not hidden", async () => {
    await using tree = await temporaryTree(FILES);
    const { programs } = programsWith({});
    const failing = (error: Error) => grepTool(undefined, { ...programs, run: () => Promise.reject(error) });
    const search = { pattern: "needle" };
    assert.equal(await answerOf(failing(new ToolFailure("It cannot be started.")), search, tree.path), ALL);
    const mistake = new Error("a mistake");
    await assert.rejects(answerOf(failing(mistake), search, tree.path), mistake);
  });

  test("H6: ripgrep is not asked about what it cannot answer: no plain text, letters of any case, line ends", async () => {
    await using tree = await temporaryTree(FILES);
    const { programs, requests } = programsWith({});
    for (const input of [
      { pattern: "\\w+" },
      { pattern: "needle", ignore_case: true },
      { pattern: "ne" },
      { pattern: "a\nbcd" },
    ]) {
      await answerOf(grepTool(undefined, programs), input, tree.path);
    }
    assert.deepEqual(requests, []);
  });

  test("H6: a link that ripgrep names is not followed", async () => {
    await using tree = await temporaryTree({ "work/a.txt": "needle\n", "outside.txt": "needle outside\n" });
    await symlink("../outside.txt", join(tree.path, "work/link"));
    const { programs } = programsWith({ output: "./a.txt\0./link\0" });
    const answer = await answerOf(grepTool(undefined, programs), { pattern: "needle" }, join(tree.path, "work"));
    assert.equal(answer, "a.txt:1:needle");
  });

  test("H6: a line that is too long is named only when it holds the text that is looked for", async () => {
    const long = "x".repeat(20_000);
    const rows: [text: string, isNamed: boolean][] = [
      [`${long}`, false],
      [`${long}needle`, true],
      [`needle${long}`, true],
      [`${"x".repeat(16 * 1024 - 3)}needle${long}`, true],
      [`${"x".repeat(64 * 1024 - 3)}needle`, true],
      [`${"x".repeat(16 * 1024)}needle`, true],
      [`${long}need\nle`, false],
    ];
    for (const [index, [text, isNamed]] of rows.entries()) {
      await using tree = await temporaryTree({ "a.txt": text });
      const answer = await answerOf(grepTool(), { pattern: "needle" }, tree.path);
      assert.equal(answer.includes("only their beginning was searched"), isNamed, `row ${index}`);
    }
  });
});
