/** `src/**` in a rule for a file tool. As in .gitignore, a pattern without a slash matches names at any depth. */

import { matchesGlob } from "../core/matches-glob.ts";

export type PathPattern = {
  /** For a rule that allows: the file itself, spelled like this. */
  covers(path: string): boolean;
  /** For a rule that forbids or asks: the file, or a folder it lies in, however it is spelled. */
  touches(path: string): boolean;
  /** The same for a tool that looks at everything below a folder. */
  touchesBelow(folder: string): boolean;
};

/** The pattern, or the sentence that says what is wrong with it. */
export function compilePathPattern(text: string): PathPattern | string {
  if (/[[\]{}]/.test(text)) return "[ ] and { } are not known here: write one rule for each choice, with *, ** and ?";
  if (/[\\\p{Cc}]/u.test(text)) return "paths are written with / and without control characters";
  const written = text.replace(/^(?:\.\/)+/, "");
  const names = written.split("/").filter((name) => name !== "" && name !== ".");
  if (names.length === 0 || names.includes("..") || names[0] === "~") {
    return "a path is relative to the workspace, such as src/** or .env*";
  }
  if (names.at(-1) === "**") names.push("*");
  const segments = names.length === 1 && !/\/./.test(written) && !written.startsWith("/") ? ["**", ...names] : names;
  const folded = segments.map(fold);
  const touches = (path: string): boolean => {
    const given = fold(path).split("/");
    return given.some((_, index) => matches(folded, given.slice(0, index + 1)));
  };
  return {
    covers: (path) => matches(segments, path.split("/")),
    touches,
    touchesBelow: (folder) => touches(folder) || mayReach(folded, folder === "." ? [] : fold(folder).split("/")),
  };
}

/** Some file systems take `.ENV` for `.env`, and one way to write é for another. */
function fold(text: string): string {
  return text.normalize("NFKC").toLowerCase();
}

/** Lets the last `**` seen take one name more whenever the rest does not fit: no other choice can do better. */
function matches(segments: readonly string[], names: readonly string[]): boolean {
  let segment = 0;
  let star = -1;
  let starEnd = 0;
  for (let name = 0; name < names.length; ) {
    const expected = segments[segment];
    if (expected === "**") {
      star = segment++;
      starEnd = name;
    } else if (expected !== undefined && matchesGlob(expected, names[name] ?? "")) {
      segment += 1;
      name += 1;
    } else if (star === -1) return false;
    else {
      name = ++starEnd;
      segment = star + 1;
    }
  }
  return segment === segments.length;
}

function mayReach(segments: readonly string[], folder: readonly string[]): boolean {
  for (const [index, name] of folder.entries()) {
    const segment = segments[index];
    if (segment === "**") return true;
    if (segment === undefined || !matchesGlob(segment, name)) return false;
  }
  return segments.length > folder.length;
}
