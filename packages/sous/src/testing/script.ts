/** The script of a scripted model: the answers of each agent, found by its path. */

import { ModelError } from "../core/errors.ts";
import type { ModelRequest } from "../core/model.ts";
import type { Step } from "./steps.ts";

/** One answer: a step, or several in their order. */
export type Answer = Step | readonly Step[];

/** One answer, or a function that makes it from the request. */
export type ScriptTurn = Answer | ((request: ModelRequest) => Answer);

/** The answers of one agent in their order, or one function that makes all of them. */
export type ScriptLines = readonly ScriptTurn[] | ((request: ModelRequest) => Answer);

/** Keys are agent paths (`lead/scout#2`) or patterns: `*` stands for anything within one segment, `**` for anything. */
export type Script = { readonly [pathPattern: string]: ScriptLines };

/** The lines of the exact path, else those of the pattern that spells out the most of it. */
export function findLines(script: Script, path: string): ScriptLines {
  if (Object.hasOwn(script, path)) return script[path] ?? [];
  const patterns = Object.keys(script).filter((pattern) => pattern.includes("*") && fitsPath(pattern, path));
  const [longest] = patterns.sort((one, other) => literalLength(other) - literalLength(one));
  if (longest === undefined) {
    throw new ModelError(
      "invalid_request",
      `The script has no answers for ${path}; it has them for ${Object.keys(script).join(", ")}`,
    );
  }
  return script[longest] ?? [];
}

/** `lead/**` spells out as much as `lead/*` and says less, so it counts a little less. */
function literalLength(pattern: string): number {
  return pattern.replaceAll("*", "").length - (pattern.includes("**") ? 0.5 : 0);
}

/** Steps through the path with every part of the pattern that fits so far: no text makes it try again. */
function fitsPath(pattern: string, path: string): boolean {
  const parts = pattern.match(/\*\*|\*|[^*]/gu) ?? [];
  let open = withSkipped(new Set([0]), parts);
  for (const character of path) {
    const next = new Set<number>();
    for (const index of open) {
      const expected = parts[index];
      if (expected === "**") next.add(index);
      else if (expected === "*" && character !== "/") next.add(index).add(index + 1);
      else if (expected === character) next.add(index + 1);
    }
    open = withSkipped(next, parts);
  }
  return open.has(parts.length);
}

/** `**` also stands for nothing. */
function withSkipped(open: Set<number>, parts: readonly string[]): Set<number> {
  for (const index of open) if (parts[index] === "**") open.add(index + 1);
  return open;
}
