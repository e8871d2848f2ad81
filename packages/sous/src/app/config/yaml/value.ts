/** Turns the nodes of a YAML document into plain values: no prototype, no key twice, no alias that explodes. */

import { type Alias, isAlias, isMap, isScalar, isSeq, type ParsedNode, type YAMLMap, type YAMLSeq } from "yaml";

export type Path = readonly (string | number)[];

/** The offsets at which the key and the value of a path begin. */
export type Position = { readonly key: number; readonly value: number };
export type Positions = { get(path: Path): Position | undefined };

/** A problem, where it was found. */
export type Found = { readonly offset: number; readonly message: string; readonly fix: string };
type Node = ParsedNode | null | undefined;

const MAX_DEPTH = 32;
/** Max values with every alias followed: aliases make a bomb of a small file. */
const MAX_VALUES = 20_000;
/** Names that JavaScript would take for something else than a key. */
const FORBIDDEN_KEYS = new Set(["__proto__", "constructor", "prototype"]);

export function toValue(contents: Node): { value: unknown; positions: Positions; problems: readonly Found[] } {
  const spots: Spots = new Map();
  const walk: Walk = { anchors: new Map(), open: new Set(), problems: [], values: 0, via: undefined };
  const value = readNode(contents, { below: spots, depth: 0 }, walk);
  return { value, positions: { get: (path) => spotAt(spots, path) }, problems: walk.problems };
}

type Walk = {
  readonly anchors: Map<string, ParsedNode>;
  /** Collections that are being read: an alias of one of them has no end. */
  readonly open: Set<ParsedNode>;
  readonly problems: Found[];
  values: number;
  /** The outermost alias that is being followed: what is too much below it is its fault. */
  via: number | undefined;
};

/** A tree, so that a long key is there once, however much stands below it. */
type Spots = Map<string | number, Spot>;
type Spot = Position & { readonly below: Spots };

/** The place of the value that is being read. */
type Here = { readonly below: Spots; readonly depth: number };

function spotAt(spots: Spots, path: Path): Position | undefined {
  let spot: Spot | undefined;
  for (const step of path) {
    spot = (spot?.below ?? spots).get(step);
    if (spot === undefined) return undefined;
  }
  return spot;
}

/** Notes where the value of this key begins. */
function enter({ below, depth }: Here, step: string | number, position: Position): Here {
  const spot: Spot = { ...position, below: new Map() };
  below.set(step, spot);
  return { below: spot.below, depth: depth + 1 };
}

function readNode(node: Node, here: Here, walk: Walk): unknown {
  if (node === null || node === undefined) return null;
  walk.values += 1;
  const offset = walk.via ?? node.range[0];
  if (walk.values > MAX_VALUES)
    return refuseOnce(walk, offset, "the text stands for too many values", "make it smaller");
  if (here.depth > MAX_DEPTH) return refuseOnce(walk, offset, "the values are nested too deeply", "use fewer levels");
  if (isAlias(node)) return followAlias(node, here, walk);
  if (node.anchor !== undefined) walk.anchors.set(node.anchor, node);
  if (isScalar(node)) return scalarOf(node.value);
  walk.open.add(node);
  const value = isMap(node) ? mapOf(node, here, walk) : isSeq(node) ? listOf(node, here, walk) : null;
  walk.open.delete(node);
  return value;
}

function scalarOf(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  return typeof value === "bigint" ? Number(value) : value;
}

function listOf(node: YAMLSeq.Parsed, here: Here, walk: Walk): unknown[] {
  const list: unknown[] = [];
  for (const [index, item] of node.items.entries()) {
    if (isFull(walk)) break;
    const offset = item.range[0];
    list.push(readNode(item, enter(here, index, { key: offset, value: offset }), walk));
  }
  return list;
}

function mapOf(node: YAMLMap.Parsed, here: Here, walk: Walk): Record<string, unknown> {
  const map: Record<string, unknown> = Object.create(null);
  for (const { key, value } of node.items) {
    if (isFull(walk)) break;
    const offset = key.range[0];
    const name = isScalar(key) ? (key.source ?? String(key.value)) : undefined;
    const refusal = name === undefined ? NOT_A_NAME : refuseKey(name, map);
    if (name === undefined || refusal !== undefined) {
      walk.problems.push({ offset, ...(refusal ?? NOT_A_NAME) });
      continue;
    }
    if (isScalar(key) && key.anchor !== undefined) walk.anchors.set(key.anchor, key);
    const inside = enter(here, name, { key: offset, value: value?.range[0] ?? offset });
    map[name] = readNode(value, inside, walk);
  }
  return map;
}

const NOT_A_NAME = { message: "a key must be a plain name", fix: "write it as a word" };

function refuseKey(name: string, map: Record<string, unknown>): Omit<Found, "offset"> | undefined {
  if (FORBIDDEN_KEYS.has(name)) return { message: `the key ${name} is not allowed`, fix: "remove the line" };
  if (name === "<<") return { message: "merge keys (<<) are not read", fix: "write the keys out" };
  if (!(name in map)) return undefined;
  return { message: `the key ${JSON.stringify(name.slice(0, 80))} is there twice`, fix: "keep one of them" };
}

function followAlias(node: Alias.Parsed, here: Here, walk: Walk): unknown {
  const name = node.source.slice(0, 80);
  const target = walk.anchors.get(node.source);
  const offset = node.range[0];
  if (target === undefined) return refuse(walk, offset, `there is no anchor &${name} above`, "write the value out");
  if (walk.open.has(target)) return refuse(walk, offset, `the alias *${name} contains itself`, "write the value out");
  const { via } = walk;
  walk.via ??= offset;
  const value = readNode(target, here, walk);
  walk.via = via;
  return value;
}

const MAX_PROBLEMS = 20;

function isFull(walk: Walk): boolean {
  return walk.values > MAX_VALUES || walk.problems.length >= MAX_PROBLEMS;
}

function refuse(walk: Walk, offset: number, message: string, fix: string): null {
  walk.problems.push({ offset, message, fix });
  return null;
}

/** The walk comes back from every level once the limit is passed; the first one is reported. */
function refuseOnce(walk: Walk, offset: number, message: string, fix: string): null {
  return walk.problems.some((problem) => problem.message === message) ? null : refuse(walk, offset, message, fix);
}
