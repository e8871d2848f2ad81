/** One schema while it is read: its keywords, each checked for its type. */

import { UserError } from "../core/errors.ts";
import type { LinearPattern } from "../core/linear-pattern.ts";
import { isRecord, type JsonSchema } from "../core/schema.ts";
import { type SchemaNode, short } from "./rule.ts";

/** What the schemas of one document share. */
export type SchemaGraph = {
  nodeOf(schema: unknown, keyword: string): SchemaNode;
  /** The node of the schema that a `$ref` names. */
  refer(from: SchemaNode, ref: string): SchemaNode;
  patternOf(source: string): LinearPattern;
};

/** One schema while it is read: its keywords, each checked for its type. */
export class SchemaReader {
  readonly schema: JsonSchema;
  readonly #node: SchemaNode;
  readonly #graph: SchemaGraph;

  constructor(schema: JsonSchema, node: SchemaNode, graph: SchemaGraph) {
    this.schema = schema;
    this.#node = node;
    this.#graph = graph;
  }

  /** A schema for a part of the value. */
  node(keyword: string, given: unknown): SchemaNode {
    return this.#graph.nodeOf(given, keyword);
  }

  nodes(keyword: string, given: unknown): SchemaNode[] {
    if (!Array.isArray(given)) throw unusable(`${keyword} must be a list of schemas`);
    return given.map((each) => this.node(keyword, each));
  }

  /** A schema for the same value. */
  sameNode(keyword: string, given: unknown): SchemaNode {
    return this.#same(this.node(keyword, given));
  }

  /** Empty when the schema does not have the keyword. */
  sameNodes(keyword: string): SchemaNode[] {
    return this.nodes(keyword, this.schema[keyword] ?? []).map((node) => this.#same(node));
  }

  reference(): SchemaNode | undefined {
    if (this.schema.$ref === undefined) return undefined;
    return this.#same(this.#graph.refer(this.#node, this.text("$ref") ?? ""));
  }

  number(keyword: string): number | undefined {
    const given = this.schema[keyword];
    if (given === undefined || typeof given === "number") return given;
    throw unusable(`${keyword} must be a number`);
  }

  text(keyword: string): string | undefined {
    const given = this.schema[keyword];
    if (given === undefined || typeof given === "string") return given;
    throw unusable(`${keyword} must be a string`);
  }

  list(keyword: string): readonly unknown[] | undefined {
    const given = this.schema[keyword];
    if (given === undefined || Array.isArray(given)) return given;
    throw unusable(`${keyword} must be a list`);
  }

  names(keyword: string): readonly string[] {
    const given = this.list(keyword) ?? [];
    if (given.every((each) => typeof each === "string")) return given;
    throw unusable(`${keyword} must be a list of names`);
  }

  entries(keyword: string): [string, unknown][] {
    const given = this.schema[keyword] ?? {};
    if (isRecord(given)) return Object.entries(given);
    throw unusable(`${keyword} must be an object`);
  }

  pattern(source: string): LinearPattern {
    return this.#graph.patternOf(source);
  }

  #same(node: SchemaNode): SchemaNode {
    this.#node.sameValue.push(node);
    return node;
  }
}

const MAX_MESSAGE_LENGTH = 400;

export function unusable(what: string, cause?: unknown): UserError {
  return new UserError(short(`This JSON Schema cannot be used: ${what}`, MAX_MESSAGE_LENGTH), { cause });
}
