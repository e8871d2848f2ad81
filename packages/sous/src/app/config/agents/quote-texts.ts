/**
 * Front matter that is not YAML, with its texts in quotes. Claude Code and opencode do the same with values on one line;
 * texts over several lines are read here too.
 *
 * It never widens what a file allows. A line that begins like a key that can restrict is a key and not part of a text; where
 * that is in doubt, the file is refused. Lists and maps stay what they are.
 */

import { readYaml } from "../yaml/document.ts";
import { isKnownKey, isStructuredKey } from "./dialects.ts";
import { looksLikeRestriction } from "./known-keys.ts";

type Place = { readonly line: number; readonly column: number; readonly message: string; readonly fix: string };

/** The quoted text has as many lines as were given: what is found later has the line that people see. */
type Quoted = { readonly lines: readonly string[]; readonly note: Place } | { readonly problem: Place };

type Entry = {
  readonly key: string;
  /** The key and its colon, which stand before the value. */
  readonly head: string;
  /** The rest of its first line, and the lines below it. */
  readonly value: readonly string[];
  /** The index of its first line, from 0. */
  readonly index: number;
};

/** Far more than people write; each may be read by itself. */
const MAX_ENTRIES = 200;

/** Undefined when quotes change nothing. `firstLine` is the number of the first line. */
export function quoteTexts(lines: readonly string[], firstLine: number): Quoted | undefined {
  const entries = entriesOf(lines);
  if (entries === undefined || entries.length > MAX_ENTRIES) return undefined;
  const result = [...lines];
  const changed: Entry[] = [];
  for (const entry of entries) {
    if (isYaml(entry)) continue;
    const problem = whyNotText(entry, firstLine);
    if (problem !== undefined) return { problem };
    const { key, index, value } = entry;
    const blanks = Array.from({ length: value.length - 1 }, () => "");
    result.splice(index, value.length, `${key}: ${JSON.stringify(textOf(entry))}`, ...blanks);
    changed.push(entry);
  }
  const [first] = changed;
  return first === undefined ? undefined : { lines: result, note: noteAbout(changed, first.index + firstLine) };
}

/** Keys begin at the left margin. Undefined when something else stands before the first of them. */
function entriesOf(lines: readonly string[]): Entry[] | undefined {
  const entries: (Entry & { value: string[] })[] = [];
  for (const [index, line] of lines.entries()) {
    const begun = beginningOf(line, entries.at(-1));
    const last = entries.at(-1);
    if (begun !== undefined) entries.push({ ...begun, value: [begun.rest], index });
    else if (last !== undefined) last.value.push(line);
    else if (line.trim() !== "" && !line.startsWith("#")) return undefined;
  }
  return entries;
}

