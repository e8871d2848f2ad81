/** The redactor for the variables of this machine. */

import { isDeepStrictEqual } from "node:util";
import type { Redactor } from "../../core/clean-text.ts";
import type { Host } from "../../core/clock.ts";
import { createRedactor } from "../secrets/redact.ts";
import { type Secret, secretsOf } from "../secrets/variables.ts";

/** Reading the variables of a process takes longer than a turn, so the trees of one runtime share a look for a second. */
const LOOK_AGAIN_MS = 1_000;

const looks = new WeakMap<Host, { readonly redactor: Redactor; readonly at: number }>();
/** Making a redactor takes far longer than a look, so runtimes with the same variables share it. */
const made = new WeakMap<Host["environment"], { readonly secrets: readonly Secret[]; readonly redactor: Redactor }>();

/** Asked for by every tree: a variable that was set before the runtime was made counts at once, a later one within a second. */
export function redactorFor(host: Host): Redactor {
  const now = host.clock.monotonic();
  const last = looks.get(host);
  if (last !== undefined && now - last.at < LOOK_AGAIN_MS) return last.redactor;
  const redactor = redactorOf(host.environment);
  looks.set(host, { redactor, at: now });
  return redactor;
}

function redactorOf(environment: Host["environment"]): Redactor {
  const secrets = secretsOf(environment);
  const before = made.get(environment);
  if (before !== undefined && isDeepStrictEqual(secrets, before.secrets)) return before.redactor;
  const redactor = createRedactor(secrets);
  made.set(environment, { secrets, redactor });
  return redactor;
}
