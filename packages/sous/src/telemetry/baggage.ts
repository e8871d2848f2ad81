/** Baggage as attributes: what a caller says about everything that happens in its trace. */

import { type Attributes, type Context, propagation } from "@opentelemetry/api";
import { ATTRIBUTES } from "./span-names.ts";

const MAX_ENTRIES = 16;
const MAX_VALUE = 256;

/** Entries of the text, else of the context. Names that sous uses itself are left out. */
export function baggageAttributes(text: string | undefined, context: Context): Attributes {
  const entries = text === undefined ? entriesOf(context) : parseBaggage(text);
  const taken = entries.filter(([name]) => name !== "" && !Object.hasOwn(ATTRIBUTES, name)).slice(0, MAX_ENTRIES);
  return Object.fromEntries(taken.map(([name, value]) => [name, value.slice(0, MAX_VALUE).toWellFormed()]));
}

function entriesOf(context: Context): [string, string][] {
  return (propagation.getBaggage(context)?.getAllEntries() ?? []).map(([name, { value }]) => [name, value]);
}

/** `name=value;property,name=value`, values percent-encoded. What cannot be read is left out. */
function parseBaggage(text: string): [string, string][] {
  return text.split(",").flatMap((entry) => {
    const [pair = ""] = entry.split(";", 1);
    const equals = pair.indexOf("=");
    if (equals < 1) return [];
    try {
      return [[pair.slice(0, equals).trim(), decodeURIComponent(pair.slice(equals + 1).trim())] as [string, string]];
    } catch {
      return [];
    }
  });
}
