/** Finds a pattern in a line in time proportional to pattern × line: all ways to match are followed at once, none is tried again. */

import { ToolFailure } from "../core/errors.ts";
import { caseTest, isWord, type PatternNode, type PointTest, parsePattern } from "./pattern-syntax.ts";

export type LinePattern = {
  /** Text that every match holds; undefined when there is none. A cheap test before the real one. */
  readonly required: string | undefined;
  /** Where the first match to end ends, in UTF-16 units; -1 when there is none. `onSteps` hears what it cost. */
  find(line: string, onSteps: (steps: number) => void): number;
};

export type LinePatternOptions = { isLiteral: boolean; ignoreCase: boolean };

export function compileLinePattern(pattern: string, { isLiteral, ignoreCase }: LinePatternOptions): LinePattern {
  const tree = isLiteral ? literalText(pattern) : parsePattern(pattern, ignoreCase);
  const program = compile(tree, ignoreCase);
  return {
    required: ignoreCase ? undefined : requiredText(tree) || undefined,
    find: (line, onSteps) => run(program, line, onSteps),
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
    case "place":
    case "choice":
      return "";
    default:
      return node satisfies never;
  }
}

type Place = Extract<PatternNode, { type: "place" }>["place"];

/** `next` and `other` are numbers of instructions. */
type Instruction =
  | { type: "point"; test: PointTest; next: number }
  | { type: "place"; place: Place; next: number }
  | { type: "split"; next: number; other: number }
  | { type: "match" };

type Program = { instructions: Instruction[]; start: number };

/** Repetitions are written out, so this bounds them too. */
const MAX_INSTRUCTIONS = 1000;

/** Built from the end: each part is told where to go on. */
function compile(tree: PatternNode, ignoreCase: boolean): Program {
  const instructions: Instruction[] = [{ type: "match" }];
  return { start: emit(tree, 0), instructions };

  function add(instruction: Instruction): number {
    if (instructions.length >= MAX_INSTRUCTIONS) {
      throw new ToolFailure("The pattern is too large. Use fewer or smaller repetitions.");
    }
    return instructions.push(instruction) - 1;
  }

  function emit(node: PatternNode, next: number): number {
    switch (node.type) {
      case "literal":
        return add({ type: "point", test: caseTest((point) => point === node.point, ignoreCase), next });
      case "set":
        return add({ type: "point", test: node.test, next });
      case "place":
        return add({ type: "place", place: node.place, next });
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
      // What is empty once is empty a thousand times; nested, the loops alone would take for ever.
      if (instructions.length === size) break;
    }
    return entry;
  }
}

const NO_POINT = -1;

/** Holds the set of instructions that could come next and moves it over the line, one character at a time. */
function run({ instructions, start }: Program, line: string, onSteps: (steps: number) => void): number {
  let steps = 0;
  let isMatched = false;
  let set: number[] = [];
  let spare: number[] = [];
  /** At which position each instruction was last put into the set, so that it is there once. */
  const seenAt = new Int32Array(instructions.length).fill(-1);
  let index = 0;
  let before = NO_POINT;
  let point = line.codePointAt(0) ?? NO_POINT;
  for (;;) {
    // A match may begin anywhere.
    follow(start);
    if (isMatched || point === NO_POINT) break;
    const current = set;
    set = spare;
    set.length = 0;
    spare = current;
    const passed = point;
    index += passed > 0xffff ? 2 : 1;
    before = passed;
    point = line.codePointAt(index) ?? NO_POINT;
    for (const at of current) {
      const instruction = instructions[at];
      if (instruction?.type === "point" && instruction.test(passed)) follow(instruction.next);
    }
    steps += current.length + 1;
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
        case "place":
          if (isAt(instruction.place, before, point)) open.push(instruction.next);
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

function isAt(place: Place, before: number, after: number): boolean {
  switch (place) {
    case "line-start":
      return before === NO_POINT;
    case "line-end":
      return after === NO_POINT;
    case "word-edge":
      return isWord(before) !== isWord(after);
    case "no-word-edge":
      return isWord(before) === isWord(after);
    default:
      return place satisfies never;
  }
}
