/** Names of models: whose they are, and which of them a call may name. */

import { UserError } from "./errors.ts";

/** A segment that began with a dot, or was empty, could lead elsewhere where a provider has the name in its address. */
const NAME = /^[a-z][a-z0-9-]*(?:\/[A-Za-z0-9][\w.:@+-]*)+$/;
/** An entry of `models.allow`: a model, or all of a provider. */
const ALLOWED = /^[a-z][a-z0-9-]*(?:\/\*|(?:\/[A-Za-z0-9][\w.:@+-]*)+)$/;
const MAX_LENGTH = 200;

/** What is in front of the first slash; all of a name without one. */
export function providerOf(name: string): string {
  return name.split("/", 1)[0] ?? "";
}

export function isAllowEntry(entry: unknown): entry is string {
  return typeof entry === "string" && entry.length <= MAX_LENGTH && ALLOWED.test(entry);
}

/** Throws a `UserError` for an entry that is neither `provider/model` nor `provider/*`. */
export function checkAllowEntries(allow: readonly string[]): void {
  const wrong = allow.find((entry) => !isAllowEntry(entry));
  if (wrong === undefined) return;
  throw new UserError(`models.allow has "provider/model" or "provider/*"; found ${JSON.stringify(wrong)}`);
}

/**
 * Why a call or a project may not have this model; undefined when it may. The name of a model says whose server gets
 * a task and which key pays for it. `own` is the provider of the run, undefined when it has none that a name leads to.
 */
export function whyNotNamed(name: string, own: string | undefined, allow: readonly string[]): string | undefined {
  if (name.length > MAX_LENGTH || !NAME.test(name))
    return `${JSON.stringify(name.slice(0, MAX_LENGTH))} is not a model: write provider/model, or leave model out for your own`;
  const provider = providerOf(name);
  if (provider === own || allow.includes(name) || allow.includes(`${provider}/*`)) return undefined;
  // The same words for every run: a rerun has the models of its recording by their names, however they were given.
  return `The model ${name} is of the provider "${provider}", and a call may name only models of its run's own provider and those that models.allow lists. Leave model out to use your own`;
}
