/** Rules of the ledger that single cases show. `npm run soak -- R4` shows that each case needs its rule. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { openLedger } from "../../../../src/runtime/budget/ledger.ts";
import { LEDGER_CASES } from "../../../support/runtime/budget/ledger-cases.ts";

suite("in the ledger", () => {
  for (const { rule, outcome, run } of LEDGER_CASES) {
    test(rule, async () => assert.equal(await run(openLedger), outcome));
  }
});
