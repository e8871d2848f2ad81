/** Checks values against schemas so that the process still hears deadlines and signals. */

import { setImmediate } from "node:timers/promises";
import { oneAtATime } from "../core/one-at-a-time.ts";
import type { Parsed } from "../core/schema.ts";
import { Check, type SchemaNode, TooManySteps } from "./check.ts";

/** Nearly every value is checked in fewer steps: about ten milliseconds. */
const STEPS_AT_ONCE = 100_000;
/** About a fifth of a second, half a second on a busy machine: for so long nothing else is heard. */
const MAX_STEPS = 6_000_000;

const TOO_LARGE: Parsed = {
  ok: false,
  problems: ["checking it against its schema takes too many steps: it is too large for this schema"],
};

const inTurn = oneAtATime(setImmediate);

export function checkValue(
  node: SchemaNode,
  value: unknown,
  stop?: Pick<AbortSignal, "throwIfAborted">,
): Parsed | Promise<Parsed> {
  return (
    checkWithin(STEPS_AT_ONCE, node, value) ?? inTurn(() => checkWithin(MAX_STEPS, node, value) ?? TOO_LARGE, stop)
  );
}

/** Undefined when the steps are not enough. */
function checkWithin(maxSteps: number, node: SchemaNode, given: unknown): Parsed | undefined {
  const check = new Check(maxSteps);
  try {
    const value = check.value(node, given);
    return check.problems.length === 0 ? { ok: true, value } : { ok: false, problems: check.problems };
  } catch (error) {
    if (error instanceof TooManySteps) return undefined;
    throw error;
  }
}
