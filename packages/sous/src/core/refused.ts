/** A spawn that the gate turned away: no child was made and nothing was spent. */

import type { ErrorType } from "./errors.ts";

export class Refused extends Error {
  override name = "Refused";
  readonly errorType: ErrorType;

  constructor(errorType: ErrorType, message: string) {
    super(message);
    this.errorType = errorType;
  }
}
