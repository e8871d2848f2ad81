/** Markdown as it arrives, rendered line by line: what is complete is shown once, the unfinished line is known. */

import { trimEndOf } from "../../../core/truncate.ts";
import type { Colour, Style } from "../terminal/style.ts";
import { breakLine, cutToWidth, displayWidth, inert } from "../terminal/text.ts";

/** A text with the spans that are painted; spans do not overlap. */
type Painted = { plain: string; spans: { from: number; to: number; colour: Colour }[] };

export class MarkdownStream {
  readonly #style: Style;
  #rest = "";
  /** The fence of the code block that is open, such as three backticks. */
  #fence: string | undefined;

  constructor(style: Style) {
    this.#style = style;
  }

  /** The lines that are complete now, ready to print. */
  push(text: string, columns: number): string[] {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    // A line without an end is shown in pieces.
    if (this.#rest.length > MAX_LINE) {
      lines.push(this.#rest);
      this.#rest = "";
    }
    return lines.flatMap(piecesOf).flatMap((line) => this.#render(line, columns));
  }

  /** The line that is still being written, as it would look now. */
  pending(columns: number): string[] {
    if (this.#rest === "") return [];
    const fence = this.#fence;
    const lines = this.#render(this.#rest, columns);
    this.#fence = fence;
    return lines;
  }

  /** Nothing more comes. */
  end(columns: number): string[] {
    const lines = this.pending(columns);
    this.#rest = "";
    this.#fence = undefined;
    return lines;
  }

  #render(raw: string, columns: number): string[] {
    const line = inert(raw.replace(/\r$/, "")).replaceAll("\n", " ").trimEnd();
    const { paint, glyphs } = this.#style;
    const [, indent = "", fence] = /^( {0,3})(`{3,}|~{3,})/.exec(line) ?? [];
    if (this.#fence !== undefined) {
      const isEnd = fence?.startsWith(this.#fence) === true && line.trim() === fence;
      if (isEnd) this.#fence = undefined;
      return (isEnd ? [line] : codeLines(line, columns)).map((each) => paint(isEnd ? "dim" : "cyan", each));
    }
    if (fence !== undefined) {
      this.#fence = fence.slice(0, 3);
      return [paint("dim", cutToWidth(line.slice(indent.length), columns, glyphs.more))];
    }
    const heading = /^#{1,6} /.exec(line);
    if (heading !== null) {
      const plain = inline(withoutHashes(line.slice(heading[0].length).trimStart())).plain;
      return breakLine(plain, columns).map((each) => paint("bold", each));
    }
    if (isRule(line)) return [paint("dim", (glyphs.more === "..." ? "-" : "─").repeat(Math.min(columns, 40)))];
    const [, lead = "", rest = line] = /^( *(?:[-*+]|\d{1,9}[.)]|>) +)([\s\S]*)/.exec(line) ?? [];
    return this.#hanging(lead, inline(rest), columns);
  }

  /** Broken between words, later lines below the first word of the first. */
  #hanging(lead: string, text: Painted, columns: number): string[] {
    const bullet = this.#style.glyphs.more === "..." ? "-" : "•";
    const shownLead = lead.replace(/^( *)[-*+] /, `$1${bullet} `);
    const width = displayWidth(shownLead);
    if (width * 2 > columns) return breakLine(lead + text.plain, columns);
    const lines = paintBroken(text, columns - width, this.#style);
    return lines.map((each, index) => (index === 0 ? shownLead : " ".repeat(width)) + each);
  }
}

const MAX_LINE = 4000;

/** A whole answer can come at once; such long lines are unusual. */
function piecesOf(line: string): string[] {
  if (line.length <= MAX_LINE) return [line];
  return line.match(PIECES) ?? [];
}

const PIECES = /[\s\S]{1,4000}/gu;

/** Code is never broken between words: that would change what it says. */
function codeLines(line: string, columns: number): string[] {
  return displayWidth(line) <= columns ? [line] : breakLine(line, columns);
}

/** `# Title #` is a title too; the closing signs are not part of it. */
function withoutHashes(title: string): string {
  const kept = trimEndOf(title, "#");
  return kept !== title && kept.endsWith(" ") ? trimEndOf(kept, " ") : title;
}

/** Three or more of the same sign, with nothing but spaces between them. */
function isRule(line: string): boolean {
  if (!/^(?:[- ]+|[* ]+|[_ ]+)$/.test(line)) return false;
  return !line.startsWith("    ") && line.replaceAll(" ", "").length >= 3;
}

/** `code`, **bold**, *emphasis*, [links](address); everything else as it is. */
function inline(text: string): Painted {
  const spans: Painted["spans"] = [];
  let plain = "";
  let last = 0;
  for (const match of text.matchAll(INLINE)) {
    const { code, bold, light, name, address } = match.groups ?? {};
    plain += text.slice(last, match.index);
    last = match.index + match[0].length;
    const shown = code ?? bold ?? light ?? (name === address || name === "" ? address : name) ?? "";
    const colour: Colour = code !== undefined ? "cyan" : light !== undefined ? "dim" : "bold";
    if (name === undefined || light !== undefined)
      spans.push({ from: plain.length, to: plain.length + shown.length, colour });
    plain += shown;
    // The address of a link is shown: its name could say anything.
    if (name !== undefined && name !== address && name !== "") plain += ` (${address})`;
  }
  return { plain: plain + text.slice(last), spans };
}

const INLINE =
  /`(?<code>[^`]+)`|\*\*(?<bold>[^*\s](?:[^*]*[^*\s])?)\*\*|(?<![\w*])\*(?<light>[^*\s](?:[^*]*[^*\s])?)\*(?![\w*])|\[(?<name>[^\][]*)\]\((?<address>[^)\s[]+)\)/g;

function paintBroken({ plain, spans }: Painted, columns: number, { paint }: Style): string[] {
  let offset = 0;
  let next = 0;
  return breakLine(plain, columns).map((line, index) => {
    // A space at a break is the break.
    if (index > 0 && plain[offset] === " ") offset += 1;
    const from = offset;
    offset += line.length;
    let painted = "";
    let done = from;
    // Both are in order: a span that extends beyond this line is the first of the next one.
    for (let span = spans[next]; span !== undefined && span.from < offset; span = spans[++next]) {
      const start = Math.max(span.from, from);
      const end = Math.min(span.to, offset);
      if (start < end) {
        painted += plain.slice(done, start) + paint(span.colour, plain.slice(start, end));
        done = end;
      }
      if (span.to > offset) break;
    }
    return painted + plain.slice(done, offset);
  });
}
