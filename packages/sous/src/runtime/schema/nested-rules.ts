/** The keywords about the parts of lists and objects. */

import { isRecord, once } from "../../core/schema.ts";
import { type Rule, type SchemaCheck, type SchemaNode, type SchemaReader, short } from "./rule.ts";
import { jsonKey } from "./scalar-rules.ts";

const MAX_QUOTED = 200;
const MAX_NAMED_KEYS = 5;
/** Costs, in steps. */
const KEY_COST = 8;
const DEFAULT_COST = 30;

export function listRules(reader: SchemaReader): Rule[] {
  const { schema } = reader;
  const rules = sizeRules(reader, "array", "Items", (value) => (Array.isArray(value) ? value.length : undefined));
  // Draft 7 writes the first items as a list in `items`, and the others in `additionalItems`.
  const first = Array.isArray(schema.items) ? schema.items : schema.prefixItems;
  const others = Array.isArray(schema.items) ? schema.additionalItems : schema.items;
  if (schema.uniqueItems === true) rules.push(areUnique);
  if (schema.contains !== undefined) rules.push(containsRule(reader));
  if (first !== undefined || others !== undefined)
    rules.push(
      itemsRule(
        reader.nodes("prefixItems", first ?? []),
        others === undefined ? undefined : reader.node("items", others),
      ),
    );
  return rules;
}

function areUnique(value: unknown, check: SchemaCheck): unknown {
  if (!Array.isArray(value)) return value;
  const seen = new Map<string, number>();
  for (const [index, item] of value.entries()) {
    if (check.isDecided) break;
    const key = jsonKey(item, check.spend);
    const earlier = seen.get(key);
    if (earlier === undefined) seen.set(key, index);
    else check.fail(`Array items must be unique: element at index ${index} duplicates the one at index ${earlier}`);
  }
  return value;
}

function containsRule(reader: SchemaReader): Rule {
  const node = reader.node("contains", reader.schema.contains);
  const min = reader.number("minContains") ?? 1;
  const max = reader.number("maxContains") ?? Number.POSITIVE_INFINITY;
  return (value, check) => {
    if (!Array.isArray(value)) return value;
    let found = 0;
    for (const item of value) {
      if (check.attempt(node, item) !== undefined) found += 1;
      if (found > max) break;
    }
    if (found < min) check.fail(`Array must contain at least ${min} matching elements; found ${found}`);
    if (found > max) check.fail(`Array must contain at most ${max} matching elements`);
    return value;
  };
}

function itemsRule(first: readonly SchemaNode[], others: SchemaNode | undefined): Rule {
  return (value, check) => {
    if (!Array.isArray(value)) return value;
    let copy: unknown[] | undefined;
    for (const [index, item] of value.entries()) {
      const node = index < first.length ? first[index] : others;
      if (node === undefined || check.isDecided) break;
      const checked = check.inside(index, node, item);
      if (checked === item) continue;
      copy ??= copyOfList(value, check);
      copy[index] = checked;
    }
    return copy ?? value;
  };
}

function copyOfList(value: readonly unknown[], check: SchemaCheck): unknown[] {
  check.spend(value.length >> 2);
  return [...value];
}

type Fields = Record<string, unknown>;

function keysOf(value: Fields, check: SchemaCheck): string[] {
  const keys = Object.keys(value);
  check.spend(KEY_COST * keys.length);
  return keys;
}

const FIELD_KEYWORDS = ["properties", "patternProperties", "additionalProperties", "required"];

export function objectRules(reader: SchemaReader): Rule[] {
  const { schema } = reader;
  const rules = sizeRules(reader, "object", "Properties", (value, check) =>
    isRecord(value) ? keysOf(value, check).length : undefined,
  );
  if (schema.propertyNames !== undefined) rules.push(namesRule(reader.node("propertyNames", schema.propertyNames)));
  if (!FIELD_KEYWORDS.some((keyword) => schema[keyword] !== undefined)) return rules;
  const properties = new Map(reader.entries("properties").map(([name, given]) => [name, reader.node(name, given)]));
  const patterns = reader
    .entries("patternProperties")
    .map(([source, given]) => ({ pattern: reader.pattern(source), node: reader.node(source, given) }));
  const { additionalProperties } = schema;
  const others =
    additionalProperties === undefined ? undefined : reader.node("additionalProperties", additionalProperties);
  const checkFields = fieldsRule({ properties, patterns, others, isClosed: additionalProperties === false });
  const checkRequired = requiredRule(reader.names("required"));
  // One rule checks both, so that a model reads the problems of both at once. A default counts as given.
  rules.push((value, check) => checkRequired(checkFields(value, check), check));
  return rules;
}

function namesRule(node: SchemaNode): Rule {
  return (value, check) => {
    if (!isRecord(value)) return value;
    for (const name of keysOf(value, check)) {
      if (check.isDecided) break;
      if (check.attempt(node, name) === undefined) check.fail("Invalid key: its name is not allowed", name);
    }
    return value;
  };
}

type Allowed = {
  readonly properties: ReadonlyMap<string, SchemaNode>;
  readonly patterns: readonly { readonly pattern: ReturnType<SchemaReader["pattern"]>; readonly node: SchemaNode }[];
  readonly others: SchemaNode | undefined;
  readonly isClosed: boolean;
};

