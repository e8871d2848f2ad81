/** The contract on SQLite, in files, as they are and with every commit on the disk. */

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test } from "node:test";
import { openSqliteStore } from "../../src/store/sqlite.ts";
import { storeContract } from "../../src/testing/store-contract.ts";

for (const synchronous of ["normal", "full"] as const) {
  suite(`with synchronous ${synchronous}`, () => {
    storeContract(test, async () =>
      openSqliteStore(join(mkdtempSync(join(tmpdir(), "sous-")), "s.db"), { synchronous }),
    );
  });
}
