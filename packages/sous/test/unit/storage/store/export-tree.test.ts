/** An export shows a tree to people, and nothing in it does anything but be read. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { StoredEvent } from "../../../../src/core/event.ts";
import { type ExportFormat, exportTree } from "../../../../src/storage/store/export/tree.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { EVERY_EVENT } from "../../../support/core/every-event.ts";
import { CHILD, exportedText, FOLLOW_UP, ROOT, wholeTree } from "./exported-tree.ts";

async function exported(format: ExportFormat, events: readonly StoredEvent[] = wholeTree()): Promise<string> {
  const store = openMemoryStore();
  store.append(ROOT, events);
  return exportTree(store, ROOT, format);
}

/** Every text of every event but ids, types and words of the schema, replaced. */
function withTexts(text: string): StoredEvent[] {
  const FREE = [
    "label",
    "text",
    "output",
    "toolName",
    "message",
    "model",
    "agent",
    "nickname",
    "instructions",
    "reason",
  ];
  const more = ["stack", "waitingFor", "filename", "summaryPrompt", "pattern", "signature", "hits", "use", "data"];
  const names = new Set([...FREE, ...more]);
  const spoil = (value: unknown, key: string): unknown => {
    if (typeof value === "string") return names.has(key) ? text : value;
    if (Array.isArray(value)) return value.map((item) => spoil(item, key));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, spoil(item, name)]));
  };
  const words = (event: StoredEvent) => (event.type === "notice" ? { reason: "summary" } : {});
  return wholeTree().map((event) => ({ ...(spoil(event, "") as StoredEvent), ...words(event) }) as StoredEvent);
}

test("only a whole tree is exported, and only in a format that exists", async () => {
  const store = openMemoryStore();
  store.append(ROOT, wholeTree());
  await assert.rejects(exportTree(store, "nobody", "json"), {
    name: "UserError",
    message: 'No run with the id "nobody"',
  });
  for (const id of [CHILD, FOLLOW_UP]) {
    const message = `Run ${id} is a part of tree ${ROOT}: export that one`;
    await assert.rejects(exportTree(store, id, "json"), { name: "UserError", message });
  }
  const message = 'A tree can be exported as json, html or md; found "pdf"';
  await assert.rejects(exportTree(store, ROOT, "pdf" as "md"), { name: "UserError", message });
});

suite("JSON", () => {
  test("G6: the JSON file has a format, a version and one event per line", async () => {
    const [head, ...lines] = (await exported("json")).split("\n");
    assert.equal(head, '{"format":"sous-tree","version":3,"events":[');
    const events = lines.slice(0, -2).map((line) => JSON.parse(line.replace(/,$/, "")));
    assert.deepEqual(events, JSON.parse(JSON.stringify(wholeTree())));
    assert.deepEqual(lines.slice(-2), ["]}", ""]);
  });

  test("half a character becomes the one that stands for it, and a backslash that looks like one stays", async () => {
    const text = await exportedText(withTexts("a\ud800b \\ud800"));
    assert.ok(text.includes(String.raw`a�b \\ud800`));
    assert.doesNotMatch(text, /[^\\]\\ud800/);
  });
});

