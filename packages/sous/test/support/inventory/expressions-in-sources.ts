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
  new Visitor({
    Literal: (node) => {
      if (!("regex" in node)) return;
      const { pattern: source, flags } = node.regex;
      found.push({ path, written: `/${source}/${flags}`, literal: { source, flags } });
    },
    NewExpression: (node) => {
      if (node.callee.type === "Identifier") addMade(node.callee.name, node.start, node.end);
    },
    CallExpression: (node) => {
      if (node.callee.type === "Identifier") addMade(node.callee.name, node.start, node.end);
    },
  }).visit(program);
  return found;

  function addMade(name: string, start: number, end: number): void {
    if (name !== "RegExp") return;
    found.push({ path, written: text.slice(start, end).replace(/\s+/g, " "), literal: undefined });
  }
}
