/**
 * Reads a JSON Schema into rules that are checked in bounded time. Refuses keywords it cannot check. A reference is a link
 * to the schema that it names, so nothing is copied and a schema may be recursive.
 */

import { Pattern, UnusablePattern } from "../../core/pattern.ts";
import { isRecord, type JsonSchema } from "../../core/schema.ts";
import { combinedRules, listRules, objectRules } from "./nested-rules.ts";
import { type Rule, type SchemaGraph, type SchemaNode, SchemaReader, unusable } from "./rule.ts";
import { numberRules, textRules, typeRules, valueRules } from "./scalar-rules.ts";

/** Max characters of the JSON text; a model reads all of it. */
const MAX_LENGTH = 500_000;
/** Max depth of its brackets. */
const MAX_DEPTH = 300;
const MAX_SCHEMAS = 20_000;
const MAX_PATTERN_LENGTH = 4000;
/** Max instructions of all patterns together. The smallest counts like a thousand: the engine may take 256 KB for each. */
const MAX_INSTRUCTIONS = 100_000;
const MIN_INSTRUCTIONS = 1000;
/** Max schemas that one value meets, with all references written out. */
const MAX_FOR_ONE_VALUE = 10_000;
const MAX_DEPTH_FOR_ONE_VALUE = 100;

/** Keywords that restrict and are not supported. Keywords that only describe are ignored. */
const NOT_SUPPORTED = [
  ...["unevaluatedItems", "unevaluatedProperties", "dependentSchemas", "dependentRequired", "dependencies"],
  ...["$dynamicRef", "$recursiveRef"],
];

const RULES: readonly ((reader: SchemaReader) => Rule[])[] = [
  typeRules,
  valueRules,
  textRules,
  numberRules,
  listRules,
  objectRules,
  combinedRules,
];

/** Throws a `UserError` that says what cannot be used. */
export function readSchema(given: JsonSchema): { node: SchemaNode; hasPatterns: boolean } {
  const document = new SchemaDocument(plainCopy(given));
  return { node: document.read(), hasPatterns: document.hasPatterns };
}

class SchemaDocument implements SchemaGraph {
  readonly #root: JsonSchema;
  readonly #nodes = new Map<JsonSchema | boolean, SchemaNode>();
  readonly #unread: [SchemaNode, JsonSchema][] = [];
  /** The schema that each schema refers to. */
  readonly #references = new Map<SchemaNode, SchemaNode>();
  readonly #patterns = new Map<string, Pattern>();
  #instructions = 0;

  constructor(root: JsonSchema) {
    this.#root = root;
  }

  get hasPatterns(): boolean {
    return this.#patterns.size > 0;
  }

