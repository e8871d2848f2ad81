/** Reads HTML of any kind, however broken, in one pass from its beginning to its end. */

export type HtmlToken =
  | { type: "text"; text: string }
  | { type: "open"; name: string; attributes: ReadonlyMap<string, string> }
  | { type: "close"; name: string };

/** The content of these is not text of the page. */
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

/** Past the next `ending`, or the end of the page if it never comes. */
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

/** Decodes common names; others stay as they are written. */
function decodeEntities(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(
    /&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z][a-z\d]{1,30}));/gi,
    (whole, decimal, hexadecimal, name) => {
      if (name !== undefined) return NAMED.get(name) ?? whole;
      const point = decimal === undefined ? Number.parseInt(hexadecimal, 16) : Number(decimal);
      return point > 0 && point <= 0x10ffff ? String.fromCodePoint(point).toWellFormed() : "\ufffd";
    },
  );
}

/** Each name with its character. */
const WRITTEN =
  "amp& lt< gt> quot\" apos' copy© reg® trade™ deg° plusmn± times× divide÷ minus− microµ middot· frac12½ " +
  "frac14¼ frac34¾ sup2² sup3³ para¶ sect§ not¬ laquo« raquo» lsquo‘ rsquo’ sbquo‚ ldquo“ rdquo” bdquo„ " +
  "lsaquo‹ rsaquo› ndash– mdash— hellip… bull• dagger† Dagger‡ permil‰ prime′ Prime″ euro€ pound£ yen¥ cent¢ " +
  "curren¤ iexcl¡ iquest¿ larr← uarr↑ rarr→ darr↓ harr↔ rArr⇒ hArr⇔ forall∀ exist∃ empty∅ isin∈ sum∑ radic√ " +
  "infin∞ and∧ or∨ cap∩ cup∪ int∫ asymp≈ ne≠ equiv≡ le≤ ge≥ alphaα betaβ gammaγ deltaδ lambdaλ muμ piπ " +
  "sigmaσ omegaω szligß aumlä oumlö uumlü AumlÄ OumlÖ UumlÜ aacuteá eacuteé iacuteí oacuteó uacuteú agraveà " +
  "egraveè ccedilç ntildeñ acircâ ecircê icircî ocircô aringå aeligæ oslashø check✓ lbrace{ rbrace} lbrack[ " +
  "rbrack] lpar( rpar) num# ast* comma, period. colon: semi; excl! quest? sol/ bsol\\ lowbar_ grave` vert| " +
  "equals= plus+ dollar$ percnt% commat@";

/** Blanks of all widths become blanks, and hints for the browser are dropped. */
const NAMED: ReadonlyMap<string, string> = new Map([
  ...WRITTEN.split(" ").map((each): [string, string] => [each.slice(0, -1), each.slice(-1)]),
  ...["nbsp", "ensp", "emsp", "thinsp", "Tab", "NewLine"].map((name): [string, string] => [name, " "]),
  ...["shy", "zwnj", "zwj"].map((name): [string, string] => [name, ""]),
]);
