/** Pages, comments, messages and the names of tests use ordinary words: the part that acts is named, and a run continues. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parseSync, Visitor } from "rolldown/utils";
import { exampleFiles } from "../../../../../scripts/repository-files.ts";
import { pages } from "../../support/docs/markdown-files.ts";
import { rootFolder, sourceFiles, sourceFolder } from "../../support/source-files.ts";
import type { SourceFile } from "../../support/star.ts";

/** Words that leave the part that acts unnamed, and second words for *approval* and *external agent*. */
const BANNED =
  /\b(?:nobody|somebody|whoever|anew|go(?:es)? on|so many|consents?|agents? of others|agents? of (?:another program|other programs)|another program's agents?|agents? outside(?! (?:of|the|a)\b))\b/gi;
const ALLOWED = [
  // Values of `approval-end`, `stop_reason` and `error_type`.
  /(["'`])(?:nobody|consent)\1/g,
  // The texts of exit code 7.
  /\bneeded consent\b/g,
  /\b7 consent\b/g,
];

test("the pages of docs, README and SECURITY have no banned words", () => {
  const found = pages()
    .filter(({ path }) => /^(?:docs\/|README|SECURITY)/.test(path) && !path.startsWith("docs/explanation/decisions/"))
    .flatMap(({ path, text }) => bannedIn(path, text));
  assert.deepEqual(found, []);
});

test("the tables of commands, options and exit codes have no banned words", () => {
  const folder = join(sourceFolder, "app/cli/table");
  const found = readdirSync(folder).flatMap((file) => bannedIn(file, readFileSync(join(folder, file), "utf8")));
  assert.deepEqual(found, []);
});

test("comments of the sources have no banned words", () => {
  const found = sourceFiles().flatMap(({ path, text }) => {
    const comments = text.split("\n").map((line) => (/^\s*(?:\/\*\*|\*|\/\/)/.test(line) ? line : ""));
    return bannedIn(path, comments.join("\n"));
  });
  assert.deepEqual(found, []);
});

test("no comment of the sources and examples begins with a word of a question, Of, Those or Its", () => {
  const found = [...sourceFiles(), ...examples()].flatMap(({ path, text }) => questionsIn(path, text));
  assert.deepEqual(found, []);
});

test("a comment that begins with a word of a question is found with its line, in one line or more", () => {
  const text =
    "/** What it is. */\n/**\n * Of several.\n * Where: fine.\n */\n// Whether it ends.\nrun(); // How long\n// Whatever\n/** Its size. */\n// Itself";
  assert.deepEqual(questionsIn("a.ts", text), [
    ...["a.ts:1: What", "a.ts:3: Of", "a.ts:6: Whether", "a.ts:7: How", "a.ts:8: Whatever", "a.ts:9: Its"],
  ]);
});

test("string literals of the sources have no banned words", () => {
  const found = withBanned(sourceFiles()).flatMap(({ path, text }) => bannedIn(path, literalsOf(path, text)));
  assert.deepEqual(found, []);
});

test("the names of tests have no banned words", () => {
  const found = withBanned(testFiles()).flatMap(({ path, text }) => bannedIn(path, testNamesOf(path, text)));
  assert.deepEqual(found, []);
});

test("literals and names of tests are read at their lines, without code and comments", () => {
  const text = '// nobody\nconst whoever = 1;\nsay("so many");\nsay(`anew`);\ntest("goes on", run);';
  assert.deepEqual(bannedIn("a.ts", literalsOf("a.ts", text)), ["a.ts:3: so many", "a.ts:4: anew", "a.ts:5: goes on"]);
  assert.deepEqual(bannedIn("a.ts", testNamesOf("a.ts", text)), ["a.ts:5: goes on"]);
});

test("a banned word is found with its line, in any case", () => {
  assert.deepEqual(bannedIn("page.md", "fine\nNobody goes on\n`nobody`"), ["page.md:2: Nobody", "page.md:2: goes on"]);
  const second =
    "Consent to agents of others\n`consent`, 7 consent: 1 action needed consent\nan agent outside the tree";
  assert.deepEqual(bannedIn("page.md", second), ["page.md:1: Consent", "page.md:1: agents of others"]);
});

function bannedIn(path: string, text: string): string[] {
  return text
    .split("\n")
    .flatMap((line, index) =>
      (withoutAllowed(line).match(BANNED) ?? []).map((word) => `${path}:${index + 1}: ${word}`),
    );
}

function withoutAllowed(line: string): string {
  return ALLOWED.reduce((text, allowed) => text.replaceAll(allowed, ""), line);
}

const QUESTION =
  /(?:\/\*\*\s+(?:\*\s+)?|\/\/ )(What|Of|How|Where|Whether|Which|Who|Whom|Whose|Whatever|Why|Those|Its)\b/g;

/** The first words of comments that do not begin with the thing or the verb. */
function questionsIn(path: string, text: string): string[] {
  return [...text.matchAll(QUESTION)].map((found) => {
    const [before, word] = [text.slice(0, found.index + found[0].length), found[1]];
    return `${path}:${before.split("\n").length}: ${word}`;
  });
}

/** Every file of code that pages show or readers start. */
function examples(): SourceFile[] {
  return exampleFiles(rootFolder)
    .filter((path) => /\.m?[jt]s$/.test(path))
    .map((path) => ({ path, text: readFileSync(join(rootFolder, path), "utf8") }));
}

/** Files without any banned word are left out: parsing takes long. */
function withBanned(files: readonly SourceFile[]): SourceFile[] {
  return files.filter(({ text }) => text.match(BANNED) !== null);
}

function testFiles(): SourceFile[] {
  const folder = join(import.meta.dirname, "../..");
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .map((path) => ({ path: path.replaceAll("\\", "/"), text: readFileSync(join(folder, path), "utf8") }));
}

/** Every string literal and every text of a template, in its quotes and at its line; the rest is empty. */
function literalsOf(path: string, text: string): string {
  const spans: Span[] = [];
  new Visitor({
    Literal: (node) => {
      if (typeof node.value === "string") spans.push(node);
    },
    TemplateElement: (node) => {
      spans.push(node);
    },
  }).visit(parseSync(path, text).program);
  return keepOnly(spans, text);
}

/** The first argument of each `test`, `suite` and `check`, in the same way. */
function testNamesOf(path: string, text: string): string {
  const spans: Span[] = [];
  new Visitor({
    CallExpression: ({ callee, arguments: [name] }) => {
      const isNamed = name?.type === "Literal" || name?.type === "TemplateLiteral";
      if (isNamed && callee.type === "Identifier" && TESTS.has(callee.name)) spans.push(name);
    },
  }).visit(parseSync(path, text).program);
  return keepOnly(spans, text);
}

const TESTS = new Set(["test", "suite", "check"]);

type Span = { readonly start: number; readonly end: number };

function keepOnly(spans: readonly Span[], text: string): string {
  const sorted = [...spans].sort((one, other) => one.start - other.start);
  let kept = "";
  let at = 0;
  for (const { start, end } of sorted) {
    kept += text.slice(at, start).replaceAll(/[^\n]/g, "") + text.slice(start, end);
    at = end;
  }
  return kept;
}
