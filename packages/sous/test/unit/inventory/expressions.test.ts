/** Every regular expression in `src/` takes time in proportion to its text: proved, or listed with what bounds it. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { UNPROVED } from "../../support/inventory/expression-table.ts";
import { expressionsIn } from "../../support/inventory/expressions-in-sources.ts";
import { sourceFiles } from "../../support/source-files.ts";
import { doubtAbout } from "./expression-time.ts";

const found = sourceFiles()
  .flatMap(expressionsIn)
  .map(({ path, written, literal }) => ({
    path,
    written,
    doubt: literal === undefined ? "it is put together at run time" : doubtAbout(literal.source, literal.flags),
  }));

test("R16: every regular expression in the sources is proved to be linear, or is listed with what bounds its time", () => {
  const listed = new Set(UNPROVED.map(({ path, written }) => `${path} ${written}`));
  const unlisted = found.flatMap(({ path, written, doubt }) => {
    if (doubt === undefined || listed.has(`${path} ${written}`)) return [];
    return [
      `${path}: ${written} may take more than linear time: ${doubt}. ` +
        "Write it as a loop or another expression; or, if its text is short or our own, list it in expression-table.ts",
    ];
  });
  assert.deepEqual(unlisted, []);
});

test("R16: every row of the table names an expression that is still there and still not proved", () => {
  const unproved = new Set(
    found.filter(({ doubt }) => doubt !== undefined).map(({ path, written }) => `${path} ${written}`),
  );
  const stale = UNPROVED.filter(({ path, written }) => !unproved.has(`${path} ${written}`));
  assert.deepEqual(
    stale.map(({ path, written }) => `${path}: remove the row of ${written}`),
    [],
  );
});

suite("R16: the proof doubts expressions that are slow", () => {
  const slow: [source: string, flags?: string][] = [
    ["(a+)+$"],
    ["^(a+)+$"],
    ["^(a|a)*$"],
    ["^(a|b|ab)*c$"],
    ["^(\\w+\\s?)+$"],
    ["^(a?){30}a{30}$"],
    ["\\s+$"],
    [" *\\n *", "g"],
    ["(?<!\\\\) +$"],
    ["^\\n|\\s+$", "g"],
    ["^\\s*(.*?)\\s*$", "s"],
    ["^(.*)x(.*)y$"],
    ["a*b"],
    ["<!--[^]*?-->", "g"],
    ["<[^>]*>", "g"],
    ["\\s*=\\s*", "y"],
    ["a(?:.*b)?", "g"],
    [",(?![^(]*\\))", "g"],
    ["(?<=a*)b", "g"],
    ["^#+.*#$", "m"],
    ["\\[[^\\]]*\\]\\(", "g"],
    ["(\\w)\\1+$"],
    ["é+$", "i"],
  ];
  for (const [source, flags = ""] of slow) {
    test(`R16: the proof doubts /${source}/${flags}`, () => assert.notEqual(doubtAbout(source, flags), undefined));
  }
});

suite("R16: the proof takes expressions that are fast", () => {
  const fast: [source: string, flags?: string][] = [
    ["\\s+", "g"],
    ['"[^"]*"', "g"],
    ["^\\s*a"],
    ["^a*b"],
    ["\\r?\\n"],
    [" ?\\n ?", "g"],
    ["sk-[\\w-]{20,400}", "g"],
    ["^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"],
    ["^-(?!.*c)"],
    ["\\n{3,}", "g"],
    ["(?:\\s|\\\\[nrt])+", "g"],
  ];
  for (const [source, flags = ""] of fast) {
    test(`R16: /${source}/${flags} is fast`, () => assert.equal(doubtAbout(source, flags), undefined));
  }
});
