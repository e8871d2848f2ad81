/** How large one answer may be. A model or a server that does not stop would take all the memory there is. */

import { ModelError } from "../core/errors.ts";

export const MAX_ANSWER_BYTES = 32 * 1024 * 1024;

export function answerTooLarge(id: string): ModelError {
  return new ModelError(
    "unknown",
    `The answer of ${id} is larger than 32 MB and was not read to its end: ask for less, or limit its output`,
    { afterOutput: true },
  );
}
