/** The path of a child in its tree: `lead/scout`, then `lead/scout#2`. */

const MAX_SEGMENT = 80;

/** The uses of each label below one parent, and the segment it becomes. */
export type LabelCounters = Map<string, { readonly segment: string; count: number }>;

export function childPath(parentPath: string, label: string, counters: LabelCounters): string {
  const segment = counters.get(label)?.segment ?? escapeLabel(label);
  // Labels that look alike once escaped share a counter, so that no two paths are equal.
  let counter = counters.get(segment);
  if (counter === undefined) {
    counter = { segment, count: 0 };
    counters.set(segment, counter);
  }
  if (label !== segment) counters.set(label, counter);
  counter.count += 1;
  return counter.count === 1 ? `${parentPath}/${segment}` : `${parentPath}/${segment}#${counter.count}`;
}

/** Remembers that this path is taken: the next one with its label has a greater number. */
export function notePath(path: string, label: string, counters: LabelCounters): void {
  const segment = escapeLabel(label);
  const [, number = "1"] = /#(\d+)$/.exec(path) ?? [];
  const counter = counters.get(segment) ?? { segment, count: 0 };
  counter.count = Math.max(counter.count, Number(number));
  counters.set(segment, counter);
  counters.set(label, counter);
}

/** The label in a path, without its number. Used for a run that started in another process. */
export function labelIn(path: string): string {
  const segment = path.slice(path.lastIndexOf("/") + 1);
  const end = segment.lastIndexOf("#");
  return end === -1 ? segment : segment.slice(0, end);
}

/** A label as one segment: `/` and `#` cannot fake another path, and no character can move a cursor or reverse text. */
function escapeLabel(label: string): string {
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
