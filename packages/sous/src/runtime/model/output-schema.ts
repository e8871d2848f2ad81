/**
 * Tells which providers take the schema of an output, and in which form. Where the schema cannot be sent as it is meant, it is
 * not sent: the instructions ask for the shape too, and the runtime checks the answer.
 */

import type { LanguageModelV4 } from "@ai-sdk/provider";
import { isRecord, type JsonSchema } from "../../core/schema.ts";

/** The schema that is sent. */
type NativeSchema = {
  readonly schema: JsonSchema;
  /** Options of the adapter that go with it. */
  readonly providerOptions?: Readonly<Record<string, Readonly<Record<string, string | boolean>>>>;
};

type Asked = { readonly schema: JsonSchema; readonly hasTools: boolean; readonly mayCallTools: boolean };

/** Undefined where the prompt alone asks. */
export function nativeSchema(model: LanguageModelV4, asked: Asked): NativeSchema | undefined {
  const { provider, modelId } = model;
  const facts = factsOf(asked.schema);
  if (facts === undefined) return undefined;
  if (provider === "anthropic.messages") return forAnthropic(modelId, facts);
  if (/^(?:openai|azure)\.(?:responses|chat)$/.test(provider)) return forOpenAi(modelId, facts);
  if (/^google\.(?:generative-ai|vertex\.chat)$/.test(provider)) return forGoogle(modelId, facts, asked);
  // A server that decodes by a grammar often cannot call tools at the same time.
  const isFree = !asked.hasTools || !asked.mayCallTools;
  const isCapable = "supportsStructuredOutputs" in model && model.supportsStructuredOutputs === true;
  return isFree && isCapable ? { schema: facts.schema } : undefined;
}

/** Models before structured outputs. */
const OLD_CLAUDE = /claude-(?:v?[123](?:[-.:]|$)|instant|(?:sonnet|opus)-4(?:-0|-2025|@|$))/;
const MAX_OPTIONAL = 10;

/** Without this option the adapter would force a tool of its own, with which no other could be called. */
const ANTHROPIC_OPTIONS = { anthropic: { structuredOutputMode: "outputFormat" } };

/** An object that is open would be closed, and a value of any type has no form there. */
function forAnthropic(modelId: string, facts: SchemaFacts): NativeSchema | undefined {
  if (!modelId.includes("claude-") || OLD_CLAUDE.test(modelId)) return undefined;
  const isFit = !facts.hasOpenObject && !facts.hasReference && !facts.hasAny && facts.optional <= MAX_OPTIONAL;
  return isFit ? { schema: facts.schema, providerOptions: ANTHROPIC_OPTIONS } : undefined;
}

/** Models before structured outputs, and those that never had them. */
const OLD_GPT = /^(?:gpt-3|gpt-4(?:-|$)|gpt-4o-2024-05-13|o1-(?:mini|preview)|chatgpt-4o)/;

function forOpenAi(modelId: string, facts: SchemaFacts): NativeSchema | undefined {
  if (OLD_GPT.test(modelId) || facts.schema.type !== "object" || facts.isNamedUnion) return undefined;
  const { closed } = facts;
  return {
    schema: closed ?? facts.schema,
    providerOptions: { openai: { strictJsonSchema: closed !== undefined } },
  };
}

const GEMINI = /(?:^|\/)gemini-/i;
/** These take either tools or a schema. */
const OLD_GEMINI = /(?:^|\/)gemini-(?:[12](?:[-.]|$)|pro(?:-vision)?$|exp|robotics)/i;
const NO_TEXT = /image|banana|tts|audio|live|embedding/i;

function forGoogle(modelId: string, { schema }: SchemaFacts, { hasTools }: Asked): NativeSchema | undefined {
  if (!GEMINI.test(modelId) || NO_TEXT.test(modelId) || (hasTools && OLD_GEMINI.test(modelId))) return undefined;
  return { schema };
}

type SchemaFacts = {
  readonly schema: JsonSchema;
  /** The same with every object closed, when that is all that strict decoding needs. */
  readonly closed: JsonSchema | undefined;
  readonly isNamedUnion: boolean;
  readonly hasOpenObject: boolean;
  readonly hasReference: boolean;
  /** Some value may be of any type. */
  readonly hasAny: boolean;
  readonly optional: number;
};

const known = new WeakMap<JsonSchema, SchemaFacts | undefined>();

/** Reads the facts once for each schema. Undefined for one that is too large to be taken by any provider. */
function factsOf(schema: JsonSchema): SchemaFacts | undefined {
  if (!known.has(schema)) known.set(schema, readFacts(schema));
  return known.get(schema);
}

const MAX_NODES = 5000;
const MAX_DEPTH = 30;
/** Max depth for strict decoding at OpenAI. */
const MAX_STRICT_DEPTH = 10;
const MAX_STRICT_VALUES = 500;
/** Max values of all lists together. */
const MAX_STRICT_VALUES_IN_ALL = 1000;

