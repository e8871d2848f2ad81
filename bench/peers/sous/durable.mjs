/** sous with its SQLite store. */

import { reading } from "./tree.mjs";
import { withStore } from "./with-store.mjs";

export const { single, singleByIterator, delegate } = withStore(reading);
