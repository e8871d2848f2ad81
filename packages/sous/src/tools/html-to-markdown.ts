/** HTML as Markdown for a model: what a person would read of a page, in bounded time and depth. */

import { type HtmlToken, htmlTokens } from "./html-tokens.ts";
import { type Block, blockBuilder } from "./markdown-builder.ts";
import type { Pauses } from "./pauses.ts";

export type HtmlPage = { title: string; text: string };

/** Characters of Markdown; the page is not read further. */
const MAX_LENGTH = 400_000;

const HEADINGS: ReadonlyMap<string, number> = new Map(Object.entries({ h1: 1, h2: 2, h3: 3, h4: 4, h5: 5, h6: 6 }));
const MARKS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    b: "**",
    strong: "**",
    em: "*",
    i: "*",
    code: "`",
    kbd: "`",
    samp: "`",
  }),
);
const BLOCKS = new Set(
  (
    "p div section article aside header footer main nav address figure figcaption form fieldset details summary dl dt dd " +
    "body html center legend hgroup menu dialog option"
  ).split(" "),
);
/** Elements that always have an end, so that leaving out a hidden one leaves out no more. */
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

/** Where words may be broken: not a part of them. */
function withoutBreaks(text: string): string {
  return text.replace(/[\u00ad\u200b]/g, "");
}

/** Text that people do not see is not for models either. */
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

/** A link in full; undefined for what leads nowhere a model could go. */
function addressOf(href: string | undefined, base: string): string | undefined {
  if (href === undefined || href === "" || href.startsWith("#") || href.length > MAX_ADDRESS) return undefined;
  const url = URL.parse(href, base);
  if (url === null || !/^(https?|mailto):$/.test(url.protocol)) return undefined;
  return url.href.replace(/[()]/g, (bracket) => (bracket === "(" ? "%28" : "%29"));
}
