/** An event without the secrets that its texts may hold. */

import type { DeltaBody, StoredBody } from "../core/event.ts";
import type { Redactor } from "../core/redact.ts";

/** The body itself when there is nothing to hide, which is nearly always. Kinds without free text are not looked at. */
export function redactBody(body: StoredBody, redactor: Redactor): StoredBody {
  switch (body.type) {
    case "turn-start":
    case "prune":
    case "truncation":
    case "resume":
      return body;
    default:
      return redactor.value(body);
  }
}

/** Each piece for itself: a secret that comes in two pieces is seen as it streams, and is not in what is stored. */
export function redactDelta(body: DeltaBody, redactor: Redactor): DeltaBody {
  const text = redactor.text(body.text);
  return text === body.text ? body : { type: body.type, text };
}
