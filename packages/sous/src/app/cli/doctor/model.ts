/** The checks of `sous doctor` about the model: its key, its address and its price. */

import { messageOf } from "../../../core/errors.ts";
import type { Variables } from "../../../core/process.ts";
import { PRICES_AS_OF, priceFor } from "../../../runtime/budget/prices.ts";
import { describeModel, type ModelDescription } from "../../../runtime/model/resolve.ts";
import type { Configuration } from "../../config/configuration.ts";
import { plural } from "../terminal/text.ts";
import { type Check, ok, problem, warning } from "./machine.ts";

type ModelQuestion = {
  readonly choice: string | undefined;
  readonly provider: Configuration["provider"] | undefined;
  readonly env: Variables;
  /** One request, without a key. */
  readonly isOnline: boolean;
};

export async function checkModel(question: ModelQuestion): Promise<Check[]> {
  const { choice, isOnline } = question;
  if (choice === undefined) {
    const fix = "set SOUS_MODEL=provider/model, or model: in the configuration; sous demo needs none";
    return [warning("model", "none is chosen", fix)];
  }
  try {
    if (choice.startsWith("script/")) return [ok("model", `${choice}, answers from a file`)];
    const facts = describeModel(choice, question.env, { baseUrl: question.provider?.baseUrl });
    const checks = [ok("model", `${choice} at ${facts.address}`), checkKey(question, facts), ...checkProxy(question)];
    return isOnline ? [...checks, await checkAddress(facts.address)] : checks;
  } catch (error) {
    return [problem("model", messageOf(error), "choose another with --model, SOUS_MODEL or model:")];
  }
}

/** Names the variable, never its value. */
function checkKey({ provider, env }: ModelQuestion, { keys, isKeyOptional }: ModelDescription): Check {
  const { apiKeyEnv, apiKeyCommand } = provider ?? {};
  if (apiKeyCommand !== undefined) return ok("key", "from provider.api_key_command, which was not run");
  const names = apiKeyEnv === undefined ? keys : [apiKeyEnv];
  const set = names.find((name) => env[name]);
  if (set !== undefined) return ok("key", `${set} is set`);
  if (isKeyOptional) return ok("key", `none, and none is needed; ${names.join(" or ")} would be used`);
  return problem("key", `${names.join(" or ")} is not set`, `export ${names[0]}=…`);
}

/** Node uses a proxy only when a variable says so at its start. Empty when there is no proxy. */
function checkProxy({ env }: ModelQuestion): Check[] {
  const name = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"].find((each) => env[each]);
  if (name === undefined) return [];
  if (env.NODE_USE_ENV_PROXY === "1") return [ok("proxy", `${name} is set, and Node uses it`)];
  const fix = "export NODE_USE_ENV_PROXY=1 (Node 24, or 22.21 and newer)";
  return [warning("proxy", `${name} is set, but Node does not use it by itself`, fix)];
}

const MAX_MS = 5_000;

/** Any answer counts: without a key it is usually a refusal. */
async function checkAddress(address: string): Promise<Check> {
  try {
    const signal = AbortSignal.timeout(MAX_MS);
    const { status } = await fetch(address, { method: "HEAD", redirect: "manual", signal });
    return ok("network", `${address} answers (${status})`);
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const fix = "check the connection, the proxy (HTTPS_PROXY) and the address of the provider";
    return problem("network", `${address} does not answer: ${messageOf(cause)}`, fix);
  }
}

/** `model` may have been chosen although the configuration is broken, and then undefined. */
export function checkPrices(model: string | undefined, configuration: Configuration | undefined): Check {
  const name = "prices";
  const own = configuration?.prices ?? {};
  // A model that answers from a file costs nothing.
  const isFree = model === undefined || model.startsWith("script/");
  const isPriced = isFree || priceFor({ id: model, price: undefined }, own) !== undefined;
  const count = Object.keys(own).length;
  const table = `the shipped table is of ${PRICES_AS_OF}${count === 0 ? "" : `, and ${plural(count, "price")} in your configuration`}`;
  if (isPriced) return ok(name, table);
  const found = `${table}; ${model} has no price, so its cost is not known`;
  const { budget, limits } = configuration?.agent ?? {};
  if (budget?.costUsd === undefined && limits?.children.costUsd === undefined) return ok(name, found);
  const effect =
    budget?.costUsd === undefined
      ? "agent.subagent.max_total_cost keeps it from having children"
      : "agent.budget keeps it from running";
  return warning(
    name,
    `${found}, and ${effect}`,
    `add ${model} with input and output below prices: in your configuration`,
  );
}
