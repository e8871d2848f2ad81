/** The results of the tools for many texts, patterns and edits, word for word. */

import { join } from "node:path";
import { test } from "node:test";
import { htmlToMarkdown } from "../../../../src/app/tools/page-text.ts";
import { pausesFor } from "../../../../src/app/tools/pauses.ts";
import { NO_RULES } from "../../../../src/app/tools/walk.ts";
import { ToolFailure } from "../../../../src/core/errors.ts";
import { compileGlob } from "../../../../src/core/glob.ts";
import { assertGolden } from "../../../support/app/cli/golden.ts";
import { answer, temporaryTree } from "../../../support/app/tools/temporary-tree.ts";
import { edit, write } from "../../../support/app/tools/write-tools.ts";

const pauses = pausesFor(new AbortController().signal);

function compare(name: string, lines: readonly string[]): void {
  assertGolden(`pictures-${name}.txt`, lines, import.meta.dirname);
}

function tried(act: () => readonly string[]): readonly string[] {
  try {
    return act();
  } catch (error) {
    if (error instanceof ToolFailure) return [`  failed: ${error.message}`];
    throw error;
  }
}

const PATHS = [
  "a",
  "b",
  "ab",
  "a.ts",
  "a.js",
  ".a",
  "a-b",
  "a]b",
  "a*b",
  "é.ts",
  "😀.ts",
  "a/b",
  "a/b.ts",
  "a/.b/c.ts",
  "a/b/c",
  "a/b/c.ts",
  "src/a.ts",
  "src/a.test.ts",
  "src/deep/er/a.ts",
  "x/src/a.ts",
];

test("glob patterns match exactly these paths, and enter exactly these folders", () => {
  const patterns = [
    ..."* ** *.ts *.{ts,js} a?b ? ?.ts [ab] [!ab] [^a] [a-c]* [c-a] [a [] []] []a] [!]a] [a-] [-a] a[]]b a\\*b \\a a\\ {a,b} {a} {a,b".split(
      " ",
    ),
    ..."a{,.ts} {a,{b,ab}} a/** **/a **/a.ts a/**/c a/**/c.ts **/b/** src/*.ts src/**/*.ts ./a /a a/ a// a/../b .. ** /**".split(
      " ",
    ),
    "",
    "/",
    "a".repeat(5),
    `{${"a,".repeat(300)}b}`,
    `${"{a,b}".repeat(9)}`,
    `${"*".repeat(9000)}`,
    "**/**/a",
    "a/*/c*",
    "*a*b*",
    "*/*",
    "**/*",
    "src/**",
    "!a",
    "#a",
    "a b",
  ];
  const lines = patterns.flatMap((pattern) => [
    JSON.stringify(pattern.slice(0, 60)),
    ...tried(() => {
      const glob = compileGlob(pattern);
      const folders = [".", "a", "a/b", "src", "src/deep", "x", "x/y/z"].filter((each) => glob.mayMatchBelow(each));
      return [
        `  matches ${PATHS.filter((path) => glob.matches(path)).join(" ") || "nothing"}`,
        `  enters ${folders.join(" ") || "nothing"}`,
      ];
    }),
  ]);
  compare("glob", lines);
});

test("rules of .gitignore leave out exactly these paths", async () => {
  const files: [top: string, inside?: string][] = [
    ["a"],
    ["/a"],
    ["a/"],
    ["*.ts"],
    ["*.ts\n!a.ts"],
    ["!a.ts\n*.ts"],
    ["src/"],
    ["src/*"],
    ["/src/*.ts"],
    ["**/b"],
    ["a/**"],
    ["a/**/c.ts"],
    ["#a\n\\#a\na"],
    ["a  "],
    ["a\\ "],
    ["\\a"],
    ["\\!a\n!b\nb"],
    ["[ab]"],
    ["a\r\nb\r\n"],
    [""],
    ["/"],
    ["!/\n//\n/ "],
    [`${"x".repeat(4097)}\na`],
    [`${"x".repeat(4096)}\na`],
    ["*", "!c.ts"],
    ["c.ts", "!/c.ts"],
    ["!c.ts", "/c"],
  ];
  const lines: string[] = [];
  for (const [top, inside] of files) {
    let rules = NO_RULES.within(".", top);
    if (inside !== undefined) rules = rules.within("a/b", inside);
    const left: string[] = [];
    for (const path of PATHS) {
      if (await rules.ignores(path, false, pauses)) left.push(path);
      if (await rules.ignores(path, true, pauses)) left.push(`${path}/`);
    }
    lines.push(JSON.stringify([top.slice(0, 60), inside]), `  leaves out ${left.join(" ") || "nothing"}`);
  }
  compare("gitignore", lines);
});

