/** Finds the awaits that change nothing: an async function returns what it awaits, and so it does without the `await`. */

import { type ESTree, Visitor } from "rolldown/utils";

type Range = { readonly start: number; readonly end: number };

/** Where they begin. One inside of a `try`, or in a function that releases something at its end, is none of them. */
export function returnedAwaits(program: ESTree.Program): ReadonlySet<number> {
  const returned: Range[] = [];
  const functions: Range[] = [];
  /** What waits for the awaited value before it acts. */
  const ending: Range[] = [];
  const note = (node: ESTree.Node | null): void => {
    if (node?.type === "AwaitExpression") returned.push(node);
  };
  new Visitor({
    ReturnStatement: ({ argument }) => note(argument),
    ArrowFunctionExpression: (node) => {
      functions.push(node);
      note(node.body);
    },
    FunctionDeclaration: (node) => void functions.push(node),
    FunctionExpression: (node) => void functions.push(node),
    TryStatement: ({ block, handler, finalizer }) => {
      ending.push(block);
      if (handler !== null && finalizer !== null) ending.push(handler);
    },
    VariableDeclaration: (node) => {
      if (node.kind.endsWith("using")) ending.push(innermost(functions, node) ?? node);
    },
  }).visit(program);
  const isEnded = (place: Range): boolean => {
    const own = innermost(functions, place);
    return own !== undefined && ending.some((each) => contains(own, each) && contains(each, place));
  };
  return new Set(returned.filter((place) => !isEnded(place)).map(({ start }) => start));
}

function contains(outer: Range, inner: Range): boolean {
  return outer.start <= inner.start && inner.end <= outer.end;
}

/** The outer ones come first. */
function innermost(functions: readonly Range[], place: Range): Range | undefined {
  return functions.findLast((each) => contains(each, place));
}
