/** The digits that stand for a name which does not fit as it is: one function, so that files and servers mean the same tool. */

import { createHash } from "node:crypto";

export function toolHash(name: string): string {
  return createHash("sha256").update(name).digest("hex");
}
