/**
 * Proves that an expression takes time in proportion to the text, or says what it cannot prove. A backtracking engine is
 * slow where the same text can be read in several ways and then fails, and a search that tries every start is one of these
 * ways: it is a repetition before the expression that takes anything. So two repetitions that can share a text are looked
 * for, the second of which may still fail (Weber and Seidl 1991 on the ambiguity of automata).
 */

import { type Automaton, automatonOf } from "../../support/inventory/expression-automaton.ts";
import { type Node, readExpression } from "../../support/inventory/expression-syntax.ts";

/** Undefined when the expression is proved to be linear; else why not. */
export function doubtAbout(source: string, flags: string): string | undefined {
  try {
    return doubtAboutTree(readExpression(source), flags);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function doubtAboutTree(tree: Node, flags: string): string | undefined {
  const automaton = automatonOf(tree);
  if (automaton.twice[0] !== undefined) return automaton.twice[0];
  // With `m` an attempt is made at every line, and with `y` wherever the code wants.
  const isAnchored = automaton.isAnchored && !/[my]/.test(flags);
  for (const { body, isOnce } of automaton.looks) {
    const doubt = isOnce && isAnchored ? doubtAboutTree(anchored(body), flags) : unboundedIn(body);
    if (doubt !== undefined) return `in a look ahead or back: ${doubt}`;
  }
  return doubtAboutAutomaton(automaton, isAnchored, flags);
}

function anchored(body: Node): Node {
  return { kind: "sequence", parts: [{ kind: "assertion", source: "^" }, body] };
}

/** A look ahead is made again at every start, whether it succeeds or not. */
function unboundedIn(node: Node): string | undefined {
  switch (node.kind) {
    case "character":
      return undefined;
    case "assertion":
      return node.body && unboundedIn(node.body);
    case "sequence":
      return node.parts.map(unboundedIn).find((each) => each !== undefined);
    case "choice":
      return node.options.map(unboundedIn).find((each) => each !== undefined);
    case "repeat":
      return node.max === Infinity ? "a repetition without an upper bound" : unboundedIn(node.body);
    default:
      return node satisfies never;
  }
}

type Graph = {
  readonly names: readonly string[];
  readonly next: readonly (readonly number[])[];
  /** The samples of the alphabet that each place takes. */
  readonly takes: readonly Set<number>[];
  /** Places on one cycle have the same number; those on no cycle have none. */
  readonly cycles: readonly (number | undefined)[];
  /** The same without the places where an attempt can stop and succeed: behind those no text is lost. */
  readonly failing: readonly (number | undefined)[];
};

function doubtAboutAutomaton(automaton: Automaton, isAnchored: boolean, flags: string): string | undefined {
  const graph = graphOf(automaton, isAnchored, flags);
  const repeated = graph.names.keys().filter((place) => graph.cycles[place] !== undefined);
  const pumped = [...repeated];
  for (const left of pumped) {
    if (hasTwoWaysRound(graph, left)) return `${graph.names[left]} can be repeated in two ways`;
    for (const right of pumped) {
      if (left !== right && graph.failing[right] !== undefined && canShare(graph, left, right)) {
        return `${graph.names[left]} and then ${graph.names[right]} can take the same text and fail after it`;
      }
    }
  }
  return undefined;
}

function graphOf({ places, first }: Automaton, isAnchored: boolean, flags: string): Graph {
  const alphabet = samples(places.map(({ source }) => source).join(""));
  const takes = places.map(({ source }) => {
    const one = new RegExp(`^(?:${source})$`, flags.replace(/[gy]/g, ""));
    return new Set(alphabet.filter((code) => one.test(String.fromCodePoint(code))));
  });
  const names = places.map(({ source }) => source);
  const next = places.map((place) => [...place.next]);
  const unbounded = places.map((place) => [...place.unbounded]);
  const isFree = places.map((place) => place.isFree);
  if (!isAnchored) {
    const start = places.length;
    names.push("(any start)");
    takes.push(new Set(alphabet));
    next.push([start, ...first]);
    unbounded.push([start, ...first]);
    isFree.push(false);
  }
  const failing = unbounded.map((targets, place) => (isFree[place] ? [] : targets.filter((each) => !isFree[each])));
  return { names, next, takes: merged(takes, alphabet), cycles: cyclesOf(unbounded), failing: cyclesOf(failing) };
}

/** Characters that every place takes alike are one: the searches below then have fewer steps. */
function merged(takes: readonly Set<number>[], alphabet: readonly number[]): Set<number>[] {
  const classes = new Map<string, number>();
  for (const code of alphabet) {
    const key = takes.map((each) => (each.has(code) ? "1" : "0")).join("");
    if (!classes.has(key)) classes.set(key, code);
  }
  const kept = new Set(classes.values());
  return takes.map((each) => each.intersection(kept));
}

/** Latin-1, some of every kind of Unicode, and the ends of every range that is written. */
function samples(source: string): number[] {
  const codes = new Set<number>(Array.from({ length: 256 }, (_, index) => index));
  for (const code of OTHERS) codes.add(code);
  for (const character of source) addAround(character.codePointAt(0) ?? 0);
  for (const [, braced, plain] of source.matchAll(/\\u\{([\dA-Fa-f]+)\}|\\[ux]([\dA-Fa-f]{2,4})/g)) {
    addAround(Number.parseInt(braced ?? plain ?? "0", 16));
  }
  return [...codes];

  function addAround(code: number): void {
    for (const near of [code - 1, code, code + 1]) if (near >= 0 && near <= 0x10ffff) codes.add(near);
  }
}

const OTHERS = [
  0x131, 0x17f, 0x212a, 0x300, 0x34f, 0x5d0, 0x61c, 0x660, 0x1680, 0x180e, 0x1820, 0x200b, 0x200d, 0x200e, 0x2028,
  0x202e, 0x2060, 0x20ac, 0x2190, 0x2800, 0x3000, 0x4e00, 0xac00, 0xd800, 0xdc00, 0xe000, 0xfe0f, 0xfeff, 0xffa0,
  0xffff, 0x1f1e6, 0x1f3fb, 0x1f600, 0xe0001, 0xe0100, 0x10ffff,
];

function cyclesOf(next: readonly (readonly number[])[]): (number | undefined)[] {
  const reach = next.map((_, from) => reachable(next, from));
  return next.map((_, place) =>
    reach[place]?.has(place) !== true
      ? undefined
      : next.findIndex((_, other) => reach[place]?.has(other) === true && reach[other]?.has(place) === true),
  );
}

function reachable(next: readonly (readonly number[])[], from: number): Set<number> {
  const found = new Set<number>();
  const open = [...(next[from] ?? [])];
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    if (found.has(place)) continue;
    found.add(place);
    open.push(...(next[place] ?? []));
  }
  return found;
}

/** Is there a text that leads from `left` to itself, from `left` to `right`, and from `right` to itself? */
function canShare(graph: Graph, left: number, right: number): boolean {
  const isWanted = ([a, b, c]: readonly number[]): boolean => a === left && b === right && c === right;
  const stays = [left, undefined, right];
  return search(graph, [left, left, right], isWanted, stays);
}

/** Is there a text that leads from a place to itself in two ways? */
function hasTwoWaysRound(graph: Graph, place: number): boolean {
  // Two ways part at some pair, and meet again at the place.
  return search(graph, [place, place, 0], ([a, b, parted]) => a === place && b === place && parted === 1, [
    place,
    place,
  ]);
}

/** Steps of all of `from` on the same characters; a place in `stays` keeps its walker on its cycle. */
function search(
  graph: Graph,
  from: readonly [number, number, number],
  isWanted: (places: readonly number[]) => boolean,
  stays: readonly (number | undefined)[],
): boolean {
  const isPair = stays.length === 2;
  const seen = new Set<string>();
  const open: (readonly number[])[] = [from];
  for (let places = open.pop(); places !== undefined; places = open.pop()) {
    for (const a of steps(places[0] ?? 0, 0)) {
      for (const b of steps(places[1] ?? 0, 1)) {
        const common = graph.takes[a]?.intersection(graph.takes[b] ?? new Set()) ?? new Set();
        if (common.size === 0) continue;
        const thirds = isPair ? [a === b && places[2] === 0 ? 0 : 1] : steps(places[2] ?? 0, 2);
        for (const c of thirds) {
          if (!isPair && graph.takes[c]?.isDisjointFrom(common) !== false) continue;
          const reached = [a, b, c];
          if (isWanted(reached)) return true;
          const key = reached.join();
          if (!seen.has(key)) open.push(reached);
          seen.add(key);
        }
      }
    }
  }
  return false;

  function steps(place: number, walker: number): readonly number[] {
    const home = stays[walker];
    const all = graph.next[place] ?? [];
    if (home === undefined) return all;
    const cycles = walker === 2 ? graph.failing : graph.cycles;
    return all.filter((each) => cycles[each] === cycles[home]);
  }
}
