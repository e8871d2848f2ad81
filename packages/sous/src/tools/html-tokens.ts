/** Reads HTML of any kind, however broken, in one pass from its beginning to its end. */

import { decodeEntities } from "./html-entities.ts";

export type HtmlToken =
  | { type: "text"; text: string }
  | { type: "open"; name: string; attributes: ReadonlyMap<string, string> }
  | { type: "close"; name: string };

/** What stands in these is not text of the page. */
const WITHOUT_TEXT = new Set(["script", "style", "noscript", "template", "svg", "math", "iframe", "object", "canvas"]);
const MAX_ATTRIBUTES = 32;

export function* htmlTokens(html: string): Generator<HtmlToken, void> {
  let at = 0;
  while (at < html.length) {
    const bracket = html.indexOf("<", at);
    if (bracket === -1) return yield { type: "text", text: decodeEntities(html.slice(at)) };
    if (bracket > at) yield { type: "text", text: decodeEntities(html.slice(at, bracket)) };
    if (html.startsWith("<!--", bracket)) {
      at = after(html, "-->", bracket + 4);
    } else if (/[!?]/.test(html[bracket + 1] ?? "")) {
      at = after(html, ">", bracket + 2);
    } else if (/^<\/?[a-z]/i.test(html.slice(bracket, bracket + 3))) {
      const tag = readTag(html, bracket);
      at = tag.end;
      if (tag.isClosing) {
        yield { type: "close", name: tag.name };
      } else if (WITHOUT_TEXT.has(tag.name)) {
        if (!tag.isEmpty) at = afterElement(html, tag.name, at);
      } else {
        yield { type: "open", name: tag.name, attributes: tag.attributes };
        if (tag.name === "textarea" || tag.name === "title") {
          const end = elementEnd(html, tag.name, at);
          yield { type: "text", text: decodeEntities(html.slice(at, end)) };
          at = end;
        }
      }
    } else {
      yield { type: "text", text: "<" };
      at = bracket + 1;
    }
  }
}

/** Past the next `ending`, or the end of the page: what never closes swallows the rest, once. */
function after(html: string, ending: string, from: number): number {
  const end = html.indexOf(ending, from);
  return end === -1 ? html.length : end + ending.length;
}

function afterElement(html: string, name: string, from: number): number {
  return after(html, ">", elementEnd(html, name, from));
}

function elementEnd(html: string, name: string, from: number): number {
  const closing = new RegExp(`</${name}(?=[\\s/>])`, "gi");
  closing.lastIndex = from;
  return closing.exec(html)?.index ?? html.length;
}

type Tag = {
  name: string;
  isClosing: boolean;
  isEmpty: boolean;
  attributes: ReadonlyMap<string, string>;
  end: number;
};

function readTag(html: string, start: number): Tag {
  const isClosing = html[start + 1] === "/";
  const word = matchAt(/[a-z][a-z0-9:-]*/iy, html, start + (isClosing ? 2 : 1));
  const attributes = new Map<string, string>();
  let at = start + (isClosing ? 2 : 1) + word.length;
  while (at < html.length && html[at] !== ">") {
    at += matchAt(/[\s/]+/y, html, at).length;
    const name = matchAt(/[^\s/>=]+/y, html, at);
    at += name.length;
    const equals = at + matchAt(/\s+/y, html, at).length;
    const hasValue = html[equals] === "=";
    // An equals sign without a name before it is passed over.
    if (name === "" && !hasValue) break;
    if (hasValue) at = equals + 1 + matchAt(/\s+/y, html, equals + 1).length;
    const value = hasValue ? readValue(html, at) : { text: "", length: 0 };
    at += value.length;
    if (name !== "" && attributes.size < MAX_ATTRIBUTES && !attributes.has(name.toLowerCase())) {
      attributes.set(name.toLowerCase(), value.text);
    }
  }
  const isEmpty = html[at - 1] === "/";
  return { name: word.toLowerCase(), isClosing, isEmpty, attributes, end: Math.min(html.length, at + 1) };
}

function readValue(html: string, at: number): { text: string; length: number } {
  const quote = html[at];
  if (quote === '"' || quote === "'") {
    const end = html.indexOf(quote, at + 1);
    const text = html.slice(at + 1, end === -1 ? html.length : end);
    return { text: decodeEntities(text), length: text.length + 2 };
  }
  const text = matchAt(/[^\s>]+/y, html, at);
  return { text: decodeEntities(text), length: text.length };
}

function matchAt(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? "";
}
