/**
 * Removes the secrets of this machine from everything that a command prints, logs or exports. Events are cleaned before they
 * are stored; answers, errors and imported runs are cleaned only here.
 */

import type { Redactor } from "../../../core/clean-text.ts";
import { createRedactor, createValueRedactor } from "../../../runtime/secrets/redact.ts";
import { type Secret, secretsOf } from "../../../runtime/secrets/variables.ts";

/** One for the process, as its streams are. */
const known: { secrets: Secret[]; redactor: Redactor | undefined; values: Redactor | undefined } = {
  secrets: [],
  redactor: undefined,
  values: undefined,
};

/** A key that no variable of a known name holds. */
export function alsoHide(secrets: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(secrets)) {
    // A server opens an application for every call, each with the same keys.
    if (!known.secrets.some((secret) => secret.value === value)) known.secrets.push({ name, value });
  }
  known.redactor = undefined;
  known.values = undefined;
}

/** Hides secrets in text that is about to be cut into lines: a secret that is cut is no longer found. */
export function withoutSecrets(text: string): string {
  return redactor().text(text);
}

/** Hides known values only: for text that a person must see in full, and for text made of several parts. */
export function withoutValues(text: string): string {
  return valueRedactor().text(text);
}

export function withoutValuesIn<T>(value: T): T {
  return valueRedactor().value(value);
}

/** Hides secrets in a value that is about to become JSON, so that it stays JSON. */
export function withoutSecretsIn<T>(value: T): T {
  return redactor().value(value);
}

/** Hides known values in everything that is written to stdout or stderr from now on. */
export function guardStreams(): void {
  for (const stream of [process.stdout, process.stderr]) {
    const write = stream.write.bind(stream) as (...given: unknown[]) => boolean;
    stream.write = (chunk: unknown, ...rest: unknown[]) =>
      write(typeof chunk === "string" ? withoutValues(chunk) : chunk, ...rest);
  }
}

function redactor(): Redactor {
  known.redactor ??= createRedactor([...secretsOf(process.env), ...known.secrets]);
  return known.redactor;
}

function valueRedactor(): Redactor {
  known.values ??= createValueRedactor([...secretsOf(process.env), ...known.secrets]);
  return known.values;
}
