/** Finds a pattern in a text in time proportional to pattern × text: all ways to match are followed at once, none is tried again. */

import {
  caseTest,
  isWord,
  MAX_REPEAT,
  type PatternNode,
  type PatternSyntax,
  type PointTest,
  parsePattern,
  UnusablePattern,
} from "./pattern-syntax.ts";

export type LinearPattern = {
  /** Text that every match holds; undefined when there is none. A cheap test before the real one. */
  readonly required: string | undefined;
  /** How much memory it takes: the number of its instructions. */
  readonly size: number;
  /**
   * Where the first match to end ends, in UTF-16 units; -1 when there is none. `onSteps` hears what it has cost since it was
   * called last, at least every `STEPS_PER_CALL` steps, and may throw to end the search.
   */
  find(text: string, onSteps: (steps: number) => void): number;
};

export type LinearPatternOptions = PatternSyntax & { isLiteral: boolean };

/** Throws `UnusablePattern`. */
export function compileLinearPattern(pattern: string, options: LinearPatternOptions): LinearPattern {
  const { isLiteral, ignoreCase } = options;
  const tree = isLiteral ? literalText(pattern) : parsePattern(pattern, options);
  const program = compile(tree, ignoreCase);
  return {
    required: ignoreCase ? undefined : requiredText(tree) || undefined,
    size: program.instructions.length,
    find: (text, onSteps) => run(program, text, onSteps),
  };
}

function literalText(text: string): PatternNode {
  const nodes = [...text].map((each): PatternNode => ({ type: "literal", point: each.codePointAt(0) ?? 0 }));
  return { type: "sequence", nodes };
}

/** The longest text that must stand in every match. */
function requiredText(node: PatternNode): string {
  switch (node.type) {
    case "literal":
      return String.fromCodePoint(node.point);
    case "repeat":
      return node.min > 0 ? requiredText(node.node) : "";
    case "sequence": {
      let longest = "";
      let open = "";
      for (const each of node.nodes) {
        open = each.type === "literal" ? open + requiredText(each) : "";
        for (const text of [open, requiredText(each)]) if (text.length > longest.length) longest = text;
      }
      return longest;
    }
    case "set":
    case "anchor":
    case "choice":
      return "";
    default:
      return node satisfies never;
  }
}

/** Whether it can match at the beginning only, so that the rest of a text need not be looked at. */
function isAnchored(node: PatternNode): boolean {
  switch (node.type) {
    case "anchor":
      return node.anchor === "line-start";
    case "sequence":
      return node.nodes[0] !== undefined && isAnchored(node.nodes[0]);
    case "choice":
      return node.nodes.every(isAnchored);
    case "repeat":
      return node.min > 0 && isAnchored(node.node);
    case "literal":
    case "set":
      return false;
    default:
      return node satisfies never;
  }
}

type Anchor = Extract<PatternNode, { type: "anchor" }>["anchor"];

/** `next` and `other` are numbers of instructions. */
type Instruction =
  | { type: "point"; test: PointTest; cost: number; next: number }
  | { type: "anchor"; anchor: Anchor; next: number }
  | { type: "split"; next: number; other: number }
  | { type: "match" };

type Program = { instructions: Instruction[]; start: number; isAnchored: boolean };

/** Repetitions are written out, so this bounds them too: the longest one, each time optional, has room. */
const MAX_INSTRUCTIONS = 2 * MAX_REPEAT + 500;
const STEPS_PER_CALL = 10_000;

