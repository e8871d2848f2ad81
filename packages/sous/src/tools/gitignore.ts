/** What .gitignore files say about a path: the last rule that matches wins, and a deeper file wins over a higher one. */

import { compileSegments, matchesPath, type Segment } from "./glob-pattern.ts";

export type IgnoreRules = {
  /** `name` is below the workspace, with forward slashes. */
  ignores(name: string, isFolder: boolean): boolean;
  /** The rules below a folder that has a .gitignore of its own. */
  within(folder: string, text: string): IgnoreRules;
};

type Rule = { segments: Segment[]; isNegated: boolean; isForFolders: boolean };
/** `depth` is how many names lead to the folder of the file. */
type RuleFile = { rules: Rule[]; depth: number };

const MAX_RULES = 5000;

export const NO_RULES: IgnoreRules = ignoreRules([]);

/** `files` from the top down. */
function ignoreRules(files: readonly RuleFile[]): IgnoreRules {
  return {
    ignores(name, isFolder) {
      const names = name.split("/");
      for (const { rules, depth } of files.toReversed()) {
        const below = names.slice(depth);
        const rule = rules.findLast((each) => (isFolder || !each.isForFolders) && matchesPath(each.segments, below));
        if (rule !== undefined) return !rule.isNegated;
      }
      return false;
    },
    within(folder, text) {
      const depth = folder === "." ? 0 : folder.split("/").length;
      return ignoreRules([...files, { rules: parseRules(text), depth }]);
    },
  };
}

function parseRules(text: string): Rule[] {
  const rules: Rule[] = [];
  for (const line of text.split(/\r?\n/)) {
    // Spaces at the end do not count unless the last one is quoted.
    const written = line.replace(/(?<!\\) +$/, "");
    if (written === "" || written.startsWith("#")) continue;
    const isNegated = written.startsWith("!");
    const pattern = isNegated ? written.slice(1) : written;
    const isForFolders = pattern.endsWith("/");
    const path = isForFolders ? pattern.slice(0, -1) : pattern;
    // A slash at the start or in the middle ties the pattern to the folder of the file.
    const segments = compileSegments(path.includes("/") ? path : `**/${path}`);
    if (segments.length > 0) rules.push({ segments, isNegated, isForFolders });
    if (rules.length === MAX_RULES) break;
  }
  return rules;
}
