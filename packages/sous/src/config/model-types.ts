/** Settings about models: which of them calls may name, and what they cost. */

import { isAllowEntry } from "../core/model-name.ts";
import { nearest } from "../core/nearest.ts";
import type { Price } from "../core/usage.ts";
import { isRecord } from "./server-type.ts";
import { type Complaint, complaint, type ValueType } from "./value-type.ts";

/** `provider/model`, or `provider/*` for all of one. */
export function modelList(): ValueType<readonly string[]> {
  const allowed = "a list of provider/model or provider/*";
  return {
    allowed,
    advice: `${allowed}, such as [openai/gpt-5, "ollama/*"]`,
    jsonSchema: { type: "array", items: { type: "string", pattern: "^[a-z][a-z0-9-]*/(\\*|[^*\\s]+)$" } },
    read(given) {
      if (!Array.isArray(given)) return complaint("type", `must be a list (allowed: ${allowed})`);
      const complaints = given.flatMap((entry: unknown, index): Complaint[] => {
        if (isAllowEntry(entry)) return [];
        const kind = typeof entry === "string" ? "range" : "type";
        return [
          { kind, path: [index], message: "must be provider/model, or provider/* for every model of a provider" },
        ];
      });
      return complaints.length > 0 ? { complaints } : { value: given.map(String) };
    },
    show: (value) => (value.length === 0 ? "none" : value.join(", ")),
  };
}

/** In the file, and in code. */
const FIELDS: Readonly<Record<string, keyof Price>> = {
  input: "input",
  output: "output",
  cache_read: "cachedInput",
  cache_write: "cacheWrite",
};
const NEEDED = ["input", "output"];
const FIELD_NAMES = Object.keys(FIELDS);
const MODEL = /^[a-z][a-z0-9-]*\/\S(.*\S)?$/;

/** US dollars per million tokens, by model. */
export function prices(): ValueType<Readonly<Record<string, Price>>> {
  const allowed = `prices by provider/model, each with ${FIELD_NAMES.join(", ")} in US dollars per million tokens`;
  const amount = { type: "number", minimum: 0 };
  return {
    allowed,
    advice: `${allowed}, such as { "ollama/llama3.2": { input: 0, output: 0 } }`,
    jsonSchema: {
      type: "object",
      propertyNames: { pattern: MODEL.source },
      additionalProperties: {
        type: "object",
        properties: Object.fromEntries(FIELD_NAMES.map((name) => [name, amount])),
        required: NEEDED,
        additionalProperties: false,
      },
    },
    read(given) {
      if (!isRecord(given)) return complaint("type", `must be ${allowed}`);
      const complaints = Object.entries(given).flatMap(([name, price]) => complaintsAbout(name, price));
      if (complaints.length > 0) return { complaints };
      const value: Record<string, Price> = Object.create(null);
      for (const [name, price] of Object.entries(given)) if (isRecord(price)) value[name] = toPrice(price);
      return { value };
    },
    show: (value) => (Object.keys(value).length === 0 ? "none" : Object.keys(value).join(", ")),
  };
}

function complaintsAbout(name: string, given: unknown): Complaint[] {
  if (!MODEL.test(name))
    return [{ kind: "range", path: [name], message: "must be the name of a model: provider/model" }];
  if (!isRecord(given)) return [{ kind: "type", path: [name], message: `must have ${NEEDED.join(" and ")}` }];
  const wrong = Object.entries(given).flatMap(([key, amount]): Complaint[] => {
    if (!Object.hasOwn(FIELDS, key)) {
      const meant = nearest(key, FIELD_NAMES);
      const fix = meant === undefined ? `known are ${FIELD_NAMES.join(", ")}` : `did you mean ${meant}?`;
      return [{ kind: "unknown-key", path: [name, key], message: "is not known", fix }];
    }
    if (typeof amount !== "number" || !Number.isFinite(amount))
      return [{ kind: "type", path: [name, key], message: "must be a number of US dollars per million tokens" }];
    return amount >= 0 ? [] : [{ kind: "range", path: [name, key], message: "must be 0 or more" }];
  });
  if (NEEDED.every((key) => Object.hasOwn(given, key))) return wrong;
  return [...wrong, { kind: "range", path: [name], message: `must have ${NEEDED.join(" and ")}` }];
}

function toPrice(given: Readonly<Record<string, unknown>>): Price {
  const entries = Object.entries(given).flatMap(([key, amount]) => {
    const field = FIELDS[key];
    return field === undefined ? [] : [[field, Number(amount)]];
  });
  return { input: 0, output: 0, ...Object.fromEntries(entries) };
}
