/** The redactor for the variables of this machine, and the request for a child without the secrets in its names. */

import { isDeepStrictEqual } from "node:util";
import type { Redactor } from "../../core/clean-text.ts";
import type { Host } from "../../core/clock.ts";
import type { SpawnRequest } from "../../core/spawn.ts";
import { createRedactor } from "../secrets/redact.ts";
import { type Secret, secretsOf } from "../secrets/variables.ts";

type Known = { readonly secrets: readonly Secret[]; readonly redactor: Redactor; lookedAt: number };

const known = new WeakMap<Host["environment"], Known>();

/**
 * Reading the variables of a process takes longer than a turn, so trees that start together share a look. A program that sets a
 * variable has not looked this shortly before, unless it starts trees all the time.
 */
const LOOK_AGAIN_MS = 20;

/** Called by every tree, so that a variable that was set after the runtime was made counts too. */
export function redactorFor({ environment, clock }: Pick<Host, "environment" | "clock">): Redactor {
  const now = clock.monotonic();
  const before = known.get(environment);
  const age = before === undefined ? Number.POSITIVE_INFINITY : now - before.lookedAt;
  // The clock of a test can start again, so the last look may be in the future.
  if (before !== undefined && age >= 0 && age < LOOK_AGAIN_MS) return before.redactor;
  const secrets = secretsOf(environment);
  if (before !== undefined && isDeepStrictEqual(secrets, before.secrets)) {
    before.lookedAt = now;
    return before.redactor;
  }
  const redactor = createRedactor(secrets);
  known.set(environment, { secrets, redactor, lookedAt: now });
  return redactor;
}

/**
 * The same request without secrets in the names that a call chooses: they go into paths, rows, spans and labels, where nothing is
 * looked for later. A name of a model with a mark in it is no name of a model, and is refused.
 */
export function withoutSecretNames(request: SpawnRequest, redactor: Redactor): SpawnRequest {
  const { options } = request;
  const label = redactor.text(request.label);
  const model = typeof options?.model === "string" ? redactor.text(options.model) : options?.model;
  if (label === request.label && model === options?.model) return request;
  return { ...request, label, options: options && { ...options, model } };
}