/** The keywords of strict decoding. A schema with any other keyword is sent without it. */
const STRICT_KEYWORDS: ReadonlySet<string> = new Set([
  ...["type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "$defs", "$ref"],
  ...["title", "description", "pattern", "format", "minItems", "maxItems"],
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
]);
const STRICT_FORMATS: ReadonlySet<unknown> = new Set([
  ...["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"],
]);

function readFacts(schema: JsonSchema): SchemaFacts | undefined {
  const reader = new FactsReader();
  const closed = reader.read(schema, 0);
  if (reader.isTooLarge) return undefined;
  const isNamedUnion = ["anyOf", "oneOf", "allOf", "$ref", "enum", "not"].some((word) => Object.hasOwn(schema, word));
  const { isStrict, hasOpenObject, hasReference, hasAny, optional } = reader;
  return { schema, closed: isStrict ? closed : undefined, isNamedUnion, hasOpenObject, hasReference, hasAny, optional };
}

/** Walks through a schema and copies it with every object closed. */
class FactsReader {
  isTooLarge = false;
  isStrict = true;
  hasOpenObject = false;
  hasReference = false;
  hasAny = false;
  optional = 0;
  #nodes = 0;
  #values = 0;

  read(node: JsonSchema, depth: number): JsonSchema {
    this.#nodes += 1;
    if (this.#nodes > MAX_NODES || depth > MAX_DEPTH) this.isTooLarge = true;
    if (this.isTooLarge) return node;
    if (depth > MAX_STRICT_DEPTH) this.isStrict = false;
    this.#look(node);
    const copy: Record<string, unknown> = { ...node };
    for (const word of ["items", "additionalProperties", "not", "contains", "if", "then", "else"])
      if (isRecord(node[word])) copy[word] = this.read(node[word], depth + 1);
    for (const word of ["anyOf", "oneOf", "allOf", "prefixItems"])
      if (Array.isArray(node[word])) copy[word] = node[word].map((each) => this.#readDefinition(each, depth + 1));
    for (const word of ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"])
      if (isRecord(node[word])) copy[word] = this.#readAll(node[word], depth + 1);
    if (isRecord(node.properties) && node.additionalProperties === undefined) copy.additionalProperties = false;
    return copy;
  }

  #readAll(definitions: Record<string, unknown>, depth: number): Record<string, unknown> {
    return Object.fromEntries(
      Object.entries(definitions).map(([name, each]) => [name, this.#readDefinition(each, depth)]),
    );
  }

  #readDefinition(each: unknown, depth: number): unknown {
    if (isRecord(each)) return this.read(each, depth);
    this.hasAny = true;
    this.isStrict = false;
    return each;
  }

  #look(node: JsonSchema): void {
    if (Object.keys(node).some((word) => !STRICT_KEYWORDS.has(word))) this.isStrict = false;
    if (Object.hasOwn(node, "format") && !STRICT_FORMATS.has(node.format)) this.isStrict = false;
    if (Array.isArray(node.enum)) this.#lookAtValues(node.enum.length);
    this.#lookAtType(node);
    this.#lookAtObject(node);
    if (Array.isArray(node.items) || (node.type === "array" && !isRecord(node.items))) this.isStrict = false;
  }

  #lookAtValues(count: number): void {
    this.#values += count;
    if (count > MAX_STRICT_VALUES || this.#values > MAX_STRICT_VALUES_IN_ALL) this.isStrict = false;
  }

  #lookAtType(node: JsonSchema): void {
    const isReference = Object.hasOwn(node, "$ref");
    if (isReference) this.hasReference = true;
    if (isReference && Object.keys(node).length > 1) this.isStrict = false;
    const isTyped = ["type", "anyOf", "$ref"].some((word) => Object.hasOwn(node, word));
    if (!isTyped) this.isStrict = false;
    if (!isTyped && !["oneOf", "allOf", "enum", "const"].some((word) => Object.hasOwn(node, word))) this.hasAny = true;
  }

  #lookAtObject(node: JsonSchema): void {
    const { type, properties, additionalProperties, patternProperties, required } = node;
    const isObject = type === "object" || (Array.isArray(type) && type.includes("object")) || isRecord(properties);
    if (!isObject) return;
    const isMap = additionalProperties !== undefined && additionalProperties !== false;
    if (isMap || isRecord(patternProperties) || (!isRecord(properties) && additionalProperties !== false)) {
      this.hasOpenObject = true;
      this.isStrict = false;
    }
    const names = isRecord(properties) ? Object.keys(properties) : [];
    const needed = new Set<unknown>(Array.isArray(required) ? required : []);
    const optional = names.filter((name) => !needed.has(name)).length;
    this.optional += optional;
    if (optional > 0 || needed.size !== names.length) this.isStrict = false;
  }
}
