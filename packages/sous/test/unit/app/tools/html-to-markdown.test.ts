import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { blockBuilder } from "../../../../src/app/tools/markdown-builder.ts";
import { htmlToMarkdown } from "../../../../src/app/tools/page-text.ts";
import { pausesFor } from "../../../../src/app/tools/pauses.ts";

const pauses = pausesFor(new AbortController().signal);

async function markdown(html: string, isPlain = false): Promise<string> {
  return (await htmlToMarkdown(html, { base: "https://example.com/docs/", isPlain }, pauses)).text;
}

suite("H6: pages as Markdown", () => {
  const rows: [what: string, html: string, read: string][] = [
    [
      "headings and paragraphs are told apart",
      "<h1>One</h1><p>a\n  b</p><h3>Two</h3>c",
      "# One\n\na b\n\n### Two\n\nc",
    ],
    ["marks stand close to the words", "a<b> bold </b>c <em>i</em> <b> </b>", "a **bold** c *i*"],
    ["marks that are not closed end with their block", "<p>a <b>bold</p><p>c", "a **bold**\n\nc"],
    ["links are written in full", '<a href="../x?a=1&amp;b=2">x</a>', "[x](https://example.com/x?a=1&b=2)"],
    ["brackets in links are escaped", '<a href="/a(b)">x</a>', "[x](https://example.com/a%28b%29)"],
    ["links that lead nowhere are words", '<a href="javascript:x()">a</a> <a href="#b">b</a> <a>c</a>', "a b c"],
    ["lists are indented", "<ul><li>a<ul><li>b</ul><li>c</ul>", "- a\n  - b\n- c"],
    ["numbered lists keep their numbers", '<ol start="3"><li>a</li><li>b</li></ol>', "3. a\n4. b"],
    ["code is marked", "<p>Use <code>a &lt; b</code></p>", "Use `a < b`"],
    ["blocks of code keep their language", '<pre class="lang-ts"><code>a\n  b\n</code></pre>', "```ts\na\n  b\n```"],
    ["a fence in code does not end it", "<pre>```\n````</pre>", "`````\n```\n````\n`````"],
    ["quotes are marked", "<blockquote><p>a</p></blockquote>b", "> a\n\nb"],
    [
      "tables have bars",
      "<table><tr><th>a<th>b|c</tr><tr><td>1<td><p>2</table>",
      "| a | b\\|c |\n| --- | --- |\n| 1 | 2 |",
    ],
    ["tables that lay out a page become text", "<table><tr><td><p>a</table>", "a"],
    [
      "tables in tables become text in their cell",
      "<table><tr><td>a<table><tr><td>x<td>y</table><td>b</table>",
      "| a x y | b |\n| --- | --- |",
    ],
    [
      "code in a table is one line of it",
      "<table><tr><td><pre>a\n  b</pre><td>c</table>",
      "| a b | c |\n| --- | --- |",
    ],
    [
      "lists that are nested too deeply end where they end",
      `${"<ul><li>x".repeat(14)}${"</ul>".repeat(13)}<li>y</ul>z`,
      [...Array.from({ length: 14 }, (_, depth) => `${"  ".repeat(Math.min(depth, 11))}- x`), "- y", "", "z"].join(
        "\n",
      ),
    ],
    ["line breaks and rules are kept", "a<br>b<hr>c", "a\nb\n\n---\n\nc"],
    ["pictures are named by their words", '<img src="x.png" alt="A cat"><img src="y.png">', "[image: A cat]"],
    [
      "scripts, styles and comments go",
      "a<script>'<p>no</p>'</script><style>b{}</style><!-- c --><svg><text>d</text></svg>e",
      "ae",
    ],
    ["what never ends goes", "a<script>b", "a"],
    ["hidden text goes", '<p>a</p><div hidden>b<div>c</div>d</div><span style="display: none">e</span>f', "a\n\nf"],
    [
      "characters are read by name and number",
      "&lt;&amp;&nbsp;&copy;&#233;&#x1F600;&bogus;&#0;",
      "<& ©é\u{1f600}&bogus;\ufffd",
    ],
    ["brackets that are no tags stay", "1 < 2 <3 a<", "1 < 2 <3 a<"],
    ["attributes may have brackets in them", '<a title="a > b" href="/x">y</a>', "[y](https://example.com/x)"],
    ["words lose their places to break", "a\u00adb\u200bc", "abc"],
  ];
  for (const [what, html, read] of rows) test(`H6: ${what}`, async () => assert.equal(await markdown(html), read));

  test("H6: the title is told apart", async () => {
    const options = { base: "https://example.com", isPlain: false };
    const page = await htmlToMarkdown("<head><title>A &amp;\n B</title></head><p>c", options, pauses);
    assert.deepEqual(page, { title: "A & B", text: "c" });
  });

  test("H6: plain text has no marks", async () => {
    assert.equal(
      await markdown('<h1>A</h1><ul><li><b>b</b> <a href="/c">c</a></ul><pre>d</pre>', true),
      "A\n\n- b c\n\nd",
    );
  });

  test("H6: text beyond the longest length is dropped to the last character", () => {
    const written = (...texts: string[]): string => {
      const builder = blockBuilder({ isPlain: false, maxLength: 4 });
      for (const text of texts) builder.text(text);
      return `${builder.isFull()} ${builder.end()}`;
    };
    assert.equal(written("abc"), "false abc");
    assert.equal(written("abcd"), "true abcd");
    assert.equal(written("abcde"), "true abcd");
    assert.equal(written("abc", "de", "f"), "true abcd");
    assert.equal(written("abcd", "e", "f"), "true abcd");
  });

  test("H6: depth and length are bounded, whatever the page is", async () => {
    const pieces = [
      "<b>",
      "<div>",
      "<ul><li>x",
      "<table><tr><td>x",
      "<td>x",
      "<blockquote>x",
      "<a b='",
      "<!--",
      "<p x=",
      "&",
      "<",
      "<script>",
    ];
    for (const piece of pieces) {
      assert.ok((await markdown(`<table><tr>${piece.repeat(20_000)}`)).length < 2_000_000, piece);
      assert.ok((await markdown(piece.repeat(20_000))).length < 2_000_000, piece);
    }
  });
});
