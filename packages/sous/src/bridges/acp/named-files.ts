/** The files that a text of an external agent names: a patch those that it changes, a pattern those below a folder. */

import { isAbsolute } from "node:path";
import { BRACES, choicesOf, spellingsOf, whyNotPlain } from "../../core/plain-path.ts";

/**
 * The files that a patch changes; undefined for a text that is not, line by line, a patch in a known form. Programs that apply patches skip
 * what they do not know and find headers in odd places, so a line that is not understood may name a file that is not found here. Git writes
 * a folder before a name that is not there: both names count.
 */
export function filesOfPatch(text: string): string[] | undefined {
  if (OTHER_BREAK.test(text)) return undefined;
  const lines = text.split(/\r?\n/);
  const isOfAgent = lines.find((line) => line !== "")?.startsWith("*** ");
  const names = isOfAgent ? namesOfAgent(lines) : lines.every(isChange) ? [] : namesOfDiff(lines);
  return names && [...new Set(names.flatMap(spelled))];
}

/** Some programs end a line here, and would find another header. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const OTHER_BREAK = /\r(?!\n)|[\v\f\u001c-\u001e\u0085\u2028\u2029]/;

/** A line that is added, removed or stays, and that no program takes for a header or a hunk, however it is indented. */
function isChange(line: string): boolean {
  return (
    /^(?:[-+ ]|$)/.test(line) && !/^(?:[ \t]|- )*(?:(?:---|\+\+\+)[ \t]+\S|\*\*\*|@@|diff |Index:|Prereq:)/i.test(line)
  );
}

/** The form in which models write patches for codex and others: a hunk ends at the next header, so its lines are not counted. */
function namesOfAgent(lines: readonly string[]): string[] | undefined {
  const names: string[] = [];
  for (const line of lines) {
    const name = /^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (\S.*)$/.exec(line)?.[1];
    if (name !== undefined) names.push(name);
    else if (!isChange(line) && !/^(?:\*\*\* (?:Begin Patch|End Patch|End of File)|@@(?: (?!-\d).*)?)$/.test(line))
      return undefined;
  }
  return names;
}

/** The form of `diff -u`, git and svn. */
function namesOfDiff(lines: readonly string[]): string[] | undefined {
  const names: string[] = [];
  // Git takes the names of its first line where no other line of the part says them.
  let ofGit: string[] | undefined = [];
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? "";
    if (line.startsWith(GIT_LINE)) {
      if (ofGit === undefined) return undefined;
      names.push(...ofGit);
      ofGit = namesOfGit(line.slice(GIT_LINE.length));
      continue;
    }
    const hunk = /^@@ -\d{1,9}(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@/.exec(line);
    const end = hunk === null ? at : endOfHunk(lines, at, Number(hunk[1] ?? 1), Number(hunk[2] ?? 1));
    const found = hunk === null ? namesIn(line, lines[at - 1], lines[at + 1]) : [];
    if (end === undefined || found === undefined) return undefined;
    names.push(...found);
    if (found.length > 0) ofGit = [];
    at = end;
  }
  return ofGit && [...names, ...ofGit];
}

const GIT_LINE = "diff --git ";

/** The last line of the hunk, by its numbers of old and new lines; undefined when a line of another kind comes before. */
function endOfHunk(lines: readonly string[], start: number, old: number, fresh: number): number | undefined {
  let at = start;
  for (const left = { old, fresh }; left.old > 0 || left.fresh > 0; ) {
    const line = lines[at + 1];
    // Lines that are cut off change no other file.
    if (line === undefined || (line === "" && at + 2 === lines.length)) return at;
    at += 1;
    if (line.startsWith("\\")) continue;
    const isBoth = line === "" || line.startsWith(" ");
    if (!isBoth && !/^[-+]/.test(line)) return undefined;
    if (isBoth || line.startsWith("-")) left.old -= 1;
    if (isBoth || line.startsWith("+")) left.fresh -= 1;
    if (left.old < 0 || left.fresh < 0) return undefined;
  }
  return at;
}

/** Lines of a header that name no file. A mode of another kind makes a link. */
const NAMELESS = [
  /^(?:=*|\\ .*|(?:dis)?similarity index \d+%)$/,
  /^(?:index [0-9a-f]+\.\.[0-9a-f]+(?: 100(?:644|755))?|(?:old|new|new file|deleted file) mode 100(?:644|755))$/,
];

/** The names in a line of a header; undefined for any other line. */
function namesIn(line: string, before = "", after = ""): string[] | undefined {
  if (NAMELESS.some((pattern) => pattern.test(line))) return [];
  const isPaired = line.startsWith("--- ") ? after.startsWith("+++ ") : before.startsWith("--- ");
  if (/^(?:---|\+\+\+) /.test(line) && !isPaired) return undefined;
  const name = /^(?:---|\+\+\+|Index:|(?:rename|copy) (?:from|to|old|new)) ([^\t "][^\t]*)/.exec(line)?.[1];
  return name === undefined ? undefined : name === "/dev/null" ? [] : [name];
}

/** Two names without blanks, or one name twice. */
function namesOfGit(text: string): string[] | undefined {
  if (text.includes('"')) return undefined;
  const [one = "", other, more] = text.split(" ");
  if (other !== undefined && more === undefined) return [one, other];
  const [left, right] = [text.slice(0, (text.length - 1) / 2), text.slice((text.length + 1) / 2)];
  return left.replace(/^a\//, "") === right.replace(/^b\//, "") ? [left, right] : undefined;
}

function spelled(name: string): string[] {
  return /^[ab]\//.test(name) ? [name, name.slice(2)] : [name];
}

/** The other names that programs may find there: without the first folder, and without the words behind a blank. */
export function otherNames(name: string): string[] {
  const whole = [name, name.split(/\s/, 1)[0] ?? ""];
  const all = whole.flatMap((each) => (each.startsWith("/") ? [each] : [each, each.slice(each.indexOf("/") + 1)]));
  return [...new Set(all)].filter((each) => each !== "" && each !== name);
}

/**
 * The folders in which a pattern looks, by the names before its first wildcard; undefined for one that may look outside of the
 * folder it is for.
 */
export function foldersOfPattern(pattern: string): string[] | undefined {
  const choices = spellingsOf(pattern).flatMap((each) => choicesOf(each, BRACES) ?? [".."]);
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

function firstNames(choice: string): string {
  const names = choice.split("/").slice(0, -1);
  const wild = names.findIndex((name) => /[*?[\]]/.test(name));
  return names.slice(0, wild === -1 ? names.length : wild).join("/");
}
