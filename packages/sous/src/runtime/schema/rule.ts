/** The rules of a compiled schema, and the check of one value by them. */

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
/** Of nested schemas while a value is checked, to bound the stack. */
const MAX_DEPTH = 600;
/** Costs, in steps of a pattern. */
const SCHEMA_COST = 4;
const PROBLEM_COST = 10;

/** One check of a value: counts its steps, so that it ends, and collects problems. */
export class SchemaCheck {
  readonly problems: string[] = [];
  #stepsLeft: number;
  #failures = 0;
  /** How many failures there were when the innermost attempt began; undefined outside of one. */
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
