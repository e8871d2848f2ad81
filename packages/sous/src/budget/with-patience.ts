/** A store that is busy for a moment is asked again; one that stays away is a `StoreError`, and nothing may be spent. */

import type { Clock } from "../core/clock.ts";
import { StoreError } from "../core/errors.ts";

const MAX_RETRIES = 4;
const FIRST_RETRY_MS = 50;

export function withPatience<T>(step: () => T | Promise<T>, clock: Clock, attempt = 0): T | Promise<T> {
  const again = async (error: unknown): Promise<T> => {
    if (!(error instanceof StoreError) || attempt === MAX_RETRIES) throw error;
    await new Promise<void>((resolve) => void clock.timer(FIRST_RETRY_MS * 2 ** attempt, resolve));
    return withPatience(step, clock, attempt + 1);
  };
  try {
    const result = step();
    return result instanceof Promise ? result.catch(again) : result;
  } catch (error) {
    if (error instanceof StoreError) return again(error);
    throw error;
  }
}
