/** Finds the places of a source that can be changed by one step, and says how the changed text reads. */

import { type ESTree, parseSync, Visitor } from "rolldown/utils";
import type { SourceFile } from "../../support/star.ts";
import { returnedAwaits } from "./returned-awaits.ts";

export const MUTATION_KINDS = [
  "negate a condition",
  "swap an operator",
  "drop a call",
  "drop an await",
  "drop a finally",
  "drop a using",
  "empty a disposal",
  "drop a closing call",
  "drop an assignment",
  "return early",
  "move a boundary",
] as const;

export type MutationKind = (typeof MUTATION_KINDS)[number];

/** What waits, closes or releases. */
export const CLOSING_KINDS = [
  "drop an await",
  "drop a finally",
  "drop a using",
  "empty a disposal",
  "drop a closing call",
] as const satisfies readonly MutationKind[];

/** One change of one file. Offsets count characters of its text. */
export type Mutant = {
  /** Relative to the folder of the sources. */
  readonly path: string;
  readonly kind: MutationKind;
  readonly line: number;
  readonly start: number;
  readonly end: number;
  readonly before: string;
  readonly after: string;
};

type Node = ESTree.Node;
type Change = { readonly start: number; readonly end: number; readonly after: string };

const SWAPPED: Readonly<Record<string, string>> = {
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "===": "!==",
  "!==": "===",
  "&&": "||",
  "||": "&&",
  "+": "-",
  "-": "+",
  "*": "/",
  "/": "*",
  "%": "*",
  "+=": "-=",
  "-=": "+=",
  "++": "--",
  "--": "++",
};

/** Their numeric arguments are bounds. */
const TAKES_BOUNDS = new Set(["slice", "substring", "subarray", "at", "min", "max", "repeat", "padStart", "padEnd"]);
/** Names of calls that close, stop or release something. */
const CLOSES = new Set([
  ...["abort", "cancel", "clear", "clearInterval", "clearTimeout", "close", "closeSync", "destroy", "dispose", "end"],
  ...["giveBack", "kill", "off", "release", "removeEventListener", "removeListener", "return", "stop", "unref"],
  ...["Symbol.dispose", "Symbol.asyncDispose"],
]);
const COMPARES_OR_COUNTS = new Set(["<", "<=", ">", ">=", "===", "!==", "+", "-"]);

/** The file with the change in it. */
export function applyMutant(text: string, { start, end, after }: Change): string {
  return text.slice(0, start) + after + text.slice(end);
}

/** Whether the text is TypeScript: a change may meet syntax that it does not fit. */
export function parses(path: string, text: string): boolean {
  return parseSync(path, text).errors.length === 0;
}

