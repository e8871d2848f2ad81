/** What `sous doctor` finds out about prices: how old the shipped table is, and whether the chosen model has one. */

import type { Configuration } from "../core/configuration.ts";
import { inspectPrices } from "./assemble-inspection.ts";
import { type Check, ok, warning } from "./doctor-check.ts";
import { plural } from "./figures.ts";

/** `model` may have been chosen although the configuration is broken, and then undefined. */
export async function checkPrices(model: string | undefined, configuration: Configuration | undefined): Promise<Check> {
  const name = "prices";
  const own = configuration?.prices ?? {};
  const { asOf, isPriced } = await inspectPrices(model, own);
  const count = Object.keys(own).length;
  const table = `the shipped table is of ${asOf}${count === 0 ? "" : `, and ${plural(count, "price")} in your configuration`}`;
  if (isPriced) return ok(name, table);
  const found = `${table}; ${model} has no price, so its cost is not known`;
  const { budget, subagent } = configuration?.agent ?? {};
  if (budget === undefined && subagent?.maxTotalCost === undefined) return ok(name, found);
  const effect =
    budget === undefined
      ? "agent.subagent.max_total_cost keeps it from having children"
      : "agent.budget keeps it from running";
  return warning(
    name,
    `${found}, and ${effect}`,
    `add ${model} with input and output below prices: in your configuration`,
  );
}
