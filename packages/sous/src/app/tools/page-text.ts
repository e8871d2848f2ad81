/** A fetched page as bounded text for a model: decoded, and HTML as the Markdown of what a person would read. */

import { orUndefined, ToolFailure } from "../../core/errors.ts";
import type { ToolResult } from "../../core/tool.ts";
import { truncateUtf8 } from "../../core/truncate.ts";
import { MAX_BYTES, type Page } from "./fetch-page.ts";
import { type HtmlToken, htmlTokens } from "./html-tokens.ts";
import { type Block, blockBuilder } from "./markdown-builder.ts";
import { type Pauses, pausesFor } from "./pauses.ts";

/** Max size of one answer, and of the text of a page with an error status. */
const MAX_SHOWN_BYTES = 48 * 1024;
const MAX_REFUSAL_BYTES = 2 * 1024;

export type PageFormat = "markdown" | "text" | "raw";

export async function pageResult(page: Page, format: PageFormat, signal: AbortSignal): Promise<ToolResult> {
  const { url, status, contentType, body, isCut } = page;
  const text = decode(page);
  const shown = isHtml(contentType, text) && format !== "raw" ? await asText(text, page, format, signal) : text;
  const metadata = { url: url.href, status, content_type: contentType, bytes: body.length, truncated: isCut };
  if (status < 200 || status > 299) {
    const words = truncateUtf8(shown, MAX_REFUSAL_BYTES).text;
    return { success: false, error: `${url.href} answered with status ${status}.`, output: words, metadata };
  }
  const { text: kept, originalBytes, keptBytes, truncated } = truncateUtf8(shown, MAX_SHOWN_BYTES);
  const notes = [
    ...(truncated ? [`[${originalBytes - keptBytes} more bytes of the page are not shown]`] : []),
    ...(isCut ? [`[only the first ${MAX_BYTES} bytes of the page were read]`] : []),
  ];
  return {
    success: true,
    output: [`[${url.href}]`, kept.trim() === "" ? "[the page has no text]" : kept, ...notes].join("\n"),
    metadata: { ...metadata, truncated: truncated || isCut },
  };
}

async function asText(html: string, { url }: Page, format: "markdown" | "text", signal: AbortSignal): Promise<string> {
  const options = { base: url.href, isPlain: format === "text" };
  const { title, text } = await htmlToMarkdown(html, options, pausesFor(signal));
  return title === "" ? text : `Title: ${title}\n\n${text}`;
}

/** Unknown types are read: a server need not name the type. */
export function isText(contentType: string): boolean {
  const type = typeOf(contentType);
  if (type === "" || type.startsWith("text/") || /[+/](json|xml)$/.test(type)) return true;
  return /^application\/(x-)?(javascript|ecmascript|typescript|yaml|toml|x-ndjson|ndjson|jsonl|sql|graphql|x-sh|x-www-form-urlencoded)$/.test(
    type,
  );
}

function isHtml(contentType: string, text: string): boolean {
  const type = typeOf(contentType);
  return (
    type === "text/html" || type === "application/xhtml+xml" || (type === "" && /^\s*<(!doctype html|html)/i.test(text))
  );
}

function typeOf(contentType: string): string {
  return (contentType.split(";")[0] ?? "").trim();
}

/** Decodes by the encoding named in the header or near the beginning of the page; else as UTF-8. */
function decode({ url, contentType, body, isCut }: Page): string {
  const named = /charset=["']?([\w:.-]+)/.exec(contentType)?.[1];
  const inside = named ?? /<meta[^>]{1,200}charset=["']?([\w:.-]+)/i.exec(body.toString("latin1", 0, 2048))?.[1];
  const decoder = orUndefined(() => new TextDecoder(inside)) ?? new TextDecoder();
  if (decoder.encoding !== "utf-16le" && decoder.encoding !== "utf-16be" && body.subarray(0, 8000).includes(0)) {
    throw new ToolFailure(`${url.href} is a binary file of ${body.length} bytes and cannot be read as text.`);
  }
  // The last character of a page that was cut may be half.
  return decoder.decode(body, { stream: isCut });
}

export type HtmlPage = { title: string; text: string };

/** Characters of Markdown; the page is not read further. */
const MAX_LENGTH = 400_000;

const HEADINGS: ReadonlyMap<string, number> = new Map(Object.entries({ h1: 1, h2: 2, h3: 3, h4: 4, h5: 5, h6: 6 }));
const MARKS: ReadonlyMap<string, string> = new Map(
  Object.entries({ b: "**", strong: "**", em: "*", i: "*", code: "`", kbd: "`", samp: "`" }),
);
const BLOCKS = new Set(
  (
    "p div section article aside header footer main nav address figure figcaption form fieldset details summary dl dt dd " +
    "body html center legend hgroup menu dialog option"
  ).split(" "),
);
/** Elements that always have an end, so that hiding one does not hide what follows. */
const MAY_BE_HIDDEN = new Set(
  "div span section article aside header footer nav form a b i em strong ul ol table details dialog figure".split(" "),
);

/** `base` is where the page was found: links are shown in full. */
export async function htmlToMarkdown(
  html: string,
  { base, isPlain }: { base: string; isPlain: boolean },
  pauses: Pauses,
): Promise<HtmlPage> {
  const blocks = blockBuilder({ isPlain, maxLength: MAX_LENGTH });
  let title = "";
  let isTitle = false;
  let hidden: { name: string; depth: number } | undefined;
  for (const token of htmlTokens(html)) {
    if (pauses.isDue()) await pauses.rest();
    if (hidden !== undefined) {
      hidden = afterHidden(hidden, token);
    } else if (token.type === "text") {
      if (isTitle) title ||= token.text.replace(/\s+/g, " ").trim().slice(0, 300);
      else blocks.text(withoutBreaks(token.text));
    } else if (token.type === "close") {
      if (token.name === "title" || token.name === "head") isTitle = false;
      else close(token.name, blocks);
    } else if (token.name === "title") {
      isTitle = true;
    } else if (MAY_BE_HIDDEN.has(token.name) && isHidden(token.attributes)) {
      hidden = { name: token.name, depth: 1 };
    } else {
      open(token, blocks, base);
    }
    if (blocks.isFull()) break;
  }
  return { title, text: blocks.end() };
}

/** Hints where words may be broken are not part of the text. */
function withoutBreaks(text: string): string {
  return text.replace(/[\u00ad\u200b]/g, "");
}

/** Text that people do not see is left out. */
function isHidden(attributes: ReadonlyMap<string, string>): boolean {
  const style = attributes.get("style") ?? "";
  return (
    attributes.has("hidden") || /display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d])/i.test(style)
  );
}

