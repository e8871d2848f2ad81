/** A strict reading of a shell command: words and parts that mean the same to every POSIX shell, or nothing at all. */

/** Each part is one program with its arguments, as the shell would pass them; the joints are `&&`, `||`, `;`, `|` and line breaks. */
export type ShellReading =
  | { readonly isPlain: true; readonly parts: readonly (readonly string[])[] }
  | { readonly isPlain: false; readonly problem: string };

export const MAX_COMMAND_LENGTH = 4096;
export const MAX_PARTS = 50;

/** Stands for an unquoted `*` in the words of a pattern. No command that is read strictly can hold it. */
export const WILDCARD = "\ue000";

/**
 * Reads a command that has nothing but words, whole quotes and joints. Whatever else the shell knows makes the reading
 * fail: a command that is not understood is not one that a rule allows. In a pattern an unquoted `*` is a word character.
 */
export function readShellCommand(text: string, options: { isPattern?: boolean } = {}): ShellReading {
  if (text.length > MAX_COMMAND_LENGTH) return unclear(`it is longer than ${MAX_COMMAND_LENGTH} characters`);
  const strange = STRANGE.exec(text)?.[0];
  if (strange !== undefined) return unclear(`it holds the character ${codePoint(strange)}`);
  const parts: string[][] = [];
  let words: string[] = [];
  let needsMore = false;
  for (let at = 0; at < text.length; ) {
    const blank = matchAt(BLANK, text, at);
    if (blank !== undefined) {
      at += blank.length;
      continue;
    }
    const joint = matchAt(JOINT, text, at);
    if (joint !== undefined) {
      if (words.length === 0 && joint !== "\n") return unclear(`nothing stands before ${joint}`);
      if (words.length > 0) {
        parts.push(words);
        needsMore = joint !== "\n" && joint !== ";";
      }
      words = [];
      at += joint.length;
      continue;
    }
    const redirection = matchAt(HARMLESS_REDIRECTION, text, at);
    if (redirection !== undefined) {
      at += redirection.length;
      continue;
    }
    const word = readWord(text, at, options.isPattern === true);
    if ("problem" in word) return unclear(word.problem);
    if (words.length === 0 && !isProgram(word.value))
      return unclear(`${word.value} is more than the name of a program`);
    words.push(word.value);
    needsMore = false;
    at = word.end;
  }
  if (words.length > 0) parts.push(words);
  if (parts.length > MAX_PARTS) return unclear(`it has more than ${MAX_PARTS} parts`);
  return parts.length === 0 || needsMore ? unclear("it is not complete") : { isPlain: true, parts };
}

/** Words as a shell command that is read back as the same words. */
export function quoteWords(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`)).join(" ");
}

const BLANK = /[ \t]+/y;
const JOINT = /&&|\|\||[;|\n]/y;
// They change where the output is seen and nothing else.
const HARMLESS_REDIRECTION = /(?:[12]?(?:>&[12]|>>?[ \t]*\/dev\/null)|<[ \t]*\/dev\/null)(?=[ \t\n;|&]|$)/y;

// What cannot be seen, what some shells take for a blank and others do not, and what no terminal shows.
const STRANGE = /(?![\t\n ])[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u;

const PLAIN = /[\w@%+=:,./^~!\]#\u0080-\uffff-]+/y;
const SINGLE = /'([^'\n]*)'/y;
const DOUBLE = /"((?:[^"\\$`\n]|\\[^\n])*)"/y;
const ESCAPED = /\\[^\n]/y;

type Word = { value: string; end: number } | { problem: string };

function readWord(text: string, start: number, isPattern: boolean): Word {
  let value = "";
  let pieces = 0;
  let hasDisguise = false;
  let at = start;
  for (; at < text.length && !/[ \t\n;|&<>]/.test(text[at] ?? ""); pieces++) {
    const plain = matchAt(PLAIN, text, at);
    if (plain !== undefined) {
      const expanded = at === start ? /^[~#=]|[=:]~/ : /[=:]~/;
      if (expanded.test(plain)) return { problem: `the shell changes ${plain}` };
      value += plain;
      at += plain.length;
      continue;
    }
    if (isPattern && text[at] === "*") {
      value += WILDCARD;
      at += 1;
      continue;
    }
    const quoted = readQuoted(text, at);
    if (quoted === undefined) return { problem: `${JSON.stringify(text.slice(at, at + 8))} is not a plain word` };
    // `te''st` and `n\pm` are quoted for no reason a reader could have; `--format='%h'` is not.
    const needsNone = /^[\w./-]*$/.test(quoted.value);
    const isOptionValue = value.endsWith("=") && /^(?:[ \t\n;|&]|$)/.test(text.slice(quoted.end, quoted.end + 1));
    hasDisguise ||= needsNone && !isOptionValue;
    value += quoted.value;
    at = quoted.end;
  }
  if (/[<>]/.test(text[at] ?? "")) return { problem: "it redirects input or output" };
  if (pieces === 0) return { problem: "it runs something in the background" };
  if (hasDisguise && pieces > 1) return { problem: `there are quotes inside the word ${value}` };
  return { value, end: at };
}

function readQuoted(text: string, at: number): { value: string; end: number } | undefined {
  const single = matchAt(SINGLE, text, at);
  if (single !== undefined) return { value: single.slice(1, -1), end: at + single.length };
  const double = matchAt(DOUBLE, text, at);
  if (double !== undefined) {
    return { value: double.slice(1, -1).replace(/\\(["\\$`])/g, "$1"), end: at + double.length };
  }
  const escaped = matchAt(ESCAPED, text, at);
  return escaped === undefined ? undefined : { value: escaped.slice(1), end: at + escaped.length };
}

const KEYWORDS = new Set(
  "if then else elif fi do done case esac while until for in select function coproc time ! { } [[ ]]".split(" "),
);

/** False for an assignment and for a word of the shell's own language. */
function isProgram(word: string): boolean {
  return word !== "" && !word.includes("=") && !KEYWORDS.has(word);
}

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

function unclear(problem: string): ShellReading {
  return { isPlain: false, problem };
}

function codePoint(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
