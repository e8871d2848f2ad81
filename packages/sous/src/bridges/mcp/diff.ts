/** Shows the person who decides how a tool has changed since it was approved. */

import type { McpDefinition } from "./pins.ts";

const MAX_LINE = 200;

/**
 * Lines with `-` for what was approved and `+` for what the server says now. Lines are broken and not cut, and none is left out:
 * what is new may stand anywhere.
 */
export function describeChange(approved: McpDefinition, now: McpDefinition): string {
  const parts = [
    changeOf("name", approved.name, now.name),
    changeOf("description", approved.description, now.description),
    changeOf("input schema", pretty(approved), pretty(now)),
  ].filter(({ old, fresh }) => old.length + fresh.length > 0);
  if (parts.length === 0) return "The change is in a part that is too long to be shown, to models as well.";
  return parts
    .flatMap(({ what, old, fresh }) => [
      `${what}:`,
      ...old.map((line) => `- ${line}`),
      ...fresh.map((line) => `+ ${line}`),
    ])
    .join("\n");
}

function pretty({ inputSchema }: McpDefinition): string {
  return JSON.stringify(inputSchema, undefined, 2);
}

function changeOf(what: string, before: string, after: string): Lines & { readonly what: string } {
  return { what, ...withoutSame(linesOf(before), linesOf(after)) };
}

function linesOf(text: string): string[] {
  return text.split("\n").flatMap((line) => {
    const letters = [...line];
    // The last part is shorter than the others, so a line break at the end of a part is seen.
    const count = Math.floor(letters.length / MAX_LINE) + 1;
    return Array.from({ length: count }, (_, at) => letters.slice(at * MAX_LINE, (at + 1) * MAX_LINE).join(""));
  });
}

type Lines = { readonly old: readonly string[]; readonly fresh: readonly string[] };

/** Max product of both lengths, which the comparison below takes. */
const MAX_COMPARED = 1_000_000;

/** Lines that stand in both, in the same order, are left out: nothing that has changed may hide between them. */
function withoutSame(old: readonly string[], fresh: readonly string[]): Lines {
  const start = sameLines(old, fresh);
  const end = sameLines(old.slice(start).toReversed(), fresh.slice(start).toReversed());
  const middle = { old: old.slice(start, old.length - end), fresh: fresh.slice(start, fresh.length - end) };
  return middle.old.length * middle.fresh.length > MAX_COMPARED ? middle : withoutLongestCommon(middle);
}

function withoutLongestCommon({ old, fresh }: Lines): Lines {
  const width = fresh.length + 1;
  // The number of common lines from this line of each to the end.
  const common = new Uint32Array((old.length + 1) * width);
  const at = (one: number, other: number): number => common[one * width + other] ?? 0;
  for (let one = old.length - 1; one >= 0; one--) {
    for (let other = fresh.length - 1; other >= 0; other--) {
      const isSame = old[one] === fresh[other];
      common[one * width + other] = isSame
        ? at(one + 1, other + 1) + 1
        : Math.max(at(one + 1, other), at(one, other + 1));
    }
  }
  const left: { old: string[]; fresh: string[] } = { old: [], fresh: [] };
  let [one, other] = [0, 0];
  while (one < old.length || other < fresh.length) {
    if (one < old.length && other < fresh.length && old[one] === fresh[other]) {
      one += 1;
      other += 1;
    } else if (other === fresh.length || (one < old.length && at(one + 1, other) >= at(one, other + 1))) {
      left.old.push(old[one++] ?? "");
    } else left.fresh.push(fresh[other++] ?? "");
  }
  return left;
}

/** Counts the lines that are the same from the start. */
function sameLines(one: readonly string[], other: readonly string[]): number {
  const different = one.findIndex((line, index) => line !== other[index]);
  return different === -1 ? Math.min(one.length, other.length) : different;
}
