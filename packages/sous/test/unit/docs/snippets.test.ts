/** No code in the docs is written by hand: each block is a region of an example, which is compiled and run. */

import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { suite, test } from "node:test";
import { EXAMPLE } from "../../../../../scripts/repository-files.ts";
import { CODE_BLOCK, codeBlocks, isGenerated, type Page, pages, regionOf } from "../../support/docs/markdown-files.ts";
import { rootFolder } from "../../support/source-files.ts";

const MAX_README_LINES = 20;
const FENCE = "```";
/** A block that shows all that an example prints: `<!-- output: examples/NAME/expected.txt -->` before it. */
const OUTPUT_BLOCK = /(<!-- output: ((?:examples|docs\/snippets)\/[\w/-]+\.txt) -->\s*```text\n)[^`]*```/g;

suite("K1: the code in the docs is code that runs; UPDATE_SNAPSHOTS=1 copies it again", () => {
  for (const page of pages().filter((each) => !isGenerated(each))) {
    test(`the code of ${page.path} is code that runs`, () => {
      const updated = process.env.UPDATE_SNAPSHOTS === "1" ? updateBlocks(page) : page;
      assert.deepEqual(codeBlocks(updated).flatMap(problemOf), []);
    });
  }
});

test("every marker of a snippet has its block", () => {
  assert.deepEqual(pages().flatMap(markersWithoutBlock), []);
});

test("a page that shows code without its imports links to the program", () => {
  const lonely = pages().flatMap((page) => {
    const cut = codeBlocks(page).filter(({ code }) => !/^import /m.test(code));
    const folders = new Set(cut.flatMap(({ snippet }) => (snippet === undefined ? [] : [dirname(snippet)])));
    const linked = [...page.text.matchAll(/\]\(([^)\s#]+)/g)].map(([, link = ""]) => join(dirname(page.path), link));
    return [...folders]
      .filter((folder) => !linked.some((file) => file.startsWith(`${folder}/`)))
      .map((folder) => `${page.path}: ${folder}`);
  });
  assert.deepEqual(lonely, []);
});

test("the example of the readme has at most 20 lines and is the one that the pack test runs", () => {
  const readme = pages().find(({ path }) => path === "README.md");
  const blocks = readme === undefined ? [] : codeBlocks(readme);
  assert.equal(blocks.length, 1);
  assert.match(readme?.text ?? "", /<!-- example -->\s*```ts\n/);
  assert.ok((blocks[0]?.code.trim().split("\n").length ?? 0) <= MAX_README_LINES);
});

test("every region of an example is shown somewhere", () => {
  const shown = new Set(pages().flatMap((page) => codeBlocks(page).map(({ snippet }) => snippet)));
  const files = [...shown].flatMap((snippet) => (snippet === undefined ? [] : [snippet.split("#")[0] ?? ""]));
  const unused = [...new Set(files)].flatMap((file) =>
    [...readFileSync(join(rootFolder, file), "utf8").matchAll(/\/\/ #region (\S+)/g)]
      .map(([, name]) => `${file}#${name}`)
      .filter((snippet) => !shown.has(snippet)),
  );
  assert.deepEqual(unused, []);
});

test("a page whose code has `await using`, which Node 22 does not know, says so", () => {
  const silent = pages().filter(
    (page) =>
      codeBlocks(page).some(({ code }) => /^\s*(?:await )?using /m.test(code)) &&
      !page.text.includes("`await using` needs Node 24 or a compiler"),
  );
  assert.deepEqual(
    silent.map(({ path }) => path),
    [],
  );
});

test("the output of an example on a page is what the example prints; UPDATE_SNAPSHOTS=1 copies it again", () => {
  for (const { path, text } of pages()) {
    const updated = text.replaceAll(OUTPUT_BLOCK, (_whole, head: string, file: string) => {
      return `${head}${readFileSync(join(rootFolder, file), "utf8")}${FENCE}`;
    });
    if (process.env.UPDATE_SNAPSHOTS === "1" && updated !== text) writeFileSync(join(rootFolder, path), updated);
    else assert.equal(text, updated, path);
    const marked = text.matchAll(/^<!-- output: /gm);
    assert.equal([...text.matchAll(OUTPUT_BLOCK)].length, [...marked].length, `a block for each in ${path}`);
  }
});

suite("the check refuses", () => {
  const block = { line: 1, code: "const changed = true;\n" };
  test("the check refuses a marker without a block, before text, before a block of another language and at the end of a page", () => {
    const text = "<!-- snippet: a#1 -->\n\nText.\n\n<!-- snippet: a#2 -->\n\n```sh\nls\n```\n\n<!-- snippet: a#3 -->\n";
    assert.deepEqual(markersWithoutBlock({ path: "p.md", text }), ["p.md: a#1", "p.md: a#2", "p.md: a#3"]);
  });
  test("the check refuses a block that names no example", () => {
    assert.deepEqual(problemOf({ ...block, snippet: undefined }), ["line 1: a block without <!-- snippet: … -->"]);
  });
  test("the check refuses a region that does not exist", () => {
    assert.deepEqual(problemOf({ ...block, snippet: "examples/01-one-agent/main.ts#nowhere" }), [
      "line 1: examples/01-one-agent/main.ts#nowhere does not exist",
    ]);
  });
  test("the check refuses a block that differs from its region", () => {
    assert.deepEqual(problemOf({ ...block, snippet: "examples/01-one-agent/main.ts#all" }), [
      "line 1: the block differs from examples/01-one-agent/main.ts#all",
    ]);
  });
});

/** A marker that no block follows: its page would have an empty section. */
function markersWithoutBlock(page: Page): string[] {
  const marked = [...page.text.matchAll(/^\s*<!-- snippet:? *(\S*)/gm)].map(([, snippet = ""]) => snippet);
  const shown = codeBlocks(page).map(({ snippet }) => snippet);
  return marked.filter((snippet) => !shown.includes(snippet)).map((snippet) => `${page.path}: ${snippet}`);
}

function problemOf({ snippet, code, line }: ReturnType<typeof codeBlocks>[number]): string[] {
  if (snippet === undefined) return [`line ${line}: a block without <!-- snippet: … -->`];
  const region = readRegion(snippet);
  if (region === undefined) return [`line ${line}: ${snippet} does not exist`];
  return region === code ? [] : [`line ${line}: the block differs from ${snippet}`];
}

function readRegion(snippet: string): string | undefined {
  const [file = "", name = ""] = snippet.split("#");
  const path = join(rootFolder, file);
  return EXAMPLE.test(file) && existsSync(path) ? regionOf(readFileSync(path, "utf8"), name) : undefined;
}

function updateBlocks(page: Page): Page {
  const text = page.text.replaceAll(
    CODE_BLOCK,
    (whole, snippet: string | undefined, _comments, _language, code: string) => {
      const region = snippet === undefined ? undefined : readRegion(snippet);
      const head = whole.slice(0, whole.length - code.length - FENCE.length);
      return region === undefined ? whole : `${head}${region}${FENCE}`;
    },
  );
  if (text !== page.text) writeFileSync(join(rootFolder, page.path), text);
  return { path: page.path, text };
}
