/** What `sous doctor` finds out about the model that is chosen: is there a key, and with `--online`, does anybody answer. */

import { messageOf } from "../core/errors.ts";
import { inspectModel, type ModelDescription } from "./assemble-inspection.ts";
import { type Check, ok, problem, warning } from "./doctor-check.ts";

export type ModelQuestion = {
  readonly choice: string | undefined;
  readonly apiKeyEnv: string | undefined;
  readonly apiKeyCommand: string | undefined;
  readonly baseUrl: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
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
    const facts = await inspectModel(choice, question.env, question.baseUrl);
    if (facts === undefined) return [ok("model", `${choice}, answers from a file`)];
    const checks = [ok("model", `${choice} at ${facts.address}`), checkKey(question, facts), ...checkProxy(question)];
    return isOnline ? [...checks, await checkAddress(facts.address)] : checks;
  } catch (error) {
    return [problem("model", messageOf(error), "choose another with --model, SOUS_MODEL or model:")];
  }
}

/** Says the name of a variable and never its value. */
function checkKey({ apiKeyEnv, apiKeyCommand, env }: ModelQuestion, { keys, isKeyOptional }: ModelDescription): Check {
  if (apiKeyCommand !== undefined) return ok("key", "from provider.api_key_command, which was not run");
  const names = apiKeyEnv === undefined ? keys : [apiKeyEnv];
  const set = names.find((name) => env[name]);
  if (set !== undefined) return ok("key", `${set} is set`);
  if (isKeyOptional) return ok("key", `none, and none is needed; ${names.join(" or ")} would be used`);
  return problem("key", `${names.join(" or ")} is not set`, `export ${names[0]}=…`);
}

/** Node goes through a proxy only when it is told so when it starts. Says nothing when there is none. */
function checkProxy({ env }: ModelQuestion): Check[] {
  const name = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"].find((each) => env[each]);
  if (name === undefined) return [];
  if (env.NODE_USE_ENV_PROXY === "1") return [ok("proxy", `${name} is set, and Node uses it`)];
  const fix = "export NODE_USE_ENV_PROXY=1 (Node 24, or 22.21 and newer)";
  return [warning("proxy", `${name} is set, but Node does not use it by itself`, fix)];
}

const LONGEST_MS = 5_000;

/** Any answer will do: without a key it is mostly a refusal. */
async function checkAddress(address: string): Promise<Check> {
  try {
    const signal = AbortSignal.timeout(LONGEST_MS);
    const { status } = await fetch(address, { method: "HEAD", redirect: "manual", signal });
    return ok("network", `${address} answers (${status})`);
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const fix = "check the connection, the proxy (HTTPS_PROXY) and the address of the provider";
    return problem("network", `${address} does not answer: ${messageOf(cause)}`, fix);
  }
}
