/** Builds Markdown block by block: the caller says what begins and ends, here the pieces become lines. */

import { spaceAtEnd } from "../../core/truncate.ts";

/** Text around what is marked. */
type Mark = { before: string; after: string };

export type Block = ReturnType<typeof blockBuilder>;

/** Deeper ones are shown like the deepest. */
const MAX_NESTING = 12;
const MAX_CELLS = 50;

/** Text beyond `maxLength` is dropped. */
export function blockBuilder({ isPlain, maxLength }: { isPlain: boolean; maxLength: number }) {
  const lines: string[] = [];
  /** Pieces of the block that is being written. */
  let pieces: string[] = [];
  let prefix = "";
  /** The mark of an item whose first text has not come yet: it may begin with another block. */
  let marker = "";
  let length = 0;
  const marks: { name: string; mark: Mark | undefined; start: number }[] = [];
  const lists: { isOrdered: boolean; number: number }[] = [];
  let ignoredLists = 0;
  let quotes = 0;
  let code: { language: string } | undefined;
  let rows: string[][] | undefined;
  let tables = 0;

  return {
    /** Ends the block; what comes next begins another. */
    next,
    heading(level: number) {
      next();
      if (!isPlain) prefix = `${"#".repeat(level)} `;
    },
    text(text: string) {
      const kept = text.slice(0, Math.max(0, maxLength - length));
      length += text.length;
      if (kept !== "") pieces.push(code === undefined ? kept.replace(/\s+/g, " ") : kept);
    },
    lineBreak: () => void pieces.push(rows === undefined ? "\n" : " "),
    rule() {
      next();
      if (!isPlain) push("---");
    },
    /** Without a mark the element is shown plain. */
    openMark(name: string, mark: Mark | undefined) {
      if (code === undefined && marks.length < MAX_NESTING) marks.push({ name, mark, start: pieces.length });
    },
    closeMark(name: string) {
      const index = marks.findLastIndex((each) => each.name === name);
      if (index !== -1) for (const open of marks.splice(index).reverse()) wrap(open);
    },
    openList(isOrdered: boolean, first: number) {
      next();
      if (lists.length < MAX_NESTING) lists.push({ isOrdered, number: first });
      else ignoredLists += 1;
    },
    closeList() {
      endItem();
      if (ignoredLists > 0) ignoredLists -= 1;
      else lists.pop();
    },
    item() {
      next();
      const list = lists.at(-1);
      marker = list?.isOrdered ? `${list.number++}. ` : "- ";
    },
    endItem,
    openQuote() {
      next();
      quotes += 1;
    },
    closeQuote() {
      next();
      quotes = Math.max(0, quotes - 1);
    },
    openCode(language: string) {
      next();
      code ??= { language };
    },
    closeCode,
    openTable() {
      next();
      tables += 1;
      rows ??= [];
    },
    closeTable() {
      if (tables === 0) return;
      tables -= 1;
      // A table within a table is text of its cell.
      if (tables === 0) endTable();
    },
    row() {
      if (tables > 1 || rows === undefined) {
        next();
        return;
      }
      endCell();
      rows.push([]);
    },
    cell() {
      if (tables > 1 || rows === undefined) {
        next();
        return;
      }
      endCell();
      const row = rows.at(-1) ?? newRow(rows);
      if (row.length < MAX_CELLS) row.push("");
    },
    isFull: () => length >= maxLength,
    end() {
      closeCode();
      if (rows !== undefined) endTable();
      next();
      return lines
        .join("\n")
        .replace(/\n{3,}/g, "\n\n")
        .trim();
    },
  };

  function next(): void {
    if (code !== undefined) return;
    if (rows !== undefined) {
      pieces.push(" ");
      return;
    }
    const text = takeText();
    if (text !== "") push(text);
    prefix = "";
  }

  function endItem(): void {
    next();
    marker = "";
  }

  function takeText(): string {
    for (const open of marks.splice(0).reverse()) wrap(open);
    const text = pieces
      .join("")
      .replace(/ {2,}/g, " ")
      .replace(/ ?\n ?/g, "\n")
      .trim();
    pieces = [];
    return text;
  }

  /** Puts marks close to the text, and none around blanks. */
  function wrap({ mark, start }: (typeof marks)[number]): void {
    const inner = pieces.splice(start).join("");
    const words = inner.trim();
    if (words === "" || mark === undefined || isPlain) {
      pieces.push(inner);
      return;
    }
    length += mark.before.length + mark.after.length;
    const before = inner.slice(0, inner.length - inner.trimStart().length);
    pieces.push(before, mark.before, words, mark.after, spaceAtEnd(inner));
  }

  /** One block, with the marks of its lists and quotes before every line. */
  function push(text: string): void {
    const depth = Math.max(0, lists.length - 1);
    const start = marker + prefix;
    const indent = "  ".repeat(start === "" && lists.length > 0 ? depth + 1 : depth);
    const quote = isPlain ? "" : "> ".repeat(Math.min(quotes, MAX_NESTING));
    const isItem = lists.length > 0 && start !== "";
    if (!isItem || lines.at(-1)?.trimStart().startsWith("#")) lines.push("");
    const more = " ".repeat(isItem ? start.length : 0);
    for (const [index, line] of text.split("\n").entries()) {
      lines.push(`${quote}${indent}${index === 0 ? start : more}${line}`);
    }
    if (lists.length === 0) lines.push("");
    length += quote.length + indent.length + start.length;
    marker = "";
  }

  function closeCode(): void {
    if (code === undefined) return;
    const text = pieces.join("").replace(/^\n/, "").trimEnd();
    const { language } = code;
    code = undefined;
    pieces = [];
    if (text === "") return;
    if (rows !== undefined) {
      pieces.push(text.replace(/\s+/g, " "));
      return;
    }
    const longest = Math.max(2, ...Array.from(text.matchAll(/`{3,}/g), ([run]) => run.length).slice(0, 1000));
    const fence = "`".repeat(longest + 1);
    push(isPlain ? text : `${fence}${language}\n${text}\n${fence}`);
  }

  function newRow(all: string[][]): string[] {
    const row: string[] = [];
    all.push(row);
    return row;
  }

  /** The text so far belongs to the last cell. */
  function endCell(): void {
    const text = takeText().replaceAll("\n", " ");
    const row = rows?.at(-1);
    if (text === "" || rows === undefined) return;
    if (row === undefined || row.length === 0) newRow(rows).push(text);
    else row[row.length - 1] = row.at(-1) === "" ? text : `${row.at(-1)} ${text}`;
  }

  /** A table with one column is layout, not a table. */
  function endTable(): void {
    endCell();
    const all = (rows ?? []).filter((row) => row.some((cell) => cell !== ""));
    rows = undefined;
    tables = 0;
    const columns = all.reduce((most, row) => Math.max(most, row.length), 0);
    if (columns < 2 || isPlain) {
      for (const row of all) push(row.join("  ").trim());
      return;
    }
    const shown = all.map((row) => {
      const cells = Array.from({ length: columns }, (_, index) => (row[index] ?? "").replaceAll("|", "\\|"));
      return `| ${cells.join(" | ")} |`;
    });
    shown.splice(1, 0, `|${" --- |".repeat(columns)}`);
    push(shown.join("\n"));
  }
}