  read(): SchemaNode {
    const first = this.nodeOf(this.#root, "a schema");
    for (let next = this.#unread.pop(); next !== undefined; next = this.#unread.pop()) this.#readInto(...next);
    boundForOneValue([...this.#nodes.values()]);
    for (const node of this.#references.keys()) node.defaultText ??= this.#defaultBehind(node);
    return first;
  }

  /** The same node for the same schema, perhaps before it is read, so that a schema may refer to itself. */
  nodeOf(schema: unknown, keyword: string): SchemaNode {
    if (typeof schema !== "boolean" && !isRecord(schema)) throw unusable(`${keyword} must be a schema`);
    const known = this.#nodes.get(schema);
    if (known !== undefined) return known;
    if (this.#nodes.size >= MAX_SCHEMAS) throw unusable(`it has more than ${MAX_SCHEMAS} schemas`);
    const node: SchemaNode = { rules: [], sameValue: [], defaultText: undefined };
    this.#nodes.set(schema, node);
    if (typeof schema === "object") this.#unread.push([node, schema]);
    else if (!schema) node.rules.push(matchesNothing);
    return node;
  }

  refer(from: SchemaNode, ref: string): SchemaNode {
    const node = this.nodeOf(this.#find(ref), `what ${ref} refers to`);
    this.#references.set(from, node);
    return node;
  }

  patternOf(source: string): Pattern {
    const known = this.#patterns.get(source);
    if (known !== undefined) return known;
    if (source.length > MAX_PATTERN_LENGTH) throw unusable(`a pattern is longer than ${MAX_PATTERN_LENGTH} characters`);
    const pattern = compilePattern(source);
    this.#instructions += Math.max(pattern.size, MIN_INSTRUCTIONS);
    if (this.#instructions > MAX_INSTRUCTIONS) throw unusable("its patterns are too large together");
    this.#patterns.set(source, pattern);
    return pattern;
  }

  #readInto(node: SchemaNode, schema: JsonSchema): void {
    for (const keyword of NOT_SUPPORTED) {
      if (schema[keyword] !== undefined) throw unusable(`${keyword} is not supported`);
    }
    if (schema.default !== undefined) node.defaultText = JSON.stringify(schema.default);
    const reader = new SchemaReader(schema, node, this);
    for (const rules of RULES) node.rules.push(...rules(reader));
  }

  /** Follows a JSON pointer. */
  #find(ref: string): unknown {
    if (!ref.startsWith("#")) throw unusable(`$ref ${ref} points outside of the schema; only #/… is supported`);
    let found: unknown = this.#root;
    for (const step of ref.split("/").slice(1)) {
      const key = decoded(step);
      const isThere = typeof found === "object" && found !== null && Object.hasOwn(found, key);
      found = isThere ? (found as Record<string, unknown>)[key] : undefined;
    }
    if (found === undefined || (!ref.startsWith("#/") && ref !== "#")) throw unusable(`Reference not found: ${ref}`);
    return found;
  }

  /** Ends: `boundForOneValue` has refused references in a circle. */
  #defaultBehind(node: SchemaNode): string | undefined {
    let found: SchemaNode | undefined = node;
    while (found !== undefined && found.defaultText === undefined) found = this.#references.get(found);
    return found?.defaultText;
  }
}

const matchesNothing: Rule = (value, check) => {
  check.fail("Invalid input: nothing is allowed here");
  return value;
};

function decoded(step: string): string {
  try {
    return decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return step;
  }
}

function compilePattern(source: string): Pattern {
  try {
    return new Pattern(source, { dialect: "text" });
  } catch (error) {
    if (!(error instanceof UnusablePattern)) throw error;
    throw unusable(`${error.message} Write it without that, or describe the rule in a description.`, error);
  }
}

/** Plain data of bounded depth, without getters and proxies of the given object. */
function plainCopy(given: JsonSchema): JsonSchema {
  let text: string;
  try {
    text = JSON.stringify(given);
  } catch (cause) {
    throw unusable("it is not JSON, or nested too deeply; write a recursive schema with $defs and $ref", cause);
  }
  if (text.length > MAX_LENGTH) throw unusable(`it is longer than ${MAX_LENGTH} characters`);
  const copy: unknown = JSON.parse(text);
  if (!isRecord(copy)) throw unusable("it must be an object");
  boundDepth(copy, 0);
  return copy;
}

function boundDepth(value: unknown, depth: number): void {
  if (typeof value !== "object" || value === null) return;
  if (depth >= MAX_DEPTH) throw unusable(`it is nested deeper than ${MAX_DEPTH} levels`);
  for (const each of Object.values(value)) boundDepth(each, depth + 1);
}

/**
 * Refuses schemas that check one value too often: endlessly because they refer to themselves, or exponentially because
 * references double at every step. Checks of the parts of a value are bounded by the value.
 */
function boundForOneValue(nodes: readonly SchemaNode[]): void {
  const sizes = new Map<SchemaNode, { count: number; depth: number } | "open">();
  for (const node of nodes) sizeOf(node, 0);

  function sizeOf(node: SchemaNode, above: number): { count: number; depth: number } {
    const known = sizes.get(node);
    if (known === "open") throw unusable("a $ref leads back to itself without a property or an item in between");
    if (known !== undefined) return known;
    if (above >= MAX_DEPTH_FOR_ONE_VALUE) throw tooMany();
    sizes.set(node, "open");
    const size = { count: 1, depth: 1 };
    for (const each of node.sameValue) {
      const { count, depth } = sizeOf(each, above + 1);
      size.count += count;
      size.depth = Math.max(size.depth, depth + 1);
    }
    if (size.count > MAX_FOR_ONE_VALUE || size.depth > MAX_DEPTH_FOR_ONE_VALUE) throw tooMany();
    sizes.set(node, size);
    return size;
  }
}

function tooMany(): Error {
  return unusable(
    `it checks one value more than ${MAX_FOR_ONE_VALUE} times or ${MAX_DEPTH_FOR_ONE_VALUE} levels deep, because of $ref, allOf, anyOf or oneOf inside each other`,
  );
}
