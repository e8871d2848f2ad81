/** What a model costs and holds: as the user, the model itself or the shipped table says. */

import type { Model } from "../core/model.ts";
import type { Price } from "../core/usage.ts";
import { PRICES, type PriceRow } from "./price-table.ts";

type ModelFacts = { price: Price; contextWindow: number };

/**
 * Finds `provider/model`, also with a version behind it (`-20250929`, `-2025-04-14`, `-001`, `@20251101`). Undefined when
 * the table does not know it: then the cost is shown as unknown, and where money is limited the model is refused. That includes
 * local models, because their cost is unknown.
 */
export function priceOf(modelId: string): ModelFacts | undefined {
  const slash = modelId.indexOf("/");
  const provider = modelId.slice(0, slash);
  const models = ownValue(PRICES, ownValue(SAME_PRICES, provider) ?? provider);
  if (models === undefined) return undefined;
  const name = modelId.slice(slash + 1);
  const row = ownValue(models, name) ?? ownValue(models, withoutVersion(name));
  return row === undefined ? undefined : toFacts(row);
}

/** The price that the user set, else that of the model itself, else that of the table. */
export function priceFor({ id, price }: Pick<Model, "id" | "price">, users: Prices = {}): Price | undefined {
  return ownValue(users, id) ?? price ?? priceOf(id)?.price;
}

type Prices = Readonly<Record<string, Price>>;

/** Providers with the same models at the same prices. */
const SAME_PRICES: Readonly<Record<string, string>> = { "openai-chat": "openai" };

const VERSION = /(?:-\d{8}|-\d{4}-\d{2}-\d{2}|-\d{3})$/;

/** `name@20250101` and `name-2025-01-01` are `name`. */
function withoutVersion(name: string): string {
  const at = name.indexOf("@");
  return at === -1 ? name.replace(VERSION, "") : name.slice(0, at);
}

/** Names come from people: `constructor` is not a model. */
function ownValue<Value>(record: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

function toFacts([input, output, cachedInput, cacheWrite, contextWindow]: PriceRow): ModelFacts {
  const price: Price = { input, output };
  if (cachedInput !== null) price.cachedInput = cachedInput;
  if (cacheWrite !== null) price.cacheWrite = cacheWrite;
  return { price, contextWindow };
}
