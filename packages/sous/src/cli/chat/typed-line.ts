/** What a typed line asks for: a slash command, a shell line, a named agent, or a message, perhaps with files. */

import { trimEndOf } from "../../core/trim-end.ts";

export type TypedLine =
  | { kind: "nothing" }
  | { kind: "command"; name: string; parameter: string }
  | { kind: "shell"; command: string }
  | { kind: "agent"; name: string; task: string }
  | { kind: "message"; text: string; files: FileMention[] };

/** `mustBeThere` for `@./x`, which can be nothing else. */
export type FileMention = { path: string; mustBeThere: boolean };

export function readTypedLine(line: string, agentNames: ReadonlySet<string>): TypedLine {
  const text = line.trim();
  if (text === "") return { kind: "nothing" };
  // `/etc/hosts is wrong` is a message: a command is a word of letters.
  const [, command, parameter = ""] = /^\/([a-z]+)(?:\s([\s\S]*))?$/.exec(text) ?? [];
  if (command !== undefined) return { kind: "command", name: command, parameter: parameter.trim() };
  if (text.startsWith("!")) return { kind: "shell", command: text.slice(1).trim() };
  const [, name = "", task = ""] = /^@([A-Za-z0-9][A-Za-z0-9_-]*)(?:\s([\s\S]*))?$/.exec(text) ?? [];
  if (agentNames.has(name)) return { kind: "agent", name, task: task.trim() };
  return { kind: "message", text, files: mentionedFiles(text, agentNames) };
}

/** `@path` and `@"a path"`, each once. */
function mentionedFiles(text: string, agentNames: ReadonlySet<string>): FileMention[] {
  const paths = new Set<string>();
  for (const [, quoted, bare] of text.matchAll(/(?<=^|\s)@(?:"([^"\n]+)"|([^\s"@]+))/g)) {
    const path = quoted ?? withoutPunctuation(bare ?? "");
    if (path !== "" && !agentNames.has(path)) paths.add(path);
  }
  return [...paths].map((path) => ({ path, mustBeThere: /^\.{1,2}\//.test(path) }));
}

function withoutPunctuation(word: string): string {
  const kept = trimEndOf(word, ",;:!?)]");
  return kept === word && word.endsWith(".") ? word.slice(0, -1) : kept;
}
