/** The names that an open word may become: a glob has a fixed beginning and end, any other word only a beginning. */

import { WILDCARD } from "./shell-words.ts";

/** True for the text of an open word that the names of files replace. */
export function isGlob(text: string): boolean {
  return /[*?[]/.test(text);
}

/** Tells for a name whether the last name of the open word may be it. A wildcard in it stands for any text. Case does not count. */
export function mayBecome(open: string): (name: string) => boolean {
  const [start, end] = ends(lastName(open).toLowerCase());
  return (name) => {
    const wanted = name.toLowerCase();
    const wildcard = wanted.indexOf(WILDCARD);
    if (wildcard === -1)
      return wanted.length >= start.length + end.length && wanted.startsWith(start) && wanted.endsWith(end);
    const first = wanted.slice(0, wildcard);
    const last = wanted.slice(wanted.lastIndexOf(WILDCARD) + 1);
    return (first.startsWith(start) || start.startsWith(first)) && (last.endsWith(end) || end.endsWith(last));
  };
}

/** True for a glob of which nothing is fixed, such as `*`. */
export function isAnyName(open: string): boolean {
  return ends(lastName(open)).every((each) => each === "");
}

export function lastName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** The text in front of the first glob and behind the last one. Without a glob the end is free. */
function ends(text: string): readonly [start: string, end: string] {
  const start = text.search(/[*?[]/);
  if (start === -1) return [text, ""];
  const last = Math.max(...["*", "?", "[", "]"].map((each) => text.lastIndexOf(each)));
  return [text.slice(0, start), text.slice(last + 1)];
}
