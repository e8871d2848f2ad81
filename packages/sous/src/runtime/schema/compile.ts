/** Compiles any kind of schema into one that the runtime can use, once per schema object. */

import { setImmediate } from "node:timers/promises";
import { messageOf, UserError } from "../../core/errors.ts";
import { loadPatternEngine } from "../../core/pattern.ts";
import {
  isStandardSchema,
  type JsonSchema,
  oneAtATime,
  type Parsed,
  type Schema,
  type StandardIssue,
  type StandardSchema,
} from "../../core/schema.ts";
import { readSchema } from "./read-schema.ts";
import { SchemaCheck, type SchemaNode, TooManySteps } from "./rule.ts";

const compiled = new WeakMap<object, Schema | Promise<Schema>>();

/** A promise only for a schema of the AI SDK that is a promise itself. */
export function compileSchema(given: object): Schema | Promise<Schema> {
  const known = compiled.get(given);
  if (known !== undefined) return known;
  const schema = compile(given);
  compiled.set(given, schema);
  if (schema instanceof Promise) schema.then((ready) => compiled.set(given, ready)).catch(() => compiled.delete(given));
  return schema;
}

/** Says whose schema it is when it cannot be used. */
export function compileSchemaOf(whose: string, given: object): Schema | Promise<Schema> {
  const fail = (cause: unknown): never => {
    throw new UserError(`${whose} cannot be used: ${messageOf(cause)}`, { cause });
  };
  try {
    const schema = compileSchema(given);
    return schema instanceof Promise ? schema.catch(fail) : schema;
  } catch (cause) {
    return fail(cause);
  }
}

function compile(given: object): Schema | Promise<Schema> {
  if (isStandardSchema(given)) return fromStandard(given, standardJsonSchema(given));
  if (isAiSdkSchema(given)) return fromAiSdkSchema(given);
  if (typeof given === "function") return compile((given as () => object)());
  return fromJsonSchema(given as JsonSchema);
}

function fromStandard(schema: StandardSchema, jsonSchema: JsonSchema): Schema {
  return {
    jsonSchema,
    parse(value) {
      const result = schema["~standard"].validate(value);
      return result instanceof Promise ? result.then(toParsed) : toParsed(result);
    },
  };
}

function toParsed(result: { value?: unknown; issues?: readonly StandardIssue[] | undefined }): Parsed {
  if (result.issues === undefined) return { ok: true, value: result.value };
  return { ok: false, problems: result.issues.map(describeIssue) };
}

function describeIssue(issue: StandardIssue): string {
  const path = (issue.path ?? []).map((step) => String(typeof step === "object" ? step.key : step)).join(".");
  return path === "" ? issue.message : `${path}: ${issue.message}`;
}

/** Converts with what a schema brings along (https://standardschema.dev, JSON Schema), as those of zod and arktype do. */
function standardJsonSchema(schema: StandardSchema): JsonSchema {
  const standard = schema["~standard"] as StandardSchema["~standard"] & {
    jsonSchema?: { input(options: { target: string }): JsonSchema };
  };
  if (standard.jsonSchema !== undefined) return withoutDialect(standard.jsonSchema.input({ target: "draft-2020-12" }));
  throw new UserError(
    standard.vendor === "valibot"
      ? "A schema of valibot has no converter to JSON Schema: put it into toStandardJsonSchema() of @valibot/to-json-schema."
      : `A schema of ${standard.vendor} has no converter to JSON Schema. Use zod 4.2 or newer, arktype, valibot with toStandardJsonSchema() of @valibot/to-json-schema, or plain JSON Schema.`,
  );
}

function withoutDialect(schema: JsonSchema): JsonSchema {
  const { $schema: _dialect, ...rest } = schema;
  return rest;
}

/** A JSON Schema (or a promise of one) and perhaps a check of its own. */
type AiSdkSchema = {
  readonly jsonSchema: JsonSchema | PromiseLike<JsonSchema>;
  readonly validate?: ((value: unknown) => AiSdkChecked | PromiseLike<AiSdkChecked>) | undefined;
};
type AiSdkChecked = { success: true; value: unknown } | { success: false; error: Error };

/** A plain JSON Schema cannot match: JSON holds neither undefined nor functions. */
function isAiSdkSchema(given: object): given is AiSdkSchema {
  if (!("jsonSchema" in given && "validate" in given)) return false;
  return given.validate === undefined || typeof given.validate === "function";
}

function fromAiSdkSchema(given: AiSdkSchema): Schema | Promise<Schema> {
  const { jsonSchema, validate } = given;
  if ("then" in jsonSchema && typeof jsonSchema.then === "function") {
    return Promise.resolve(jsonSchema as PromiseLike<JsonSchema>).then((ready) => withCheck(ready, validate));
  }
  return withCheck(jsonSchema as JsonSchema, validate);
}

function withCheck(jsonSchema: JsonSchema, validate: AiSdkSchema["validate"]): Schema {
  if (validate === undefined) return fromJsonSchema(jsonSchema);
  return {
    jsonSchema,
    async parse(value) {
      const checked = await validate(value);
      return checked.success ? { ok: true, value: checked.value } : { ok: false, problems: [checked.error.message] };
    },
  };
}

/** Checks by rules of our own, in bounded time: the schema may come from a model or a file. */
function fromJsonSchema(jsonSchema: JsonSchema): Schema {
  const { node, hasPatterns } = readSchema(jsonSchema);
  return {
    jsonSchema: withoutDialect(jsonSchema),
    parse(value, stop) {
      const loading = hasPatterns ? loadPatternEngine() : undefined;
      return loading === undefined ? checkValue(node, value, stop) : loading.then(() => checkValue(node, value, stop));
    },
  };
}

/** Nearly every value is checked in fewer steps: about ten milliseconds. */
const STEPS_AT_ONCE = 100_000;
/** About a fifth of a second, half a second on a busy machine. Nothing else runs meanwhile. */
const MAX_STEPS = 6_000_000;

const TOO_LARGE: Parsed = {
  ok: false,
  problems: ["checking it against its schema takes too many steps: it is too large for this schema"],
};

const inTurn = oneAtATime(setImmediate);

function checkValue(
  node: SchemaNode,
  value: unknown,
  stop?: Pick<AbortSignal, "throwIfAborted">,
): Parsed | Promise<Parsed> {
  return (
    checkWithin(STEPS_AT_ONCE, node, value) ?? inTurn(() => checkWithin(MAX_STEPS, node, value) ?? TOO_LARGE, stop)
  );
}

/** Undefined when the steps are not enough. */
function checkWithin(maxSteps: number, node: SchemaNode, given: unknown): Parsed | undefined {
  const check = new SchemaCheck(maxSteps);
  try {
    const value = check.value(node, given);
    return check.problems.length === 0 ? { ok: true, value } : { ok: false, problems: check.problems };
  } catch (error) {
    if (error instanceof TooManySteps) return undefined;
    throw error;
  }
}