/** Built from the end: each part is given what follows it. */
function compile(tree: PatternNode, ignoreCase: boolean): Program {
  const instructions: Instruction[] = [{ type: "match" }];
  return { start: emit(tree, 0), instructions, isAnchored: isAnchored(tree) };

  function add(instruction: Instruction): number {
    if (instructions.length >= MAX_INSTRUCTIONS) {
      throw new UnusablePattern("The pattern is too large. Use fewer or smaller repetitions.");
    }
    return instructions.push(instruction) - 1;
  }

  function emit(node: PatternNode, next: number): number {
    switch (node.type) {
      case "literal":
        return add({ type: "point", test: caseTest((point) => point === node.point, ignoreCase), cost: 1, next });
      case "set":
        return add({ type: "point", test: node.test, cost: node.cost, next });
      case "anchor":
        return add({ type: "anchor", anchor: node.anchor, next });
      case "sequence":
        return node.nodes.reduceRight((after, each) => emit(each, after), next);
      case "choice":
        return node.nodes
          .map((each) => emit(each, next))
          .reduce((first, other) => add({ type: "split", next: first, other }));
      case "repeat":
        return emitRepeat(node, next);
      default:
        return node satisfies never;
    }
  }

  function emitRepeat({ node, min, max }: Extract<PatternNode, { type: "repeat" }>, next: number): number {
    let entry = next;
    if (max === Number.POSITIVE_INFINITY) {
      const loop = add({ type: "split", next, other: next });
      instructions[loop] = { type: "split", next, other: emit(node, loop) };
      entry = loop;
    } else {
      for (let optional = min; optional < max; optional++) {
        entry = add({ type: "split", next, other: emit(node, entry) });
      }
    }
    for (let required = 0; required < min; required++) {
      const size = instructions.length;
      entry = emit(node, entry);
      // Repeating an empty match changes nothing, and nested empty loops would take exponential time.
      if (instructions.length === size) break;
    }
    return entry;
  }
}

const NO_POINT = -1;
const LAST_ASCII = 127;

/** Holds the set of instructions that could come next and moves it over the text, one character at a time. */
function run({ instructions, start, isAnchored }: Program, text: string, onSteps: (steps: number) => void): number {
  // Making the list below takes a little for every instruction.
  let steps = instructions.length >> 5;
  let isMatched = false;
  let set: number[] = [];
  let spare: number[] = [];
  /** At which position each instruction was last put into the set, so that it is there once. */
  const seenAt = new Int32Array(instructions.length).fill(-1);
  let index = 0;
  let before = NO_POINT;
  let point = text.codePointAt(0) ?? NO_POINT;
  for (;;) {
    if (index === 0 || !isAnchored) follow(start);
    if (isMatched || point === NO_POINT || (isAnchored && set.length === 0)) break;
    const current = set;
    set = spare;
    set.length = 0;
    spare = current;
    const passed = point;
    index += passed > 0xffff ? 2 : 1;
    before = passed;
    point = text.codePointAt(index) ?? NO_POINT;
    for (const at of current) {
      const instruction = instructions[at];
      if (instruction?.type !== "point") continue;
      if (passed > LAST_ASCII) steps += instruction.cost;
      if (instruction.test(passed)) follow(instruction.next);
    }
    steps += current.length + 1;
    if (steps >= STEPS_PER_CALL) {
      onSteps(steps);
      steps = 0;
    }
  }
  onSteps(steps);
  return isMatched ? index : -1;

  /** Puts an instruction into the set, and all that can be reached from it without a character. */
  function follow(first: number): void {
    const open = [first];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      if (seenAt[at] === index) continue;
      seenAt[at] = index;
      steps += 1;
      const instruction = instructions[at];
      switch (instruction?.type) {
        case "split":
          open.push(instruction.other, instruction.next);
          break;
        case "anchor":
          if (isAt(instruction.anchor, before, point)) open.push(instruction.next);
          break;
        case "point":
          set.push(at);
          break;
        case "match":
          isMatched = true;
          break;
        case undefined:
          break;
        default:
          instruction satisfies never;
      }
    }
  }
}

function isAt(anchor: Anchor, before: number, after: number): boolean {
  switch (anchor) {
    case "line-start":
      return before === NO_POINT;
    case "line-end":
      return after === NO_POINT;
    case "word-edge":
      return isWord(before) !== isWord(after);
    case "no-word-edge":
      return isWord(before) === isWord(after);
    default:
      return anchor satisfies never;
  }
}
