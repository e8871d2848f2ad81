/** Regular expressions of models and of JSON Schemas, matched by re2js in time that grows with pattern × text. */

import type { RE2JS, RE2Set } from "re2js";
import { type PatternDialect, readLiteral, readPattern } from "./pattern-syntax.ts";

export { UnusablePattern } from "./pattern-syntax.ts";

export type PatternOptions = { isLiteral?: boolean; ignoreCase?: boolean; dialect: PatternDialect };

/** Max bytes of the states that the engine remembers for one pattern. With more, patterns built to be slow take twice the time. */
const MAX_STATE_BYTES = 256 * 1024;

let engine: typeof import("re2js") | undefined;

/** Loads the engine, for the first pattern; undefined when it is there. Await it before a pattern is matched. */
export function loadPatternEngine(): Promise<void> | undefined {
  if (engine !== undefined) return undefined;
  return import("re2js").then((loaded) => {
    engine = loaded;
  });
}

/** Compiled when it is first matched, so that reading a schema does not wait for the engine. */
export class Pattern {
  /** Text that every match holds; undefined when there is none. A cheap test before the real one. */
  readonly required: string | undefined;
  /** The number of its instructions. Matching takes up to 25 nanoseconds for each of them and each character. */
  readonly size: number;
  readonly #source: string;
  #set: RE2Set | undefined;
  #expression: RE2JS | undefined;

  /** Throws `UnusablePattern`. */
  constructor(pattern: string, { isLiteral = false, ignoreCase = false, dialect }: PatternOptions) {
    const { source, size, required } = isLiteral ? readLiteral(pattern) : readPattern(pattern, dialect);
    this.required = ignoreCase ? undefined : required || undefined;
    this.size = size + 1;
    this.#source = ignoreCase ? `(?i)${source}` : source;
  }

  isIn(text: string): boolean {
    this.#set ??= this.#compileSet();
    return this.#set.match(text).length > 0;
  }

  /** The end of the first match, in UTF-16 units; -1 when there is none. */
  endIn(text: string): number {
    this.#expression ??= loaded().RE2JS.compile(this.#source);
    const matcher = this.#expression.matcher(text);
    return matcher.find() ? matcher.end() : -1;
  }

  /** A set of one: it has a limit for its memory, a single expression has none. */
  #compileSet(): RE2Set {
    const { RE2Set } = loaded();
    const set = new RE2Set(RE2Set.UNANCHORED, 0, MAX_STATE_BYTES);
    set.add(this.#source);
    set.compile();
    return set;
  }
}

function loaded(): typeof import("re2js") {
  if (engine === undefined) throw new Error("Unreachable: a pattern is matched before its engine is loaded");
  return engine;
}
