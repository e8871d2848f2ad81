/** Marks in the sources that tell which of the mutated places a test reaches, in whatever process it does so. */

import type { Mutant } from "./sites.ts";

type Insertion = { readonly at: number; readonly text: string };

/**
 * The text with a mark at each of these mutants. A mark that is reached makes an empty file, named for the number of its
 * mutant, in the folder: tests start processes with an environment of their own, and some of them are killed.
 */
export function withProbes(text: string, mutants: readonly (readonly [number, Mutant])[], folder: string): string {
  const opening: Insertion[] = [];
  const closing: Insertion[] = [];
  // Of two that begin at one place the longer one is outside.
  const externalFirst = [...mutants].sort(([, one], [, other]) => one.start - other.start || other.end - one.end);
  for (const [number, mutant] of externalFirst) {
    const [before, after] = wrapping(number, mutant);
    opening.push({ at: mutant.start + (before.isInside ? 1 : 0), text: before.text });
    closing.unshift({ at: mutant.end, text: after });
  }
  const insertions = [...closing, ...opening].sort((one, other) => one.at - other.at);
  let probed = "";
  let position = 0;
  for (const { at, text: inserted } of insertions) {
    probed += text.slice(position, at) + inserted;
    position = at;
  }
  return `${probed}${text.slice(position)}\n${probeFunction(folder)}`;
}

function wrapping(number: number, { kind, before, after }: Mutant): [{ text: string; isInside: boolean }, string] {
  const call = `__reached(${number})`;
  const isStatement = after === ";" || before.startsWith("return ");
  if (isStatement) return [{ text: `{ ${call}; `, isInside: false }, " }"];
  const isBlock = after === "{}";
  if (isBlock) return [{ text: ` ${call};`, isInside: true }, ""];
  const isPlace = before === "" || kind === "drop a using";
  if (isPlace) return [{ text: ` ${call}; `, isInside: false }, ""];
  return [{ text: `(${call}, `, isInside: false }, ")"];
}

/** A process may not be allowed to write there; what others reach is seen all the same. */
function probeFunction(folder: string): string {
  return `function __reached(number) {
  const reached = (globalThis.__reachedMutants ??= new Set());
  if (reached.has(number)) return;
  reached.add(number);
  try {
    process.getBuiltinModule("node:fs").writeFileSync(${JSON.stringify(`${folder}/`)} + number, "");
  } catch {}
}
`;
}
