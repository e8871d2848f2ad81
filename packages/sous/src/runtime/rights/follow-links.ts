/** Follows the links of a path as the kernel does, also where the file does not exist yet: a write to a link creates its target. */

import { lstatSync, readlinkSync } from "node:fs";
import { dirname, isAbsolute, join, parse, sep } from "node:path";

/** The kernel follows this many. */
const MAX_LINKS = 40;
/** Links in it lead each process to files of its own, so what we find there says nothing about others. */
const PROCESSES = "/proc";

/** `path` is absolute. What does not exist has no links, and nothing in `/proc` is followed. */
export function followLinks(path: string): string {
  let { root: at } = parse(path);
  const open = namesOf(path.slice(at.length)).reverse();
  let links = 0;
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (isOfProcess(at)) return join(at, name, ...open.reverse());
    if (name === "..") at = dirname(at);
    else {
      const target = linkTarget(join(at, name));
      links += target === undefined ? 0 : 1;
      if (target === undefined || links > MAX_LINKS) at = join(at, name);
      else {
        const { root } = parse(target);
        if (isAbsolute(target)) at = root;
        open.push(...namesOf(target.slice(root.length)).reverse());
      }
    }
  }
  return at;
}

/** True for a path that each process sees in its own way. */
export function isOfProcess(path: string): boolean {
  return path === PROCESSES || path.startsWith(`${PROCESSES}/`);
}

function namesOf(path: string): string[] {
  return path.split(sep === "/" ? "/" : /[/\\]/).filter((name) => name !== "" && name !== ".");
}

function linkTarget(path: string): string | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ? readlinkSync(path) : undefined;
  } catch {
    return undefined;
  }
}
