/** Patterns of other programs as patterns of ours. What has no equal here becomes wider when it forbids. */

import type { PermissionEffect } from "../core/configuration.ts";

/** Every `*` may stand for a name, or for folders too: so many stars make so many patterns. */
const MOST_STARS = 3;

/** The patterns of rules for this tool; undefined when its calls cannot be told apart by a pattern. */
export function rulePatterns(tool: string, specifier: string, effect: PermissionEffect): string[] | undefined {
  const text = specifier.trim();
  if (tool === "terminal") return [`terminal(${plain(text.replace(/:\*$/, "*"))})`];
  if (!FILE_TOOLS.includes(tool)) return undefined;
  const path = plain(text.replace(/^(\.\/|\/(?!\/))/, ""));
  // File tools do not leave the workspace anyway.
  if (/^(~|\$HOME|\/\/|\.\.)/.test(path)) return [];
  const paths = effect === "deny" ? withFolders(path) : [path];
  return paths.map((each) => `${tool}(${each})`);
}

const FILE_TOOLS = ["read_file", "write_file", "edit_file"];

/** `*` of the others goes on behind a slash, ours does not: `docs/*.md` forbids `docs/a/b.md` too. */
function withFolders(path: string): string[] {
  const [first = "", ...rest] = path.split(/\*+/);
  if (rest.length === 0) return [path];
  if (rest.length > MOST_STARS) return [`${first.slice(0, first.lastIndexOf("/") + 1)}**`];
  let paths = [first];
  for (const piece of rest) paths = paths.flatMap((each) => [`${each}*${piece}`, `${each}*/**/*${piece}`]);
  return paths;
}

/** What ends a rule, or is no part of a path in it, may be anything. */
function plain(pattern: string): string {
  return pattern.replace(/[()?{}[\]\\\p{Cc}]+/gu, "*");
}
