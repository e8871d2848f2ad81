/** What .gitignore files say about a path: the last rule that matches wins, and a deeper file wins over a higher one. */

import { trimEndOf } from "../core/trim-end.ts";
import { compileSegments, matchesPath, pathNames, placesOf, type Segment } from "./glob-pattern.ts";
import type { Pauses } from "./pauses.ts";

export type IgnoreRules = {
  /** `name` is below the workspace, with forward slashes. */
  ignores(name: string, isFolder: boolean, pauses: Pauses): Promise<boolean>;
  /** The rules below a folder that has a .gitignore of its own. */
  within(folder: string, text: string): IgnoreRules;
};

type Rule = { segments: Segment[]; isNegated: boolean; isForFolders: boolean };
/** `depth` is how many names lead to the folder of the file. */
type RuleFile = { rules: Rule[]; depth: number; places: number };

const MAX_RULES = 5000;
/** Of all files that hold for a path: it is compared with each rule, so this bounds the time for one path. */
const MAX_PLACES = 100_000;
/** As long as a path can be; a longer line is no rule that people write. */
const MAX_RULE_LENGTH = 4096;
const NO_FILE: RuleFile = { rules: [], depth: 0, places: 0 };

export const NO_RULES: IgnoreRules = ignoreRules([]);

/** `files` from the top down. */
function ignoreRules(files: readonly RuleFile[]): IgnoreRules {
  return {
    async ignores(name, isFolder, pauses) {
      const names = pathNames(name);
      for (let file = files.length - 1; file >= 0; file--) {
        const { rules, depth } = files[file] ?? NO_FILE;
        const below = names.slice(depth);
        for (let index = rules.length - 1; index >= 0; index--) {
          if (pauses.isDue()) await pauses.rest();
          const rule = rules[index];
          if (rule === undefined || (rule.isForFolders && !isFolder)) continue;
          if (matchesPath(rule.segments, below)) return !rule.isNegated;
        }
      }
      return false;
    },
    within(folder, text) {
      const depth = folder === "." ? 0 : folder.split("/").length;
      const known = files.reduce((sum, { places }) => sum + places, 0);
      return ignoreRules([...files, { ...parseRules(text, MAX_PLACES - known), depth }]);
    },
  };
}

/** Rules beyond the room that is left are not read. */
function parseRules(text: string, room: number): Omit<RuleFile, "depth"> {
  const rules: Rule[] = [];
  let places = 0;
  for (const line of text.split(/\r?\n/)) {
    const written = withoutBlanks(line);
    if (written === "" || written.startsWith("#") || written.length > MAX_RULE_LENGTH) continue;
    const isNegated = written.startsWith("!");
    const pattern = isNegated ? written.slice(1) : written;
    const isForFolders = pattern.endsWith("/");
    const path = isForFolders ? pattern.slice(0, -1) : pattern;
    // A slash at the start or in the middle ties the pattern to the folder of the file.
    const segments = compileSegments(path === "" || path.includes("/") ? path : `**/${path}`);
    if (segments.length === 0) continue;
    places += placesOf(segments);
    if (places > room) break;
    rules.push({ segments, isNegated, isForFolders });
    if (rules.length === MAX_RULES) break;
  }
  return { rules, places };
}

/** Spaces at the end do not count; behind a backslash the first one does. */
function withoutBlanks(line: string): string {
  const kept = trimEndOf(line, " ");
  return kept.endsWith("\\") && kept !== line ? `${kept} ` : kept;
}
