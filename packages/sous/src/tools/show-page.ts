/** A page that was fetched, as bounded text for a model. */

import { ToolFailure } from "../core/errors.ts";
import type { ToolResult } from "../core/tool.ts";
import { truncateUtf8 } from "../core/truncate.ts";
import { MAX_BYTES, type Page } from "./fetch-page.ts";
import { htmlToMarkdown } from "./html-to-markdown.ts";
import { pausesFor } from "./pauses.ts";

/** Of one answer, and of the words of a page that says no. */
const MAX_SHOWN_BYTES = 48 * 1024;
const MAX_REFUSAL_BYTES = 2 * 1024;

export type PageFormat = "markdown" | "text" | "raw";

export async function pageResult(page: Page, format: PageFormat, signal: AbortSignal): Promise<ToolResult> {
  const { url, status, contentType, body, isCut } = page;
  const text = decode(page);
  const shown = isHtml(contentType, text) && format !== "raw" ? await asWords(text, page, format, signal) : text;
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

async function asWords(html: string, { url }: Page, format: "markdown" | "text", signal: AbortSignal): Promise<string> {
  const options = { base: url.href, isPlain: format === "text" };
  const { title, text } = await htmlToMarkdown(html, options, pausesFor(signal));
  return title === "" ? text : `Title: ${title}\n\n${text}`;
}

/** Unknown types are read and looked at: a server need not say. */
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

/** A page says in which encoding it is, in its header or near its beginning; most are UTF-8. */
function decode({ url, contentType, body, isCut }: Page): string {
  const named = /charset=["']?([\w:.-]+)/.exec(contentType)?.[1];
  const inside = named ?? /<meta[^>]{1,200}charset=["']?([\w:.-]+)/i.exec(body.toString("latin1", 0, 2048))?.[1];
  const decoder = decoderFor(inside ?? "utf-8");
  if (decoder.encoding !== "utf-16le" && decoder.encoding !== "utf-16be" && body.subarray(0, 8000).includes(0)) {
    throw new ToolFailure(`${url.href} is a binary file of ${body.length} bytes and cannot be read as text.`);
  }
  // The last character of a page that was cut may be half.
  return decoder.decode(body, { stream: isCut });
}

function decoderFor(label: string): InstanceType<typeof TextDecoder> {
  try {
    return new TextDecoder(label);
  } catch {
    return new TextDecoder();
  }
}
