/** Schemas as the library takes them: Standard Schema, or plain JSON Schema. Made on first use, run one at a time. */

/** A JSON Schema as an object. */
export type JsonSchema = { readonly [key: string]: unknown };

/** The part of https://standardschema.dev that sous uses. zod, valibot and arktype values have it. */
export type StandardSchema<Output = unknown> = {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
  };
};

/** The answer of a Standard Schema: a value, or what is wrong. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

/** One mistake that a Standard Schema found. */
export type StandardIssue = {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
};

/** Any value that a person may give where a schema is wanted. */
export type AnySchema<Output = unknown> = StandardSchema<Output> | JsonSchema;

/** The type that a schema gives; `unknown` for a JSON Schema. */
export type OutputOf<Given> = Given extends StandardSchema<infer Output> ? Output : unknown;

export type Parsed<Output = unknown> = { ok: true; value: Output } | { ok: false; problems: string[] };

/** A schema the runtime can use: what to show the model, and how to check what it sent. */
export type Schema<Output = unknown> = {
  readonly jsonSchema: JsonSchema;
  /**
   * Synchronous where the schema is, so that a tool call costs no extra tick. Large JSON is checked in a later turn of the
   * event loop, and not at all when `stop` throws by then.
   */
  parse(value: unknown, stop?: Pick<AbortSignal, "throwIfAborted">): Parsed<Output> | Promise<Parsed<Output>>;
};

/** A schema of a library has functions. What came as JSON has none, whatever its fields are called. */
export function isStandardSchema(value: object): value is StandardSchema {
  const { "~standard": standard } = value as Partial<StandardSchema>;
  return typeof standard?.validate === "function";
}

/** True for an object that is not a list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return isObject(value) && !Array.isArray(value);
}

/** True for objects and lists. */
export function isObject(value: unknown): value is Record<string | number, unknown> {
  return typeof value === "object" && value !== null;
}

/** True for a literal, and for an object of another realm or without a prototype; a promise or a `Map` is none. */
export function isPlainRecord(value: unknown): value is Record<string, unknown> {
  if (!isRecord(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Undefined for what has no JSON, such as a function or a circle. */
export function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** Memoizes `make`; runs it on first use. */
export function once<Value extends object>(make: () => Value): () => Value {
  let made: Value | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/**
 * Long synchronous work of the whole process, in a queue: `nextTurn` is awaited before each piece, so that timers and
 * signals that are due are heard between two of them, however many runs have work at the same moment.
 */
export function oneAtATime(nextTurn: () => Promise<unknown>) {
  let last: Promise<unknown> = Promise.resolve();

  /** Rejects without doing the work when `stop` throws at its turn. */
  return async <Result>(work: () => Result, stop?: Pick<AbortSignal, "throwIfAborted">): Promise<Result> => {
    const before = last;
    const { promise, resolve } = Promise.withResolvers<void>();
    last = promise;
    try {
      await before;
      await nextTurn();
      stop?.throwIfAborted();
      return work();
    } finally {
      resolve();
    }
  };
}
