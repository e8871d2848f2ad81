/** Paths as they are written: the same for every program, or not. */

/**
 * Says why programs could take a path for different files; undefined for an absolute one, and for one that is plainly relative.
 * None of our tools replaces anything in a path, so such a path is a mistake there.
 */
export function whyNotPlain(path: string): string | undefined {
  if (path.includes("\0")) return "it holds a NUL byte";
  if (path.startsWith("~")) return "some programs take ~ for a home folder";
  if (/^[a-z][a-z0-9+.-]+:/i.test(path)) return "it is written as an address";
  if (/^[$%`"']/.test(path)) return "a shell takes its first character for something else";
  return undefined;
}

/** More readings than this are not looked at. */
const MAX_READINGS = 256;

/**
 * The path as it is for file systems and programs that take one way to write a character for another, `%2e` for `.`, and `\\` for `/` or
 * for nothing; itself first.
 */
export function spellingsOf(path: string): string[] {
  let all = [path];
  // Some programs decode what others have decoded.
  for (const spell of [decoded, composed, decoded, withoutBackslash])
    all = [...new Set(all.flatMap((each) => [each, ...spell(each)]))];
  return all;
}

function decoded(path: string): string[] {
  const text = path.replace(/(?:%[0-9a-f]{2})+/gi, (codes) => {
    try {
      return decodeURIComponent(codes);
    } catch {
      return codes;
    }
  });
  return [text];
}

function composed(path: string): string[] {
  return ["NFC", "NFD", "NFKC"].map((form) => path.normalize(form));
}

function withoutBackslash(path: string): string[] {
  return [path.replaceAll("\\", "/"), path.replaceAll("\\", "")];
}

/**
 * The same, and what it is for programs that take braces and brackets for a choice. Undefined when these are too many.
 */
export function readingsOf(path: string): string[] | undefined {
  let all = spellingsOf(path);
  for (const group of [BRACKETS, BRACES]) {
    const chosen = all.map((each) => choicesOf(each, group));
    if (chosen.includes(undefined)) return undefined;
    all = [...new Set([...all, ...chosen.flatMap((each) => each ?? [])])];
    if (all.length > MAX_READINGS) return undefined;
  }
  return all;
}

/** A pair of signs, and the way in which the text between them is parted into choices. */
type Group = { readonly pattern: RegExp; readonly choices: (inner: string) => string[] };

/** `a{b,c}` → `ab`, `ac`; `a@(b|c)` for the patterns of some shells. */
export const BRACES: Group = {
  pattern: /\{([^{}]*)\}|[@!+?*]\(([^()]*)\)/,
  choices: (inner) => inner.split(/[,|]/),
};
/** `[ab]` → `a`, `b`; a range by its ends and each character between them. */
const BRACKETS: Group = { pattern: /\[([^[\]]*)\]/, choices: (inner) => charactersOf(inner) };

/** The texts that a pattern stands for, from the innermost pair out; undefined when there are too many. */
export function choicesOf(text: string, { pattern, choices }: Group): string[] | undefined {
  const done: string[] = [];
  const open = [text];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const group = pattern.exec(next);
    if (group === null) done.push(next);
    else {
      const [whole, ...inner] = group;
      const [before, after] = [next.slice(0, group.index), next.slice(group.index + whole.length)];
      open.push(...choices(inner.join("")).map((choice) => before + choice + after));
    }
    if (open.length + done.length > MAX_READINGS) return undefined;
  }
  return done;
}

function charactersOf(inner: string): string[] {
  const ranges = inner.replaceAll(/(.)-(.)/gsu, (whole, first: string, last: string) => {
    const [from, to] = [first.codePointAt(0) ?? 0, last.codePointAt(0) ?? 0];
    const between = Array.from({ length: Math.min(Math.max(0, to - from + 1), MAX_READINGS) }, (_, at) => from + at);
    return between.length === 0 ? whole : String.fromCodePoint(...between);
  });
  return [...new Set(ranges)];
}

/** Installers of packages link files of a store into these folders. */
const LINKED_FOLDERS: ReadonlySet<string> = new Set(["node_modules", "site-packages"]);

/** True for a file of an installed package that all users of the machine may read: a secret is private. */
export function isInstalled(path: string, mode: number): boolean {
  return path.split(/[/\\]/).some((part) => LINKED_FOLDERS.has(part)) && (mode & 0o004) !== 0;
}