/** `key: value`, `"key": value`; `key:value` only for keys that are known. */
const KEY_LINE = /^(["']?([A-Za-z_][\w-]*)["']?[ \t]*:)(.*)$/s;

function beginningOf(line: string, above: Entry | undefined): { key: string; head: string; rest: string } | undefined {
  const [, head = "", key = "", rest = ""] = KEY_LINE.exec(line) ?? [];
  if (key === "") return undefined;
  if (isKnownKey(key) || looksLikeRestriction(key)) return { key, head, rest };
  const isKey = (rest === "" || /^[ \t]/.test(rest)) && !(above !== undefined && isSentenceIn(above, key));
  return isKey ? { key, head, rest } : undefined;
}

/** Texts that people write over several lines. */
const PROSE: ReadonlySet<string> = new Set(["description", "initialPrompt", "prompt", "whenToUse", "when_to_use"]);

/** The speakers in an example. */
const DIALOGUE: ReadonlySet<string> = new Set(["assistant", "user"]);

/** True when an unknown word with a colon belongs to the text above: "Context: the tests fail". */
function isSentenceIn(above: Entry, word: string): boolean {
  if (!PROSE.has(above.key)) return false;
  if (DIALOGUE.has(word)) return true;
  if (above.value.some((line, index) => index > 0 && line.trim() !== "")) return true;
  return /^[A-Z]/.test(word);
}

/** True when the entry by itself is one key with a value. */
function isYaml({ head, value }: Entry): boolean {
  const [first = "", ...rest] = value;
  const { problems, value: found } = readYaml(`${[head + first, ...rest].join("\n")}\n`, {
    file: "",
    maxBytes: Number.POSITIVE_INFINITY,
  });
  return problems.length === 0 && typeof found === "object" && found !== null && Object.keys(found).length === 1;
}

/** Says why an entry cannot be read as a text. */
function whyNotText(entry: Entry, firstLine: number): Place | undefined {
  const { key, value, index } = entry;
  const line = index + firstLine;
  const swallowed = value.findIndex((each, at) => at > 0 && isHiddenKey(each));
  if (swallowed !== -1) return hiddenKey(key, value[swallowed] ?? "", line + swallowed);
  return PROSE.has(key) || isOneText(entry) ? undefined : whyNotYaml(entry, line);
}

/** Characters that end a line for some editors, and not for YAML. */
const LINE_ENDS = /[\v\f\u0085\u2028\u2029]/;

/** True for a value on one line that is not a list, a map, an anchor or a tag. */
function isOneText({ key, value: [first = "", ...rest] }: Entry): boolean {
  if (rest.some((line) => line.trim() !== "" && !line.trimStart().startsWith("#"))) return false;
  const text = first.trim();
  if (canRestrict(key)) return text !== "" && text !== first && !LINE_ENDS.test(text) && !/^[[{&!|>"']/.test(text);
  return isKnownKey(key) || !/^[&!]/.test(text);
}

function canRestrict(key: string): boolean {
  return isStructuredKey(key) || looksLikeRestriction(key);
}

/** A line of a text that a person may have meant as a key, whatever marks stand before and behind its name; a remark is none. */
const HIDDEN_KEY = /^([^A-Za-z#]*)([A-Za-z][\w-]*)[^\p{L}\p{N}_:\uFF1A-]*([:\uFF1A]|$)/u;

/** A setting that YAML reads as a part of the line before it, as a text or as a remark, and a person may see below it. */
export function findHiddenLine(lines: readonly string[], firstLine: number): Place | undefined {
  const index = lines.findIndex((line) => line.split(LINE_ENDS).some((each, at) => at > 0 && isHiddenKey(each)));
  if (index === -1) return undefined;
  return {
    line: index + firstLine,
    column: (lines[index] ?? "").search(LINE_ENDS) + 1,
    message: "a setting stands behind a character that ends the line for some editors, and not for YAML",
    fix: "replace the character by a line break, or remove it",
  };
}

function isHiddenKey(line: string): boolean {
  const [, before = "", key = "", end = ""] = HIDDEN_KEY.exec(line) ?? [];
  const isMeant = end !== "" || before.trim() === "?";
  return isMeant && canRestrict(key);
}

function hiddenKey(key: string, line: string, number: number): Place {
  return {
    line: number,
    column: line.length - line.trimStart().length + 1,
    message: `this line looks like a setting and stands inside ${key}, which is not YAML`,
    fix: `begin the line at the left margin if it is a setting; else put ${key} in quotes`,
  };
}

function whyNotYaml({ key, head, value }: Entry, line: number): Place {
  const [first = "", ...rest] = value;
  const text = `${[head + first, ...rest].join("\n")}\n`;
  const [problem] = readYaml(text, { file: "", maxBytes: Number.POSITIVE_INFINITY, firstLine: line }).problems;
  if (problem === undefined)
    return { line, column: 1, message: `${key} is not YAML`, fix: `put a space behind the colon: \`${key}: ...\`` };
  return { line: problem.line, column: problem.column, message: `${key}: ${problem.message}`, fix: problem.fix };
}

/** Returns the text without the marks of a block, and without quotes around it that are not those of YAML. */
function textOf({ key, value }: Entry): string {
  const [first = "", ...rest] = value.map((line) => line.trim());
  if (canRestrict(key))
    return first
      .split(/[ \t]#/, 1)
      .join("")
      .trim();
  const lines = /^[|>][+-]?\d?[+-]?$/.test(first) ? rest : [first, ...rest];
  const text = lines.join("\n").trim();
  const quote = text[0] === '"' || text[0] === "'" ? text[0] : undefined;
  if (quote === undefined) return text;
  return text.slice(1, text.length > 1 && text.endsWith(quote) ? -1 : undefined).trim();
}

function noteAbout(changed: readonly Entry[], line: number): Place {
  const keys = changed.map(({ key }) => key).join(", ");
  const isOne = changed.length === 1;
  const [{ value } = { value: [] }] = changed;
  const isLong = value.some((each, index) => index > 0 && each.trim() !== "");
  const fix = isLong ? `write \`${changed[0]?.key}: |\` and indent the lines below it` : `put ${keys} in quotes`;
  return {
    line,
    column: 1,
    message: `${keys} ${isOne ? "is" : "are"} not YAML: ${isOne ? "it was" : "they were"} read as plain text`,
    fix,
  };
}
