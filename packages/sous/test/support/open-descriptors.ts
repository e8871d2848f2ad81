/** File descriptors of this process: what is opened and not closed takes the lowest number that is free. */

import { closeSync, openSync } from "node:fs";

/** The number that the next file gets. Twice the same: everything that was opened in between is closed again. */
export function nextDescriptor(): number {
  const descriptor = openSync(import.meta.filename, "r");
  closeSync(descriptor);
  return descriptor;
}
