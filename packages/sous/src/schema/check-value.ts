/** Checks values against schemas so that the process goes on hearing deadlines and signals. */

import { setImmediate } from "node:timers/promises";
import type { Parsed } from "../core/schema.ts";
import { Check, type SchemaNode, TooManySteps } from "./check.ts";

/** Nearly every value is checked in fewer steps: about ten milliseconds. */
const STEPS_AT_ONCE = 100_000;
/** At most half a second on a slow machine, the longest time in which nothing else is heard. */
const MAX_STEPS = 10_000_000;

/** What a value of megabytes meets when its schema is no cheaper than this. */
const TOO_LARGE: Parsed = {
  ok: false,
  problems: ["checking it against its schema takes too many steps: it is too large for this schema"],
};

type Stop = Pick<AbortSignal, "throwIfAborted">;

export function checkValue(node: SchemaNode, value: unknown, stop?: Stop): Parsed | Promise<Parsed> {
  return checkWithin(STEPS_AT_ONCE, node, value) ?? checkLater(node, value, stop);
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

/** The long checks of the whole process stand in one queue: there is one event loop to keep free. */
let queue: Promise<unknown> = Promise.resolve();

async function checkLater(node: SchemaNode, value: unknown, stop: Stop | undefined): Promise<Parsed> {
  const before = queue;
  const { promise, resolve } = Promise.withResolvers<void>();
  queue = promise;
  try {
    await before;
    // Timers and signals that are due are heard here, between two long checks.
    await setImmediate();
    stop?.throwIfAborted();
    return checkWithin(MAX_STEPS, node, value) ?? TOO_LARGE;
  } finally {
    resolve();
  }
}
