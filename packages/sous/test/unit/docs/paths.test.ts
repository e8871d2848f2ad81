/** Paths that pages and comments name exist: `runtime/tree/`, `storage/store/memory.ts`. */

import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { parseSync } from "rolldown/utils";
import { pages } from "../../support/docs/markdown-files.ts";
import { rootFolder } from "../../support/source-files.ts";

type Place = { readonly file: string; readonly line: number; readonly text: string };
type Named = Place & { readonly path: string; readonly before: readonly string[] };

/** Folders that a path may begin in, besides that of its file and folders that its line names before it. */
const STARTS = ["", "packages/sous", "packages/sous/src", "packages/sous/test", "packages/sous/test/figures"];

/** First parts of paths of this repository. A path of a program (`.ts`, `.mjs`) is of this repository with any first part. */
const FIRST_PARTS = new Set(
  ["*/", "packages/sous/*/", "packages/sous/{src,test}/*/", "packages/sous/src/*/*/"].flatMap((folders) =>
    globSync(folders, { cwd: rootFolder }).map((path) => path.split(/[\\/]/).at(-1) ?? ""),
  ),
);

/** First parts that belong to the reader's project in pages for users. */
const OF_READERS = new Set(["src", "app", "packages"]);
const FOR_USERS = /^docs\/(?:how-to|reference|tutorials)\//;

/** Ends with a slash or an extension. A text in quotes is a value; one with a placeholder (`{`, `<`) or a variable is not a path. */
const PATH = /(?<![\w.*/~$@:"'-])(?:[\w.-]+\/)(?:[\w.*-]+\/)*(?:[\w.*-]+\.(?:ts|mjs|md|json))?(?![\w/*<{$-]|\.\w)/g;
/** A name of one letter and a folder in capitals stand for any name: `src/a.ts`, `docs/NAME/main.ts`. */
const STANDS_FOR_ANY = /(?:^|\/)(?:[a-z](?:\/|\.\w+$)|[A-Z]+\/)/;
/** Behind a path that only an earlier commit has. */
const FROM_HISTORY = /^`? of commit /;

test("paths in the pages exist", () => {
  const read = pages().filter(({ path }) => path !== "CHANGELOG.md");
  const named = read.flatMap(({ path, text }) => linesOf(path, codeOf(text)).flatMap(pathsOf));
  assert.ok(named.length > 100, `${named.length} paths`);
  assert.deepEqual(named.filter(isMissing).map(shown), []);
});

test("paths in comments exist", () => {
  const files = globSync(["packages/sous/{src,test}/**/*.{ts,mjs}", "{scripts,soak}/**/*.{ts,mjs}"], {
    cwd: rootFolder,
  });
  const named = files.flatMap((file) =>
    linesOf(file, commentsOf(file, readFileSync(join(rootFolder, file), "utf8"))).flatMap(pathsOf),
  );
  assert.ok(named.length > 50, `${named.length} paths`);
  assert.deepEqual(named.filter(isMissing).map(shown), []);
});

test("paths that do not exist are found with their lines", () => {
  const page = [
    "`model/` and `store/memory.ts` behind `runtime/`; model/ and `src/pay.ts`",
    "`bridges/acp/serve*.ts`, `bridges/nowhere*.ts`, `nowhere/at-all.ts`",
    "`app/cli/` has `acp/`, `nowhere/` is not ours",
  ].join("\n");
  assert.deepEqual(missingIn("AGENTS.md", codeOf(page)), [
    "AGENTS.md:1: model/",
    "AGENTS.md:1: store/memory.ts",
    "AGENTS.md:1: src/pay.ts",
    "AGENTS.md:2: bridges/nowhere*.ts",
    "AGENTS.md:2: nowhere/at-all.ts",
  ]);
  assert.deepEqual(missingIn("docs/how-to/a.md", "src/pay.ts tools/"), ["docs/how-to/a.md:1: tools/"]);
  const code =
    'look("model/"); // tools/a.ts, "tools/b.ts", docs/NAME/main.ts\n/** In cli/, not store/c.ts of commit 1. */';
  assert.deepEqual(missingIn("a.ts", commentsOf("a.ts", code)), ["a.ts:2: cli/"]);
});

function missingIn(file: string, text: string): string[] {
  return linesOf(file, text).flatMap(pathsOf).filter(isMissing).map(shown);
}

function linesOf(file: string, text: string): Place[] {
  return text.split("\n").map((line, index) => ({ file, line: index + 1, text: line }));
}

function pathsOf(place: Place): Named[] {
  const isForUsers = FOR_USERS.test(place.file);
  const before: string[] = [];
  return [...place.text.matchAll(PATH)].flatMap(({ 0: path, index }) => {
    const first = path.split("/")[0] ?? "";
    const isOurs = FIRST_PARTS.has(first) || (!isForUsers && /\.(?:ts|mjs)$/.test(path) && !first.startsWith("."));
    const isOfReader = isForUsers && OF_READERS.has(first);
    const isOld = FROM_HISTORY.test(place.text.slice(index + path.length));
    if (!isOurs || isOfReader || isOld || STANDS_FOR_ANY.test(path)) return [];
    const named = { ...place, path, before: [...before] };
    before.push(...STARTS.map((start) => join(start, path.endsWith("/") ? path : dirname(path))));
    return [named];
  });
}

function isMissing({ file, path, before }: Named): boolean {
  return ![...STARTS, ...before, dirname(file)].some((start) =>
    path.includes("*")
      ? globSync(join(start, path), { cwd: rootFolder }).length > 0
      : existsSync(join(rootFolder, start, path)),
  );
}

function shown({ file, line, path }: Named): string {
  return `${file}:${line}: ${path}`;
}

/** The texts in backticks, at their lines. Blocks of code have checks of their own. */
function codeOf(page: string): string {
  const prose = page.replaceAll(/^```.*?^```/gms, (block) => block.replaceAll(/[^\n]/g, ""));
  const lines = prose.split("\n").map((line) => [...line.matchAll(/`[^`]+`/g)].map(([code]) => code).join(" "));
  return lines.join("\n");
}

/** The comments of a program, at their lines. */
function commentsOf(file: string, text: string): string {
  let kept = "";
  let at = 0;
  for (const { start, end } of parseSync(file, text).comments) {
    kept += text.slice(at, start).replaceAll(/[^\n]/g, "") + text.slice(start, end);
    at = end;
  }
  return kept;
}
