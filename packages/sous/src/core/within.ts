/** The limits of a runtime inside of an external agent: handed on in a variable, and read on entry. */

import { z } from "zod";
import { UserError } from "./errors.ts";
import type { ExternalAllowance } from "./external-agent.ts";
import { secondsToMs } from "./units.ts";

/** The variable. Its value is JSON. */
export const WITHIN_VARIABLE = "SOUS_WITHIN";

const MAX_LENGTH = 1000;
const amount = z.number().min(0).nullish();
const schema = z.strictObject({
  depth: z.int().min(0).max(1000),
  max_depth: z.int().min(0).max(1000),
  tokens: amount,
  cost_usd: amount,
  seconds: amount,
});

export function encodeWithin({ depth, maxDepth, tokens, costUsd, durationMs }: ExternalAllowance): string {
  const seconds = durationMs === undefined ? undefined : durationMs / 1000;
  return JSON.stringify({ depth, max_depth: maxDepth, tokens, cost_usd: costUsd, seconds });
}

/** Throws a `UserError` for a text that `encodeWithin` did not write: a limit that cannot be read must not be dropped. */
export function readWithin(text: string): ExternalAllowance {
  const given = schema.safeParse(parsed(text));
  if (!given.success) {
    throw new UserError(
      `The variable ${WITHIN_VARIABLE} does not hold the limits of an outer run; found ${JSON.stringify(text.slice(0, 80))}. Unset it to run without them`,
    );
  }
  const { depth, max_depth, tokens, cost_usd, seconds } = given.data;
  return {
    depth,
    maxDepth: max_depth,
    tokens: tokens ?? undefined,
    costUsd: cost_usd ?? undefined,
    durationMs: typeof seconds === "number" ? secondsToMs(seconds) : undefined,
  };
}

function parsed(text: string): unknown {
  if (text.length > MAX_LENGTH) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
