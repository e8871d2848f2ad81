/** A spawn that the gate turned away: no child was made and nothing was spent. */

import { BudgetExceeded, type ErrorType, messageOf, ToolFailure, UserError } from "./errors.ts";

export class Refused extends Error {
  override name = "Refused";
  readonly errorType: ErrorType;

  constructor(errorType: ErrorType, message: string) {
    super(message);
    this.errorType = errorType;
  }
}

/** What the model may read; anything else is a fault of ours and goes up. */
export function toRefusal(error: unknown): Refused | undefined {
  if (error instanceof Refused) return error;
  if (error instanceof BudgetExceeded) return new Refused("quota", error.message);
  if (error instanceof ToolFailure) return new Refused("quota", error.message);
  if (error instanceof UserError) return new Refused("invalid_input", messageOf(error));
  return undefined;
}
