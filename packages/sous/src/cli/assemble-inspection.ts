/** What `sous doctor` may know about parts that other folders own. Nothing is started, written or asked for. */

import type { Configuration } from "../core/configuration.ts";
import type { ModelDescription } from "../model/resolve.ts";
import type { DatabaseFacts } from "../store/sqlite-inspect.ts";

export type { ModelDescription } from "../model/resolve.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Undefined when there is none. Throws a `UserError` or a `StoreError` that says why it cannot be used. */
export async function inspectDatabase(file: string): Promise<DatabaseFacts | undefined> {
  const { inspectDatabase: inspect } = await import("../store/sqlite-inspect.ts");
  return inspect(file);
}

/** Undefined for a model whose answers come from a file. Throws a `UserError` for a name that leads to no model. */
export async function inspectModel(
  choice: string,
  env: Environment,
  baseUrl: string | undefined,
): Promise<ModelDescription | undefined> {
  if (choice.startsWith("script/")) return undefined;
  const { describeModel } = await import("../model/resolve.ts");
  return describeModel(choice, env, { baseUrl });
}

/** The date of the shipped prices, and whether the model has one. One that answers from a file costs nothing. */
export async function inspectPrices(
  model: string | undefined,
  own: Configuration["prices"],
): Promise<{ asOf: string; isPriced: boolean }> {
  const [{ PRICES_AS_OF }, { priceFor }] = await Promise.all([
    import("../budget/prices-table.ts"),
    import("../budget/prices.ts"),
  ]);
  const isFree = model === undefined || model.startsWith("script/");
  return { asOf: PRICES_AS_OF, isPriced: isFree || priceFor({ id: model, price: undefined }, own) !== undefined };
}

/** How many processes are left of runs whose own process is gone. */
export async function countLeftovers(stateFolder: string): Promise<number> {
  const { countLeftovers: count } = await import("../process/group-record.ts");
  return count(stateFolder);
}
