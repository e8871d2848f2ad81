/** Reads a question as a careful person does: undoes every mark of `action-text.ts`, and knows nothing else of it. */

import assert from "node:assert/strict";

/** The entries of a question: the command, path or host where it has one, then a field each. */
type Shown = { readonly title: string; readonly entries: readonly string[] };

/** Reads what `actionText` has made. */
export function readActionText(text: string): Shown {
  const [head = "", ...rows] = text.split("\n");
  if (rows.length > 0) {
    assert.ok(head.endsWith(":"), head);
    for (const row of rows) assert.ok(row.startsWith("  "), row);
    return { title: undone(head.slice(0, -1)), entries: readRows(rows.map((row) => row.slice(2))) };
  }
  const at = head.indexOf(": ");
  if (at < 0) return { title: undone(head), entries: [] };
  return { title: undone(head.slice(0, at)), entries: readRows(head.slice(at + 2).split(" · ")) };
}

/** Reads the rows of `describeAction`. The first begins as it is; others may follow a line break, or the end of a full row. */
export function readRows(rows: readonly string[]): string[] {
  const entries: string[] = [];
  for (const [index, row] of rows.entries()) {
    const last = entries.length - 1;
    if (index > 0 && row.startsWith("| ")) entries[last] += `\n${row.slice(2)}`;
    else if (index > 0 && row.startsWith("  ")) entries[last] += row.slice(2);
    else entries.push(row);
  }
  return entries.map(undone);
}

const MARK = /\n<(\d{1,10}) empty lines>\n| <(\d{1,10}) spaces> |<U\+([\dA-F]{4,6})>/g;

export function undone(text: string): string {
  return text.replace(MARK, (_, lines?: string, spaces?: string, code = "") => {
    if (lines !== undefined) return "\n".repeat(Number(lines) + 1);
    if (spaces !== undefined) return " ".repeat(Number(spaces) + 2);
    return String.fromCodePoint(Number.parseInt(code, 16));
  });
}

/** The name and the value of an entry that shows a field. */
export function readField(entry: string): [name: string, value: unknown] {
  const [, label, between, value = ""] = /^([\w$-]+|"(?:[^"\\]|\\.)*")(: | = )([\s\S]*)$/.exec(entry) ?? [];
  assert.ok(label !== undefined, `no field: ${entry}`);
  const name: string = label.startsWith('"') ? JSON.parse(label) : label;
  return [name, between === ": " ? value : JSON.parse(value)];
}