function afterHidden(hidden: { name: string; depth: number }, token: HtmlToken): typeof hidden | undefined {
  if (token.type === "text" || token.name !== hidden.name) return hidden;
  const depth = hidden.depth + (token.type === "open" ? 1 : -1);
  return depth === 0 ? undefined : { name: hidden.name, depth };
}

function open({ name, attributes }: Extract<HtmlToken, { type: "open" }>, blocks: Block, base: string): void {
  const level = HEADINGS.get(name);
  const mark = MARKS.get(name);
  if (level !== undefined) blocks.heading(level);
  else if (mark !== undefined) blocks.openMark(name, { before: mark, after: mark });
  else if (BLOCKS.has(name)) blocks.next();
  else if (name === "a") blocks.openMark(name, linkMark(addressOf(attributes.get("href"), base)));
  else OPEN.get(name)?.(blocks, attributes);
}

const OPEN: ReadonlyMap<string, (blocks: Block, attributes: ReadonlyMap<string, string>) => void> = new Map([
  ["img", (blocks, attributes) => blocks.text(imageText(attributes.get("alt") ?? ""))],
  ["br", (blocks) => blocks.lineBreak()],
  ["hr", (blocks) => blocks.rule()],
  ["ul", (blocks) => blocks.openList(false, 1)],
  ["ol", (blocks, attributes) => blocks.openList(true, Number.parseInt(attributes.get("start") ?? "1", 10) || 1)],
  ["li", (blocks) => blocks.item()],
  ["blockquote", (blocks) => blocks.openQuote()],
  ["pre", (blocks, attributes) => blocks.openCode(languageOf(attributes.get("class") ?? ""))],
  ["table", (blocks) => blocks.openTable()],
  ["tr", (blocks) => blocks.row()],
  ["td", (blocks) => blocks.cell()],
  ["th", (blocks) => blocks.cell()],
]);

function close(name: string, blocks: Block): void {
  if (HEADINGS.has(name) || BLOCKS.has(name)) blocks.next();
  else if (MARKS.has(name) || name === "a") blocks.closeMark(name);
  else CLOSE.get(name)?.(blocks);
}

const CLOSE: ReadonlyMap<string, (blocks: Block) => void> = new Map([
  ["ul", (blocks) => blocks.closeList()],
  ["ol", (blocks) => blocks.closeList()],
  ["li", (blocks) => blocks.endItem()],
  ["blockquote", (blocks) => blocks.closeQuote()],
  ["pre", (blocks) => blocks.closeCode()],
  ["table", (blocks) => blocks.closeTable()],
]);

function linkMark(address: string | undefined): { before: string; after: string } | undefined {
  return address === undefined ? undefined : { before: "[", after: `](${address})` };
}

function imageText(alt: string): string {
  return alt.trim() === "" ? "" : ` [image: ${alt.trim().slice(0, 300)}] `;
}

function languageOf(names: string): string {
  return /(?:language|lang)-([\w+#-]{1,20})/.exec(names)?.[1] ?? "";
}

const MAX_ADDRESS = 2000;

/** A link in full; undefined for one that a model cannot fetch. */
function addressOf(href: string | undefined, base: string): string | undefined {
  if (href === undefined || href === "" || href.startsWith("#") || href.length > MAX_ADDRESS) return undefined;
  const url = URL.parse(href, base);
  if (url === null || !/^(https?|mailto):$/.test(url.protocol)) return undefined;
  return url.href.replace(/[()]/g, (bracket) => (bracket === "(" ? "%28" : "%29"));
}
