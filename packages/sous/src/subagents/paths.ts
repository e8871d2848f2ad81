/** Where a child stands in its tree: `lead/scout`, then `lead/scout#2`. */

const MAX_SEGMENT = 80;

/** The counter of one label below one parent. */
export function childPath(parentPath: string, label: string, counters: Map<string, number>): string {
  const segment = escapeLabel(label);
  const count = (counters.get(segment) ?? 0) + 1;
  counters.set(segment, count);
  return count === 1 ? `${parentPath}/${segment}` : `${parentPath}/${segment}#${count}`;
}

/** A label as one segment: `/` and `#` cannot fake a place, and nothing in it can move a cursor or turn text around. */
export function escapeLabel(label: string): string {
  const inert = label
    .trim()
    .toWellFormed()
    .replace(/[%/#]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}]/gu, "")
    .replace(/\s+/g, " ");
  // "." and ".." are names of folders elsewhere.
  const named = /^\.*$/.test(inert) ? `%2E${inert.slice(1)}` : inert;
  return [...named].slice(0, MAX_SEGMENT).join("");
}
