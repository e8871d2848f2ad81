/** sous with its SQLite store, and a tool that may do something that cannot be undone. */

import { unsafe } from "./tree.mjs";
import { withStore } from "./with-store.mjs";

export const { single, singleByIterator, delegate } = withStore(unsafe);
