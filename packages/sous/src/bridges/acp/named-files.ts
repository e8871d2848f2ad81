/** The files that a text of an external agent names: a patch those that it changes, a pattern those below a folder. */

import { isAbsolute } from "node:path";
import { readingsOf, whyNotPlain } from "../../core/plain-path.ts";

/** The headers of a file in a patch, for patch, git and the agents that write their own form. */
const HEADERS = [
  /^(?:---|\+\+\+|\*\*\* (?:Add File|Update File|Delete File|Move to):) ([^\n]+)$/,
  /^(?:Index:|(?:rename|copy) (?:from|to)) ([^\n]+)$/,
];

/** Every name in the headers of a patch. Git writes a folder before it that is not there, so such a name counts in both ways. */
export function filesOfPatch(text: string): string[] {
  const lines = text.split(/\r?\n/);
  const names = lines.flatMap((line, index) => {
    // A line of the change itself can begin so, too; only a header stands before the other one and the first hunk.
    if (line.startsWith("--- ") && !lines[index + 1]?.startsWith("+++ ")) return [];
    if (line.startsWith("+++ ") && !lines[index - 1]?.startsWith("--- ")) return [];
    const name = HEADERS.flatMap((header) => header.exec(line)?.[1] ?? [])[0]?.split("\t", 1)[0];
    return name === undefined || name === "/dev/null" ? [] : [name];
  });
  return [...new Set(names.flatMap((name) => (/^[ab]\//.test(name) ? [name, name.slice(2)] : [name])))];
}

/** More choices than this are not looked through. */
const MAX_CHOICES = 256;

/**
 * The folders in which a pattern looks, by the names before its first wildcard; undefined for one that may look outside of the
 * folder it is for.
 */
export function foldersOfPattern(pattern: string): string[] | undefined {
  const choices = readingsOf(pattern).flatMap((each) => choicesOf(each) ?? [".."]);
  return choices.some(leadsOut) ? undefined : [...new Set(choices.map(firstNames))].filter((each) => each !== "");
}

function leadsOut(choice: string): boolean {
  const isPlain = whyNotPlain(choice) === undefined && choice.trim() === choice;
  const names = choice.split("/");
  return !isPlain || isAbsolute(choice) || names.includes("..") || names.slice(0, -1).some(mayBeUp);
}

/** Some shells take a pattern that matches `..` for it. */
function mayBeUp(name: string): boolean {
  return /^\.(?:[.*?]|\[[^\]]*\])+$/.test(name) && !/^\.+$/.test(name);
}

/** `a{b,c}` and `a@(b|c)` → `ab`, `ac`, from the innermost out. */
function choicesOf(pattern: string): string[] | undefined {
  const done: string[] = [];
  const open = [pattern];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const group = /\{([^{}]*)\}|[@!+?*]\(([^()]*)\)/.exec(next);
    if (group === null) done.push(next);
    else {
      const [whole, choices = "", others = ""] = group;
      const [before, after] = [next.slice(0, group.index), next.slice(group.index + whole.length)];
      const each = whole.startsWith("{") ? choices.split(",") : others.split("|");
      open.push(...each.map((choice) => before + choice + after));
    }
    if (open.length + done.length > MAX_CHOICES) return undefined;
  }
  return done;
}

function firstNames(choice: string): string {
  const names = choice.split("/").slice(0, -1);
  const wild = names.findIndex((name) => /[*?[\]]/.test(name));
  return names.slice(0, wild === -1 ? names.length : wild).join("/");
}
