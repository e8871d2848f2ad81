/** The messages of a conversation, numbered, for a person to read. */

import type { Message } from "../core/message.ts";
import { inert, inertLine } from "./inert.ts";
import type { Style } from "./style.ts";
import { breakLine, displayWidth } from "./width.ts";

export type MessageView = {
  style: Style;
  /** Lines are broken at so many columns; undefined leaves them whole, for a pipe. */
  columns: number | undefined;
  /** False cuts long texts and says so. */
  isFull: boolean;
};

/** `notes` says more about a message, by its place: where it came from, what it took. */
export function messageLines(messages: readonly Message[], notes: readonly string[], view: MessageView): string[] {
  const width = String(messages.length).length;
  return messages.flatMap((message, index) => {
    const { paint, glyphs } = view.style;
    const number = String(index + 1).padStart(width);
    const note = notes[index] ?? "";
    const head = `${paint("bold", `${number} ${message.role}`)}${note === "" ? "" : paint("dim", glyphs.dot + note)}`;
    return [head, ...message.content.flatMap((part) => indented(partLines(part, view), width + 1))];
  });
}

/** A text of several lines: made harmless, broken to the width, and cut unless all of it is wanted. */
export function textLines(text: string, { columns, isFull, style }: MessageView, indent = 4): string[] {
  const { kept, cut } = isFull ? { kept: text, cut: 0 } : cutText(text);
  const lines = inert(kept)
    .trimEnd()
    .split("\n")
    .flatMap((line) => (columns === undefined ? [line] : breakLine(line, Math.max(10, columns - indent))));
  if (cut === 0) return lines;
  return [...lines, style.paint("dim", `[${style.glyphs.more} ${cut} more characters: --full]`)];
}

const MAX_LINES = 12;
const MAX_LENGTH = 600;

function cutText(text: string): { kept: string; cut: number } {
  let end = 0;
  for (let line = 0; line < MAX_LINES && end >= 0 && end < MAX_LENGTH; line++) {
    const next = text.indexOf("\n", end);
    end = next < 0 ? text.length : next + 1;
    if (next < 0) break;
  }
  end = Math.min(end, MAX_LENGTH);
  // A note is no shorter than a few characters.
  return text.length - end < 80 ? { kept: text, cut: 0 } : { kept: text.slice(0, end), cut: text.length - end };
}

function partLines(part: Message["content"][number], view: MessageView): string[] {
  const { paint, glyphs } = view.style;
  switch (part.type) {
    case "text":
      return textLines(part.text, view);
    case "reasoning":
      return textLines(`(thinks) ${part.text}`, view).map((line) => paint("dim", line));
    case "file":
      return [`[${inertLine(part.mediaType, 80)} ${inertLine(part.filename ?? "", 80)}]`.replace(" ]", "]")];
    case "tool-call": {
      const name = `${glyphs.arrow} ${inertLine(part.toolName, 80)}`;
      const lines = textLines(inputText(part.input), view);
      const [first = ""] = lines;
      const isShort = lines.length === 1 && displayWidth(`${name} ${first}`) <= (view.columns ?? PIPE_COLUMNS) - 4;
      return isShort ? [`${paint("cyan", name)} ${first}`.trimEnd()] : [paint("cyan", name), ...indented(lines, 2)];
    }
    case "tool-result": {
      const isBad = part.isError ? paint("red", " failed") : "";
      const files = (part.files ?? []).flatMap((file) => partLines(file, view));
      const head = `${paint("cyan", `${glyphs.back} ${inertLine(part.toolName, 80)}`)}${isBad}`;
      return [head, ...indented([...textLines(part.output, view, 6), ...files], 2)];
    }
    default:
      return part satisfies never;
  }
}

function inputText(input: unknown): string {
  const text = typeof input === "string" ? input : (JSON.stringify(input) ?? "");
  return text === "{}" ? "" : text;
}

/** Beside the name of its tool when it is no longer than this. */
const PIPE_COLUMNS = 100;

export function indented(lines: readonly string[], columns: number): string[] {
  return lines.map((line) => (line === "" ? line : " ".repeat(columns) + line));
}
