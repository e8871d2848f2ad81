/** What Tab completes in a typed line: commands, agents and files. */

import { readdir } from "node:fs/promises";
import { dirname, join, resolve, sep } from "node:path";

export type Completion = {
  /** Where the word begins that is replaced. */
  from: number;
  /** As much as all candidates have in common; the word itself when that is nothing more. */
  text: string;
  /** To choose from; empty when there is at most one. */
  choices: string[];
};

export type CompletionSources = {
  commands: readonly string[];
  agents: readonly string[];
  cwd: string;
  /** What `/resume` takes: numbers, `last`, ids. */
  resumable(): Promise<readonly string[]>;
};

const MAX_CHOICES = 40;

/** `10`, `last`. */
const SHORT_NAME = 4;

/** Undefined when there is nothing to complete at the cursor. */
export async function complete(
  text: string,
  cursor: number,
  sources: CompletionSources,
): Promise<Completion | undefined> {
  const head = text.slice(0, cursor);
  if (/^\/[a-z]*$/.test(head))
    return choose(
      0,
      head,
      sources.commands.map((name) => `/${name}`),
    );
  const [, typed] = /^\/resume +(\S*)$/.exec(head) ?? [];
  if (typed !== undefined) {
    // Ids are long and begin alike: they are offered to a person who has begun one.
    const names = (await sources.resumable()).filter((name) => typed !== "" || name.length <= SHORT_NAME);
    return choose(head.length - typed.length, typed, names);
  }
  const word = lastMention(head);
  if (word === undefined) return undefined;
  const from = head.length - word.length;
  const isPath = /^@(?:\.{1,2}\/|.*\/)/.test(word);
  const agents = isPath || head.slice(0, from).trim() !== "" ? [] : sources.agents.map((name) => `@${name}`);
  return choose(from, word, [...agents, ...(await filesFor(word.slice(1), sources.cwd))]);
}

/** `@` at the start of a word, and what follows it up to the end; undefined when the last word does not begin with one. */
function lastMention(head: string): string | undefined {
  let start = head.length;
  while (start > 0 && !/[\s"]/.test(head.charAt(start - 1))) start -= 1;
  // What stands behind a quotation mark is part of a quoted name.
  const isWord = start === 0 || head.charAt(start - 1) !== '"';
  return isWord && head[start] === "@" ? head.slice(start) : undefined;
}

function choose(from: number, word: string, names: readonly string[]): Completion | undefined {
  const fitting = [...new Set(names)].filter((name) => name.startsWith(word)).sort();
  const [first, another] = fitting;
  if (first === undefined) return undefined;
  if (another === undefined) return { from, text: first.endsWith("/") ? first : `${first} `, choices: [] };
  return { from, text: fitting.reduce(common), choices: fitting.slice(0, MAX_CHOICES) };
}

function common(one: string, other: string): string {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return one.slice(0, length);
}

/** Names below the working directory that begin like this; what needs quotes is left out. */
async function filesFor(typed: string, cwd: string): Promise<string[]> {
  const folder = typed.endsWith("/")
    ? typed
    : dirname(typed) === "." && !typed.startsWith("./")
      ? ""
      : `${dirname(typed)}/`;
  const path = resolve(cwd, folder);
  const isInside = path === resolve(cwd) || path.startsWith(resolve(cwd) + sep);
  if (!isInside) return [];
  const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
  const wantsHidden = typed.slice(folder.length).startsWith(".");
  return entries
    .filter(({ name }) => (wantsHidden || !name.startsWith(".")) && !/[\s"\p{C}]/u.test(name))
    .map((entry) => `@${join(folder, entry.name)}${entry.isDirectory() ? "/" : ""}`)
    .map((name) => (folder.startsWith("./") ? name.replace("@", "@./") : name));
}