function fieldsRule({ properties, patterns, others, isClosed }: Allowed): Rule {
  // The defaults are read on first use: a property may have the default of a schema that is read later.
  const withDefaults = once(() => [...properties].filter(([, node]) => node.defaultText !== undefined));
  return (value, check) => {
    if (!isRecord(value)) return value;
    const unknown: string[] = [];
    let fields = value;
    for (const name of keysOf(value, check)) {
      if (check.isDecided || unknown.length > MAX_NAMED_KEYS) break;
      const known = properties.get(name);
      let isKnown = known !== undefined;
      if (known !== undefined) checkField(name, known);
      for (const { pattern, node } of patterns) {
        if (!check.isFound(pattern, name)) continue;
        isKnown = true;
        checkField(name, node);
      }
      if (isKnown || others === undefined) continue;
      if (isClosed) unknown.push(name);
      else checkField(name, others);
    }
    if (unknown.length > 0) check.fail(unrecognized(unknown));
    for (const [name, node] of withDefaults()) {
      check.spend(1);
      if (!Object.hasOwn(value, name)) setField(name, defaultOf(node, check));
    }
    return fields;

    function checkField(name: string, node: SchemaNode): void {
      const checked = check.inside(name, node, fields[name]);
      if (checked !== fields[name]) setField(name, checked);
    }

    function setField(name: string, given: unknown): void {
      if (fields === value) {
        fields = { ...value };
        keysOf(fields, check);
      }
      // An assignment to `__proto__` would change the object instead of a field of it.
      Object.defineProperty(fields, name, { value: given, writable: true, enumerable: true, configurable: true });
    }
  };
}

function unrecognized(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMED_KEYS).map((name) => JSON.stringify(short(name, MAX_QUOTED)));
  const more = names.length > MAX_NAMED_KEYS ? " and others" : "";
  return `Unrecognized key${names.length === 1 ? "" : "s"}: ${shown.join(", ")}${more}`;
}

function defaultOf({ defaultText = "null" }: SchemaNode, check: SchemaCheck): unknown {
  check.spend(DEFAULT_COST + defaultText.length);
  return JSON.parse(defaultText);
}

function requiredRule(required: readonly string[]): Rule {
  return (value, check) => {
    if (!isRecord(value)) return value;
    for (const name of required) {
      check.spend(1);
      if (check.isDecided) break;
      if (!Object.hasOwn(value, name)) check.fail("Invalid input: it is required and missing", name);
    }
    return value;
  };
}

/** `minItems` and `maxItems`, or the same of properties. */
function sizeRules(
  reader: SchemaReader,
  kind: "array" | "object",
  parts: "Items" | "Properties",
  sizeOf: (value: unknown, check: SchemaCheck) => number | undefined,
): Rule[] {
  const min = reader.number(`min${parts}`);
  const max = reader.number(`max${parts}`);
  if (min === undefined && max === undefined) return [];
  const rule: Rule = (value, check) => {
    const size = sizeOf(value, check);
    if (size === undefined) return value;
    const expected = `expected ${kind} to have`;
    if (min !== undefined && size < min) check.fail(`Too small: ${expected} >=${min} ${parts.toLowerCase()}`);
    if (max !== undefined && size > max) check.fail(`Too big: ${expected} <=${max} ${parts.toLowerCase()}`);
    return value;
  };
  return [rule];
}

/** The keywords that apply further schemas to the same value. */
export function combinedRules(reader: SchemaReader): Rule[] {
  const { schema } = reader;
  const rules: Rule[] = [];
  const reference = reader.reference();
  if (reference !== undefined) rules.push((value, check) => check.value(reference, value));
  for (const node of reader.sameNodes("allOf")) rules.push((value, check) => check.value(node, value));
  if (schema.anyOf !== undefined) rules.push(anyOfRule(reader.sameNodes("anyOf")));
  if (schema.oneOf !== undefined) rules.push(oneOfRule(reader.sameNodes("oneOf")));
  if (schema.not !== undefined) rules.push(notRule(reader.sameNode("not", schema.not)));
  if (schema.if !== undefined) {
    const [then, otherwise] = [schema.then ?? true, schema.else ?? true];
    rules.push(
      ifRule(reader.sameNode("if", schema.if), reader.sameNode("then", then), reader.sameNode("else", otherwise)),
    );
  }
  return rules;
}

function anyOfRule(nodes: readonly SchemaNode[]): Rule {
  return (value, check) => {
    for (const node of nodes) {
      const match = check.attempt(node, value);
      if (match !== undefined) return match.value;
    }
    // The problems of a single schema are the reason.
    if (nodes.length === 1 && nodes[0] !== undefined) check.value(nodes[0], value);
    else check.fail(`Invalid input: it matches none of the ${nodes.length} schemas of anyOf`);
    return value;
  };
}

function oneOfRule(nodes: readonly SchemaNode[]): Rule {
  return (value, check) => {
    let found: { value: unknown } | undefined;
    for (const node of nodes) {
      const match = check.attempt(node, value);
      if (match === undefined) continue;
      if (found !== undefined) {
        check.fail("Invalid input: it matches more than one schema of oneOf");
        return value;
      }
      found = match;
    }
    if (found === undefined) check.fail(`Invalid input: it matches none of the ${nodes.length} schemas of oneOf`);
    return found === undefined ? value : found.value;
  };
}

function notRule(node: SchemaNode): Rule {
  return (value, check) => {
    if (check.attempt(node, value) !== undefined) check.fail("Invalid input: it matches the schema of not");
    return value;
  };
}

function ifRule(condition: SchemaNode, then: SchemaNode, otherwise: SchemaNode): Rule {
  return (value, check) => check.value(check.attempt(condition, value) === undefined ? otherwise : then, value);
}
