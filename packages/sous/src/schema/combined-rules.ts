/** The keywords that apply further schemas to the same value. */

import type { Rule, SchemaNode } from "./check.ts";
import type { SchemaReader } from "./schema-reader.ts";

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
    // With one schema to choose from, its problems are the reason.
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
