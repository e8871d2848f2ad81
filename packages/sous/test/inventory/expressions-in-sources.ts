/** Finds every regular expression in the sources of the package. */

import { parseSync, Visitor } from "rolldown/utils";
import type { SourceFile } from "../star.ts";

export type FoundExpression = {
  readonly path: string;
  /** As it stands in the file: `/a+/g`, or the whole of `new RegExp(…)`. */
  readonly written: string;
  /** Undefined when it is put together while the program runs. */
  readonly literal: { readonly source: string; readonly flags: string } | undefined;
};

export function expressionsIn({ path, text }: SourceFile): FoundExpression[] {
  const { program, errors } = parseSync(path, text);
  if (errors[0] !== undefined) throw new Error(`${path} cannot be parsed: ${errors[0].message}`);
  const found: FoundExpression[] = [];
  const made = (node: { start: number; end: number; callee: { type: string; name?: string } }): void => {
    if (node.callee.type !== "Identifier" || node.callee.name !== "RegExp") return;
    found.push({ path, written: text.slice(node.start, node.end).replace(/\s+/g, " "), literal: undefined });
  };
  new Visitor({
    Literal: (node) => {
      if (!("regex" in node)) return;
      const { pattern: source, flags } = node.regex;
      found.push({ path, written: `/${source}/${flags}`, literal: { source, flags } });
    },
    NewExpression: made,
    CallExpression: made,
  }).visit(program);
  return found;
}
