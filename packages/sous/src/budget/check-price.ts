/** A model without a price has no place where money is limited: what it costs could not be counted. */

import { UnpricedModel } from "../core/errors.ts";
import type { Account } from "../core/limits.ts";
import type { RunProfile } from "../core/run.ts";

/** Throws an `UnpricedModel`. At once, unless others share in the account. */
export function checkPrice({ model, price }: RunProfile, account: Account): void | Promise<void> {
  if (price !== undefined) return;
  const isLimited = account.limitsMoney();
  if (isLimited instanceof Promise) return isLimited.then((is) => refuse(is, model.id));
  refuse(isLimited, model.id);
}

function refuse(isLimited: boolean, modelId: string): void {
  if (isLimited) throw new UnpricedModel(modelId);
}