const PAGES = [
  "<p>one<p>two",
  "<h1>A</h1><h2>B</h2><h3>C</h3><h6>F</h6><h7>G</h7>",
  "a<br>b<br/>c<hr>d",
  "<ul><li>a<li>b<ul><li>c</ul><li>d</ul>",
  "<ol><li>a<li>b</ol><ol start=5><li>e<li>f</ol><ol start=x><li>g</ol>",
  "<ul><li><p>a</p><p>b</p></li></ul>",
  "<ul><li><h2>a</h2>b<li><pre>c\nd</pre><li><div><p>e</div><li></li><p>f</p><li></ul>g<p>h",
  "<ol><li><ul><li>a</ul><li><h3></h3><p>b<li><table><tr><td>c<td>d</table></ol><h2></h2>e",
  "<blockquote>a<p>b<blockquote>c</blockquote></blockquote>d",
  "<pre>a\n  b\n\n c</pre>",
  "<pre><code class='language-ts'>a `b` ```c```</code></pre>",
  "<pre>````</pre>",
  "a <code>b</code> <code>`c`</code> <code></code>",
  "a <b>b</b> <strong> c </strong><i>d</i><em>e</em><b></b>",
  "<a href='/x'>y</a> <a href='https://a.b/c'>d</a> <a href='javascript:x'>e</a> <a>f</a> <a href='#g'>h</a> <a href=/i></a>",
  "<a href='mailto:a@b.c'>d</a> <a href='data:x'>e</a> <a href='http://[bad'>f</a>",
  "<img src=a.png alt='a  picture'> <img alt=''> <img>",
  `<img alt="${"x".repeat(400)}">`,
  `<title>${"t ".repeat(400)}</title>x`,
  "<title> a \n b </title><title>second</title>x",
  "<script>a</script><style>b</style><noscript>c</noscript><template>d</template><svg><text>e</text></svg>f",
  "<script>a</scriptx></script>b<style>c</style",
  "<!-- a --> b <!-- c -- d --> e <!---> f <!-- g",
  "<!doctype html><?xml a?><![CDATA[b]]>c",
  "a &amp; b &lt;c&gt; &quot;d&quot; &#101; &#x66; &nbsp;g &unknown; &#0; &#x110000; &#55296; & &; &amp",
  "<table><tr><th>a<th>b<tr><td>1<td>2</table>",
  "<table><tr><td>only</table>",
  "<table><tr><td>a|b<td>c<br>d<tr><td>e</table>",
  "<table><thead><tr><th>h</thead><tbody><tr><td>i<td>j<td>k</tbody></table>z",
  "<table><tr><td><table><tr><td>a<td>b</table><td>c</table>",
  "<table></table>a",
  "<div>a</div><div>b</div><span>c</span><section>d</section>",
  "<p>  a   b\n c  </p>\n\n\n<p></p><p>d",
  "<dl><dt>a<dd>b<dt>c<dd>d</dl>",
  "<button>a</button><select><option>b<option>c</select><input value=d><textarea>e</textarea><label>f</label>",
  "<nav>a</nav><header>b</header><footer>c</footer><main>d</main><aside>e</aside>",
  "<p hidden>a</p><p style='display:none'>b</p><p aria-hidden=true>c</p>d",
  "<A HREF=/X>Y</A><P>Z",
  "<svg/>a<svg />b<svg a=1/>c<svg a='1'/>d",
  "<p hidden/>a</p>b<div hidden />c</div>d<title/>e",
  "a < b > c <d",
  "<p title='a>b'>c</p><p title=\"d'e\">f<p title=g'h>i<p title=>j<p =k>l",
  "<b><i>a</b></i>b</p></div>c",
  "<li>a</li><td>b</td>",
  "* a _b_ `c` # d\n1. e [f](g) \\h",
  "<p># a</p><p>- b</p><p>1. c</p><p>> d</p>",
  "é 漢字 😀 \u00a0x\u200by",
  "",
  "   ",
  "<",
  "</",
  "<a",
  "<a href='",
];

test("pages become exactly these texts, as Markdown and plain", async () => {
  const lines: string[] = [];
  for (const page of PAGES) {
    lines.push(JSON.stringify(page.slice(0, 120)));
    for (const isPlain of [false, true]) {
      const { title, text } = await htmlToMarkdown(page, { base: "https://example.org/a/b", isPlain }, pauses);
      lines.push(`  ${isPlain ? "plain" : "Markdown"}: ${JSON.stringify(title === "" ? text : { title, text })}`);
    }
  }
  compare("html", lines);
});

const NUMBERED = Array.from({ length: 40 }, (_, index) => `line ${index + 1}`).join("\n");
const CODE = "function a() {\n\treturn 1;\n}\n\nfunction b() {\n  return 2;\n}\n\nfunction c() {\n  return 22;\n}\n";