/** Every mutant of the file, in the order of the text. */
export function mutantsIn({ path, text }: SourceFile): Mutant[] {
  const { program, errors } = parseSync(path, text);
  if (errors[0] !== undefined) throw new Error(`${path} cannot be parsed: ${errors[0].message}`);
  const found: Mutant[] = [];
  const source = (node: Node) => text.slice(node.start, node.end);
  const unneeded = returnedAwaits(program);

  new Visitor({
    IfStatement: ({ test }) => negate(test),
    ConditionalExpression: ({ test }) => negate(test),
    WhileStatement: ({ test }) => negate(test),
    DoWhileStatement: ({ test }) => negate(test),
    ForStatement: ({ test }) => negate(test),

    BinaryExpression: (node) => {
      if (COMPARES_OR_COUNTS.has(node.operator)) moveBounds([node.left, node.right]);
      if (node.operator === "+" && (isText(node.left) || isText(node.right))) return;
      swap(node, (operator) => `${source(node.left)} ${operator} ${source(node.right)}`);
    },
    LogicalExpression: (node) =>
      swap(node, (operator) => `((${source(node.left)}) ${operator} (${source(node.right)}))`),
    UpdateExpression: (node) =>
      swap(node, (operator) =>
        node.prefix ? `${operator}${source(node.argument)}` : `${source(node.argument)}${operator}`,
      ),
    AssignmentExpression: (node) => {
      if (!isText(node.right)) swap(node, (operator) => `${source(node.left)} ${operator} ${source(node.right)}`);
    },

    ExpressionStatement: (node) => {
      if (node.expression.type === "AssignmentExpression") add("drop an assignment", node, ";");
      else if (isCall(node.expression)) add(closes(node.expression) ? "drop a closing call" : "drop a call", node, ";");
    },
    AwaitExpression: (node) => {
      if (!unneeded.has(node.start)) add("drop an await", node, `(${source(node.argument)})`);
    },
    TryStatement: ({ finalizer }) => {
      if (finalizer !== null && finalizer.body.length > 0) add("drop a finally", finalizer, "{}");
    },
    VariableDeclaration: (node) => {
      if (!node.kind.endsWith("using")) return;
      const keyword = /^(?:await\s+)?using/.exec(source(node))?.[0] ?? "";
      add("drop a using", { start: node.start, end: node.start + keyword.length }, "const");
    },

    ReturnStatement: (node) => {
      if (node.argument !== null && !isNever(node.argument))
        add("return early", node, `return ${emptied(node.argument)};`);
    },
    MethodDefinition: ({ key, value }) => {
      if (isDisposal(key)) empty(value);
    },
    Property: ({ key, value }) => {
      if (isDisposal(key)) empty(value);
    },
    ArrowFunctionExpression: ({ body }) => {
      if (body.type === "BlockStatement") returnFirst(body);
      else if (found.some(({ start, end }) => start === body.start && end === body.end)) return;
      else if (isCall(body) && closes(body)) add("drop a closing call", body, "(undefined)");
      // What returns nothing already, or an empty list, would stay as it is.
      else if (source(body) !== emptied(body)) add("return early", body, `(${emptied(body)})`);
    },
    FunctionDeclaration: ({ body }) => returnFirst(body),
    FunctionExpression: ({ body }) => returnFirst(body),

    CallExpression: (node) => {
      const { callee, arguments: given } = node;
      const name = callee.type === "MemberExpression" ? source(callee.property) : "";
      if (callee.type === "MemberExpression" && name === "finally") add("drop a finally", node, source(callee.object));
      if (TAKES_BOUNDS.has(name)) moveBounds(given);
    },
  }).visit(program);

  return found.sort((one, other) => one.start - other.start);

  function add(kind: MutationKind, { start, end }: { start: number; end: number }, after: string): void {
    const before = text.slice(start, end);
    if (before === after) return;
    found.push({ path, kind, line: text.slice(0, start).split("\n").length, start, end, before, after });
  }

  function isDisposal(key: Node): boolean {
    return /^Symbol\.(?:d|asyncD)ispose$/.test(source(key));
  }

  /** A disposal that does nothing already is none to empty. */
  function empty(value: Node): void {
    const isFunction = value.type === "FunctionExpression" || value.type === "ArrowFunctionExpression";
    const body = isFunction ? value.body : undefined;
    if (body === null) return;
    if (body === undefined) add("empty a disposal", value, "(() => {})");
    else if (body.type !== "BlockStatement") add("empty a disposal", body, "(undefined)");
    else if (body.body.length > 0) add("empty a disposal", body, "{}");
  }

  function closes(value: Node): boolean {
    if (value.type === "AwaitExpression" || value.type === "UnaryExpression") return closes(value.argument);
    if (value.type === "ChainExpression") return closes(value.expression);
    if (value.type !== "CallExpression") return false;
    const { callee } = value;
    return CLOSES.has(source(callee.type === "MemberExpression" ? callee.property : callee).replace(/^#/, ""));
  }

  function negate(test: Node | null): void {
    if (test !== null && test.type !== "Literal") add("negate a condition", test, `!(${source(test)})`);
  }

  function swap(node: Node & { operator: string }, write: (operator: string) => string): void {
    const swapped = SWAPPED[node.operator];
    if (swapped !== undefined) add("swap an operator", node, write(swapped));
  }

  /** A number may become its neighbour above; a test of the value below is a test of the same boundary. */
  function moveBounds(nodes: readonly Node[]): void {
    for (const node of nodes) {
      if (node.type !== "Literal" || typeof node.value !== "number" || !Number.isInteger(node.value)) continue;
      add("move a boundary", node, String(node.value + 1));
    }
  }

  /** A function that returns nothing does nothing; the others have a `return` of their own to change. */
  function returnFirst(body: Node | null | undefined): void {
    if (body?.type !== "BlockStatement" || body.body.length < 2) return;
    const last = body.body.at(-1);
    if (last === undefined || last.type === "ReturnStatement" || last.type === "ThrowStatement") return;
    const inside = { start: body.start + 1, end: body.start + 1 };
    add("return early", inside, " return;");
  }
}

function emptied(value: Node): string {
  if (value.type === "ArrayExpression") return "[]";
  if (value.type === "Literal" && typeof value.value === "boolean") return String(!value.value);
  return "undefined";
}

/** `x satisfies never`: the compiler knows that this is not reached. */
function isNever(value: Node): boolean {
  return value.type === "TSSatisfiesExpression" && value.typeAnnotation.type === "TSNeverKeyword";
}

function isText(node: Node): boolean {
  return node.type === "TemplateLiteral" || (node.type === "Literal" && typeof node.value === "string");
}

/** `super()` cannot be left out. */
function isCall(node: Node): boolean {
  if (node.type === "AwaitExpression") return isCall(node.argument);
  if (node.type === "UnaryExpression" && node.operator === "void") return isCall(node.argument);
  if (node.type === "ChainExpression") return isCall(node.expression);
  return node.type === "CallExpression" && node.callee.type !== "Super";
}