suite("HTML", () => {
  const TAGS = new Set(
    "html head meta title style body header p span time h1 h3 h4 nav div table thead tbody tr th td a main details summary dl dt dd ol li section code pre figure figcaption img footer".split(
      " ",
    ),
  );
  const ATTRIBUTES = new Set(
    "lang charset http-equiv content name class datetime dir aria-label scope style href title id open tabindex src alt".split(
      " ",
    ),
  );
  const ATTACKS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)' x='",
    "</pre></details><iframe src=//evil.example>",
    "<!-- ]]> -->",
    "&lt;script&gt; &#60;b&#62;",
    "javascript:alert(1)",
    "</style><style>@import url(//evil.example)",
  ];

  for (const attack of ATTACKS) {
    test(`the page shows ${attack} and does not become it`, async () => {
      const html = await exported("html", withTexts(attack));
      const [, style = ""] = /<style>([\s\S]*?)<\/style>/.exec(html) ?? [];
      const body = html.replace(style, "").replace("<!doctype html>", "");
      for (const [tag, name = "", attributes = ""] of body.matchAll(/<\/?([a-z0-9]*)([^>]*)>?/gi)) {
        assert.ok(TAGS.has(name), `${tag} is not ours`);
        const rest = attributes.replace(/\s([a-z-]+)(="[^"<>]*")?/g, (_, attribute: string) => {
          assert.ok(ATTRIBUTES.has(attribute), `${tag} has ${attribute}`);
          return "";
        });
        assert.equal(rest, "", `${tag} is odd`);
      }
      for (const [, address = ""] of body.matchAll(/(?:href|src)="([^"]*)"/g)) {
        assert.match(address, /^(#(run-\d+)?|data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+)$/);
      }
      assert.doesNotMatch(style, /url\(|@import|</);
    });
  }

  test("the page has no script and loads nothing, and says so to the browser", async () => {
    const html = await exported("html");
    assert.ok(
      html.includes(
        `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">`,
      ),
    );
    assert.doesNotMatch(html, /<script|<link|<iframe|<object|<form|<base|https?:/i);
  });

  test("the page makes hidden characters and terminal codes visible", async () => {
    const html = await exported(
      "html",
      withTexts("a\u202eb\u0000c\u001b[31m\u200bd\u{e0041}\u009b👩‍👩‍👧 \u2764\ufe0f\r\n\te"),
    );
    assert.ok(
      html.includes(
        'a<span class="hidden">U+202E</span>b<span class="hidden">␀</span>c<span class="hidden">␛</span>[31m<span class="hidden">U+200B</span>d<span class="hidden">U+E0041</span><span class="hidden">U+009B</span>👩‍👩‍👧 ❤️\n\te',
      ),
    );
    for (const hidden of "\u202e\u200b\u001b\u009b\u0000\u{e0041}\r") assert.equal(html.includes(hidden), false);
  });

  test("the page shows a picture only when the file is one", async () => {
    const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const show = async (mediaType: string, data: string) => {
      const [start, ...rest] = wholeTree();
      if (start?.type !== "run-start") throw new Error("no start");
      const task = { role: "user", content: [{ type: "file", mediaType, data }] } as const;
      const html = await exported("html", [{ ...start, task }, ...rest.slice(0, 1)]);
      return [...html.matchAll(/<img src="([^"]*)"/g)].map(([, address]) => address);
    };
    assert.deepEqual(await show("image/png", png), [`data:image/png;base64,${png}`]);
    assert.deepEqual(await show("image/PNG", `data:image/png;base64,${png}`), [`data:image/png;base64,${png}`]);
    const none: [string, string][] = [
      ["image/jpeg", png],
      ["image/svg+xml", btoa("<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>")],
      ["text/html", png],
      ["image/png", `${png}" onerror="alert(1)`],
      ["image/png", "https://evil.example/a.png"],
      ["image/png", "data:text/html;base64,aGk="],
      ["image/png", "iVBORw0KGgo"],
      ["image/png\u0000", png],
      ["__proto__", png],
    ];
    for (const [mediaType, data] of none) assert.deepEqual(await show(mediaType, data), [], mediaType);
  });

  test("the page has the tree at its top, with a link to each run and its figures", async () => {
    const html = await exported("html");
    const rows = [
      ...html.matchAll(
        /<tr class="(\w+)"><th[^>]*--depth:(\d)"><a href="#(run-\d)"[^>]*>([^<]*)<\/a>(.*?)<\/th>(.*)<\/tr>/g,
      ),
    ];
    assert.deepEqual(
      rows.map(([, kind, depth, anchor, name, origin = "", cells = ""]) => [
        kind,
        depth,
        anchor,
        name,
        origin.replace(/<[^>]*>/g, ""),
        cells.replace(/<[^>]*>/g, " ").trim(),
      ]),
      [
        ["bad", "0", "run-1", "lead", "", "failed   2  3  ~12  $0.0300  1.2 s"],
        ["bad", "1", "run-2", "scout", " fork", "failed   2  3  ~12  $0.0300  1.2 s"],
        ["bad", "0", "run-3", "lead", " follow-up", "failed   2  3  ~12  $0.0300  1.2 s"],
      ],
    );
    for (const anchor of ["run-1", "run-2", "run-3"]) assert.equal(html.split(`id="${anchor}"`).length, 2);
  });

  test("the page says what happened in the order it happened, with each call beside its result", async () => {
    const text = textOf(await exported("html"));
    const expected = [
      "1 Task",
      "2 Model",
      "grep ✗ failed",
      "not allowed (person): No.",
      "Input",
      '"pattern": "x"',
      "Result",
      "nothing",
      "! Token limit exceeded: 1200/1000",
      "! Attempt 1 failed (overloaded): The provider is busy. Asked again after 0.5 s.",
      "4 messages left out from here on: 9000 tokens became 4000.",
      "The report was cut to 4096 of 9000 bytes.",
      "! scout was not started (quota): Token limit exceeded: 12/10",
      "! Nothing had happened for 60 s; it waited for the model.",
      "3 Said from outside",
      "Look closely.",
      "4 Notice of the runtime",
      "Sum up.",
      "Resumed after an interruption; 1.2 s had been used.",
      "5 Report of a child",
      "! model: The provider is down",
      "Output",
    ];
    let at = 0;
    for (const each of expected) {
      const next = text.indexOf(each, at);
      assert.ok(next >= 0, `${each} is not there, or earlier`);
      at = next + each.length;
    }
  });
});