test("edits change exactly this, and say so", async () => {
  const edits: [content: string, change: { old: string; new: string; all?: boolean }][] = [
    [NUMBERED, { old: "line 20", new: "row 20" }],
    [NUMBERED, { old: "line 1\n", new: "" }],
    [NUMBERED, { old: "line 40", new: "line 40\nline 41\n" }],
    [NUMBERED, { old: "line 10\nline 11\nline 12", new: "x" }],
    [NUMBERED, { old: "line 10\n", new: "line 10\nmore\n" }],
    [NUMBERED, { old: "5", new: "five", all: true }],
    [NUMBERED, { old: "line", new: "row", all: true }],
    [NUMBERED, { old: "line", new: "row" }],
    [NUMBERED, { old: "line 1", new: "row 1" }],
    [NUMBERED, { old: "lime 20", new: "x" }],
    [NUMBERED, { old: "nothing of it", new: "x" }],
    [NUMBERED, { old: "20\tline 20", new: "x" }],
    [NUMBERED, { old: "row 7", new: "line 7" }],
    [NUMBERED, { old: "line 3", new: "line 3" }],
    [`${NUMBERED}\n${NUMBERED}`, { old: "line 12\n", new: "x\n" }],
    [`${NUMBERED}\n${NUMBERED}`, { old: "line 12\n", new: "x\n", all: true }],
    [CODE, { old: "  return 1;", new: "x" }],
    [CODE, { old: "\treturn 2;", new: "x" }],
    [CODE, { old: "return 1; ", new: "x" }],
    [CODE, { old: "return  2;", new: "x" }],
    [CODE, { old: "\nfunction b() {\n\treturn 2;\n}\n", new: "x" }],
    [CODE, { old: "function  b() {\n  return 2;\n}", new: "x" }],
    [CODE, { old: "function b( {\n  returns 2\n}", new: "x" }],
    [CODE, { old: "return 3;", new: "x" }],
    [CODE, { old: "\n\n\n", new: "x" }],
    [CODE, { old: "}\n\n", new: "}\n", all: true }],
    ["a\r\nb\r\nc\r\n", { old: "b\n", new: "x\ny\n" }],
    ["a\r\nb\nc\r\n", { old: "b\nc", new: "x\ny" }],
    ["a\nb\r\nc", { old: "c", new: "x\ny" }],
    ["aaaa", { old: "aa", new: "b", all: true }],
    ["aaaa", { old: "aa", new: "b" }],
    ["", { old: "a", new: "b" }],
    ["one", { old: "one", new: "" }],
    ["a\nb", { old: "a", new: "a\nb" }],
    ["foo foo(bar)", { old: "bar", new: "(bar)" }],
    [`${"x".repeat(500)}\nshort\n`, { old: "short", new: "y".repeat(500) }],
    [`${"w ".repeat(70)}a\n`, { old: `${"w ".repeat(70)}b`, new: "x" }],
  ];
  const lines: string[] = [];
  for (const [content, change] of edits) {
    await using tree = await temporaryTree({ a: content });
    const said = await edit({ path: "a", ...change }, tree.path);
    const now = await answer("read_file", { path: "a" }, tree.path);
    const isLong = content.length > 200;
    lines.push(`${JSON.stringify(content.slice(0, 40))} ${JSON.stringify(change).slice(0, 120)}`);
    lines.push(...said.split("\n").map((line) => `  ${line}`), ...(isLong ? [] : [`  now ${JSON.stringify(now)}`]));
  }
  compare("edits", lines);
});

test("names of one letter and of the greatest length are taken, and longer ones are refused with their beginning", async () => {
  await using tree = await temporaryTree({ a: "b\n", "c/d": "b\n" });
  const long = "x".repeat(5000);
  const calls: [name: string, input: Record<string, unknown>][] = [
    ["read_file", { path: "a", offset: 1, limit: 1 }],
    ["read_file", { path: long }],
    ["grep", { pattern: "b" }],
    ["grep", { pattern: "b", path: "a" }],
    ["grep", { pattern: "b", path: "c", limit: 1 }],
    ["grep", { pattern: "b", glob: "a" }],
    ["grep", { pattern: "B", ignore_case: true }],
    ["glob", { pattern: "a" }],
    ["glob", { pattern: "d", path: "c" }],
    ["list_files", { path: "c" }],
    ["list_files", { path: long }],
  ];
  const lines: string[] = [];
  for (const [name, input] of calls) {
    const said = await answer(name, input, tree.path);
    lines.push(`${name} ${JSON.stringify(input).slice(0, 80)}`, ...said.split("\n").map((line) => `  ${line}`));
  }
  for (const path of ["e", long, join(...Array.from({ length: 40 }, () => "f"), "g")]) {
    lines.push(`write_file ${path.slice(0, 80)}`, `  ${await write({ path, content: "" }, tree.path)}`);
  }
  compare("names", lines);
});
