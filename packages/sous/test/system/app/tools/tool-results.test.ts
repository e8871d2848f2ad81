/** Real calls return what the reference says about the results of the built-in tools. */

import assert from "node:assert/strict";
import { linkSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { BUILT_IN_FAILURES } from "../../../../../../scripts/reference/built-in-failures.ts";
import { BUILT_IN_RESULTS } from "../../../../../../scripts/reference/built-in-results.ts";
import { openPrograms } from "../../../../src/app/process/programs.ts";
import { builtInTools } from "../../../../src/app/tools/built-in.ts";
import { ToolFailure } from "../../../../src/core/errors.ts";
import type { ToolResult } from "../../../../src/core/tool.ts";
import { contextIn, temporaryTree } from "../../../support/app/tools/temporary-tree.ts";
import { fetchWith, pageServer, testNetwork } from "../../../support/attacks/page-server.ts";
import { sourceFiles } from "../../../support/source-files.ts";
import { sentencesThrown } from "../../docs/sentences.ts";

type Call = readonly [tool: string, input: Record<string, unknown>];

const FILES = { "pay.ts": "export const retries = 3;\nexport const wait = 1;\n", "docs/": "" };

/** The call behind each entry of the table, in its order; undefined for `fetch`, which needs a server. */
const SAMPLES: readonly (Call | undefined)[] = [
  ["read_file", { path: "pay.ts" }],
  ["list_files", {}],
  ["glob", { pattern: "*.ts" }],
  ["grep", { pattern: "retr[a-z]+" }],
  ["write_file", { path: "new.ts", content: "const\n" }],
  ["edit_file", { path: "pay.ts", old: "retries = 3", new: "retries = 5" }],
  ["terminal", { command: "echo hello" }],
  ["terminal", { command: "sleep 30", background: true }],
  ["terminal", { output_of: "bg1" }],
  undefined,
];

test("A3: every built-in tool returns the text and exactly the metadata that the reference names", async () => {
  await using tree = await temporaryTree(FILES);
  await using programs = openPrograms({ environment: process.env });
  await using server = await pageServer((_request, response) =>
    response.writeHead(200, { "content-type": "text/html" }).end("<title>Notes</title><p>Read me."),
  );
  const tools = builtInTools({ root: tree.path, programs });
  for (const [index, { tool, when, example, metadata }] of BUILT_IN_RESULTS.entries()) {
    const sample = SAMPLES[index];
    const result =
      sample === undefined
        ? await fetchWith(testNetwork(), { url: `${server.url}/` })
        : ((await tools
            .find(({ name }) => name === sample[0])
            ?.execute(sample[1], contextIn(tree.path))) as ToolResult);
    const output = result.output.replace(`:${server.port}/`, ":PORT/");
    assert.deepEqual(
      { tool: sample?.[0] ?? "fetch", output, success: result.success },
      { tool, output: example, success: true },
    );
    const types = Object.entries(result.metadata ?? {}).map(([name, value]) => [name, typeOf(value)]);
    const promised = metadata.map(({ name, type }) => [name, type]);
    assert.deepEqual(
      types.map(([name]) => name),
      promised.map(([name]) => name),
      `${tool} ${when}`,
    );
    const wrong = types.filter(([, type = ""], at) => !promised[at]?.[1]?.split(" | ").includes(type));
    assert.deepEqual(wrong, [], `${tool} ${when}`);
  }
});

test("the reference has an entry for every built-in tool, in their order", async () => {
  await using programs = openPrograms({ environment: process.env });
  const names = builtInTools({ programs }).map(({ name }) => name);
  assert.deepEqual([...new Set(BUILT_IN_RESULTS.map(({ tool }) => tool))], names);
});

test("every notice and every sentence of the tables is one that the sources have", () => {
  const sources = sourceFiles()
    .filter(({ path }) => /(^|\/)(tools|core)\//.test(path) && !/tool-(results|failures)\.ts$/.test(path))
    .map(({ text }) => text.replaceAll(/["`] \+\s*["`]/g, ""))
    .join("\n");
  const promised = [
    ...BUILT_IN_RESULTS.flatMap(({ notices }) => notices.map(([line]) => line.replaceAll(/^\[|\]$/g, ""))),
    ...BUILT_IN_FAILURES.flatMap(({ sentences }) => sentences.map(([sentence]) => sentence)),
  ];
  const invented = promised.filter((line) => partsOf(line).some((part) => !sources.includes(part)));
  assert.deepEqual(invented, []);
});

test("every sentence that a built-in tool can fail with is in the table", () => {
  const known = BUILT_IN_FAILURES.flatMap(({ sentences }) => sentences.map(([sentence]) => longPartsOf(sentence)));
  const missing = sentencesThrown(["ToolFailure", "HardLinkFailure"], ["app/tools"]).filter(
    ({ pieces }) => !known.some((parts) => parts.every((part) => pieces.join(" … ").includes(part))),
  );
  assert.deepEqual(missing, []);
});

suite("a call that fails says a sentence that the table has for its tool", () => {
  const rows: readonly Call[] = [
    ["read_file", { path: "../x" }],
    ["read_file", { path: "gone.ts" }],
    ["read_file", { path: "docs" }],
    ["read_file", { path: "a\0b" }],
    ["read_file", { path: "binary" }],
    ["read_file", { path: "pay.ts", offset: 9 }],
    ["read_file", { path: "second-name" }],
    ["read_file", { path: "nowhere" }],
    ["list_files", { path: "gone" }],
    ["list_files", { path: "pay.ts" }],
    ["list_files", { path: "/" }],
    ["glob", { pattern: "../**" }],
    ["glob", { pattern: "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}" }],
    ["grep", { pattern: "(" }],
    ["grep", { pattern: "x", path: "gone" }],
    ["write_file", { path: ".git/config", content: "x" }],
    ["write_file", { path: "docs/", content: "x" }],
    ["write_file", { path: "docs", content: "x" }],
    ["write_file", { path: "nowhere", content: "x" }],
    ["write_file", { path: "pay.ts/x", content: "x" }],
    ["write_file", { path: "x", content: "\ud800" }],
    ["write_file", { path: "second-name", content: "x" }],
    ["edit_file", { path: "pay.ts", old: "a", new: "a" }],
    ["edit_file", { path: "pay.ts", old: "retries = 9", new: "x" }],
    ["edit_file", { path: "pay.ts", old: "export", new: "x" }],
    ["edit_file", { path: "pay.ts", old: "retries", new: "const retries" }],
    ["edit_file", { path: "gone.ts", old: "a", new: "b" }],
    ["edit_file", { path: "binary", old: "a", new: "b" }],
    ["edit_file", { path: "latin", old: "a", new: "b" }],
    ["terminal", { command: "exit 3" }],
    ["terminal", { command: "kill -9 $$" }],
    ["terminal", { command: "sleep 30", timeout: 0.01 }],
    ["terminal", {}],
    ["terminal", { command: "a\0b" }],
    ["terminal", { command: "ls", cwd: "pay.ts" }],
    ["terminal", { command: "ls", cwd: "gone" }],
    ["terminal", { output_of: "bg9" }],
    ["fetch", { url: "ftp://example.com/" }],
    ["fetch", { url: "http://127.0.0.1/" }],
  ];
  for (const [name, input] of rows) {
    test(`${name} fails in a sentence of the table with ${JSON.stringify(input)}`, async () => {
      await using tree = await temporaryTree({
        ...FILES,
        "first-name": "",
        binary: "a\0b",
        latin: Uint8Array.of(0xe9, 10),
      });
      linkSync(join(tree.path, "first-name"), join(tree.path, "second-name"));
      symlinkSync("gone", join(tree.path, "nowhere"));
      mkdirSync(join(tree.path, ".git"));
      await using programs = openPrograms({ environment: process.env });
      const tool = builtInTools({ root: tree.path, programs }).find((each) => each.name === name);
      const said = await failureOf(async () => (await tool?.execute(input, contextIn(tree.path))) as ToolResult);
      const fitting = BUILT_IN_FAILURES.filter(({ tools }) => tools.includes(name))
        .flatMap(({ sentences }) => sentences)
        .filter(([sentence]) => partsOf(sentence).every((part) => said.includes(part)));
      assert.notDeepEqual(fitting, [], said);
    });
  }
});

async function failureOf(execute: () => Promise<ToolResult>): Promise<string> {
  try {
    const { success, error, output } = await execute();
    assert.equal(success, false, output);
    return error ?? output;
  } catch (error) {
    if (error instanceof ToolFailure) return error.message;
    throw error;
  }
}

function typeOf(value: unknown): string {
  return value === null ? "null" : typeof value;
}

/** What stands between the places that differ; a full stop or a space alone says nothing. */
function partsOf(sentence: string): string[] {
  return sentence
    .split("…")
    .map((part) => part.trim())
    .filter((part) => /[A-Za-z]/.test(part));
}

/** The parts of two words and more, which is what the sources are searched for; all of them when there is none. */
function longPartsOf(sentence: string): string[] {
  const parts = partsOf(sentence);
  const long = parts.filter((part) => /[a-z]+ [a-z]+/i.test(part));
  return long.length === 0 ? parts : long;
}