suite("Markdown", () => {
  test("fences are longer than any run of backticks in what they hold", async () => {
    const markdown = await exported("md", withTexts("before\n````\n# No heading\n`````js\nafter"));
    let fence: string | undefined;
    const outside = markdown.split("\n").filter((line) => {
      const [, ticks = ""] = /^(`{3,})/.exec(line) ?? [];
      const isClosing = fence !== undefined && line === fence;
      const isOpening = fence === undefined && ticks !== "";
      if (isOpening) fence = ticks;
      else if (isClosing) fence = undefined;
      return fence === undefined && !isClosing;
    });
    assert.equal(fence, undefined);
    assert.deepEqual(
      outside.filter((line) => /^# |^after|^before/.test(line)),
      ["# A tree of sous"],
    );
  });

  test("the words of others are never mark-up, mention or link, and hidden characters can be seen", async () => {
    const said = "[click](https://evil.example) @everyone #1 <b>bold</b> a|b ![x](http://evil.example/p.png) \u202e`";
    const markdown = await exported("md", withTexts(said));
    const outside = markdown
      .replace(/^(`{3,})\w+\n[\s\S]*?\n\1$/gm, "")
      .replace(/(?<!`)(`+)(?!`)[\s\S]*?(?<!`)\1(?!`)/g, "");
    assert.doesNotMatch(outside, /evil|everyone|<b>|\u202e/);
    assert.doesNotMatch(markdown, /\u202e/);
    assert.ok(markdown.includes("⟨U+202E⟩"));
  });

  test("the Markdown file has the tree as a table and every run as a section", async () => {
    const markdown = await exported("md");
    assert.deepEqual(markdown.split("\n").slice(0, 7), [
      "# A tree of sous",
      "",
      "| Run | Status | Turns | Tools | Tokens | Cost | Time |",
      "| --- | --- | --: | --: | --: | --: | --: |",
      "| `lead` | failed | 2 | 3 | ~12 | $0.0300 | 1.2 s |",
      "| &nbsp;&nbsp;└ `scout` (fork) | failed | 2 | 3 | ~12 | $0.0300 | 1.2 s |",
      "| `lead` (follow-up) | failed | 2 | 3 | ~12 | $0.0300 | 1.2 s |",
    ]);
    assert.deepEqual(
      markdown.split("\n").filter((line) => line.startsWith("## ")),
      ["## `lead`", "## `lead/scout`", "## `lead`"],
    );
  });
});

test("a branch shows what it begins with, and where that was said", async () => {
  const [start, ...rest] = wholeTree();
  if (start?.type !== "run-start") throw new Error("no start");
  const { origin } = EVERY_EVENT["run-start"];
  const events: StoredEvent[] = [{ ...start, origin }, ...rest.slice(0, 1)];
  const html = textOf(await exported("html", events));
  assert.match(html, /Continues 01KDVDP9G0ROOTROOTROOTR001 \(branch\)/);
  assert.match(html, /1 Said before .*2 Model .* grep ✓ .* a:1 .*3 Task/);
  assert.match(await exported("md", events), /\*\*1\. Said before[\s\S]*→ `grep` ✓\n[\s\S]*\*\*3\. Task/);
});

test("a tree that was interrupted says so in every format", async () => {
  const events = wholeTree().slice(0, 4);
  assert.match(textOf(await exported("html", events)), /no result[\s\S]*No end was recorded\./);
  assert.match(await exported("md", events), /\*\*no result\*\*[\s\S]*\*\*No end was recorded\.\*\*/);
});

test("a tree whose parents go in circles is exported all the same", async () => {
  const events = wholeTree().map((event) => (event.runId === CHILD ? { ...event, parentId: CHILD } : event));
  for (const format of ["html", "md"] as const) assert.ok((await exported(format, events)).includes("lead/scout"));
});

/** As a reader sees it: without tags, with the marks the style adds to bad news. */
function textOf(html: string): string {
  return html
    .replace(/<style>[\s\S]*<\/style>/, "")
    .replace(/class="remark bad">/g, ">! ")
    .replace(/<[^>]*>/g, " ")
    .replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
    .replace(/\s+/g, " ");
}
