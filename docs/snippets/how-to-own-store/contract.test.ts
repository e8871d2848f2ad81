/** The contract of every store, for the one in this folder. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { storeContract } from "sous/testing";
import { openJournalStore } from "./journal-store.ts";

const folder = mkdtempSync(join(tmpdir(), "sous-example-"));
after(() => rmSync(folder, { recursive: true, maxRetries: 5 }));

// #region contract
let count = 0;
storeContract(test, async () => openJournalStore(join(folder, `${count++}.jsonl`)));
// #endregion
