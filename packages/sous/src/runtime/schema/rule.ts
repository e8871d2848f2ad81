/** The rules of a compiled schema and the check of one value by them, and the reader that makes rules of keywords. */

import { UserError } from "../../core/errors.ts";
import type { Pattern } from "../../core/pattern.ts";
import { isRecord, type JsonSchema } from "../../core/schema.ts";

/** One rule of a schema: returns the value with the defaults of the schema filled in, and reports problems to the check. */
export type Rule = (value: unknown, check: SchemaCheck) => unknown;

/** A compiled schema. */
export type SchemaNode = {
  readonly rules: Rule[];
  /** The schemas that its rules apply to the same value, such as those of `allOf`. */
  readonly sameValue: SchemaNode[];
  /** The JSON text of its default. */
  defaultText: string | undefined;
};

/** Thrown when the steps are used up. */
export class TooManySteps extends Error {
  override name = "TooManySteps";
}

/** A model repairs its answer with these; the first ones are enough. */
const MAX_PROBLEMS = 20;
const MAX_PATH_LENGTH = 200;
/** Max depth of nested schemas while a value is checked, to bound the stack. */
const MAX_DEPTH = 600;
/** Costs, in steps of up to 100 nanoseconds: so long a search takes for one character and four instructions. */
const PATTERN_COST = 4;
const SCHEMA_COST = 4;
const PROBLEM_COST = 10;

/** One check of a value: counts its steps, so that it ends, and collects problems. */
export class SchemaCheck {
  readonly problems: string[] = [];
  #stepsLeft: number;
  #failures = 0;
  /** The number of failures when the innermost attempt began; undefined outside of one. */
  #attemptedAt: number | undefined;
  readonly #path: (string | number)[] = [];
  #depth = 0;

  constructor(maxSteps: number) {
    this.#stepsLeft = maxSteps;
  }

  readonly spend = (steps: number): void => {
    this.#stepsLeft -= steps;
    if (this.#stepsLeft < 0) throw new TooManySteps();
  };

  /** True when the pattern is in the text. A search cannot be stopped, so it is paid for before it starts. */
  isFound(pattern: Pattern, text: string): boolean {
    this.spend(PATTERN_COST + Math.ceil((pattern.size * text.length) / 4));
    return pattern.isIn(text);
  }

  /** The value with its defaults. Ends at the first rule that fails. */
  value(node: SchemaNode, given: unknown): unknown {
    this.spend(SCHEMA_COST);
    if (this.#depth >= MAX_DEPTH) {
      this.fail("Invalid input: it is nested too deeply for its schema");
      return given;
    }
    this.#depth += 1;
    const failures = this.#failures;
    let value = given;
    for (const rule of node.rules) {
      value = rule(value, this);
      if (this.#failures > failures) break;
    }
    this.#depth -= 1;
    return value;
  }

  /** The same for a part of the value. */
  inside(key: string | number, node: SchemaNode, given: unknown): unknown {
    this.#path.push(key);
    const value = this.value(node, given);
    this.#path.pop();
    return value;
  }

  /** The value with its defaults if it matches; else undefined, without reporting problems. */
  attempt(node: SchemaNode, given: unknown): { value: unknown } | undefined {
    const outer = this.#attemptedAt;
    const failures = this.#failures;
    this.#attemptedAt = failures;
    const value = this.value(node, given);
    const isMatch = this.#failures === failures;
    this.#failures = failures;
    this.#attemptedAt = outer;
    return isMatch ? { value } : undefined;
  }

  /** True when the rest of a long value need not be checked: one failure decides an attempt. */
  get isDecided(): boolean {
    return this.#attemptedAt === undefined ? this.problems.length >= MAX_PROBLEMS : this.#failures > this.#attemptedAt;
  }

  /** `key` is the part of the value with the problem. */
  fail(message: string, key?: string | number): void {
    this.#failures += 1;
    this.spend(PROBLEM_COST);
    if (this.#attemptedAt !== undefined || this.problems.length >= MAX_PROBLEMS) return;
    const keys = key === undefined ? this.#path : [...this.#path, key];
    const path = short(keys.map((each) => short(String(each), MAX_PATH_LENGTH)).join("."), MAX_PATH_LENGTH);
    this.problems.push(path === "" ? message : `${path}: ${message}`);
  }
}

/** The beginning of a text that a message quotes. */
export function short(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength - 1).toWellFormed()}…`;
}

/** The parts that the schemas of one document share. */
export type SchemaGraph = {
  nodeOf(schema: unknown, keyword: string): SchemaNode;
  /** The node of the schema that a `$ref` names. */
  refer(from: SchemaNode, ref: string): SchemaNode;
  patternOf(source: string): Pattern;
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

  pattern(source: string): Pattern {
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
