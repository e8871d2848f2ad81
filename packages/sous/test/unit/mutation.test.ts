/** The tool behind every mutation check. */

import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { BudgetExceeded } from "../../src/core/errors.ts";
import { Slots } from "../../src/runtime/budget/run-slots.ts";
import { guards, importWithout, mutate } from "../support/mutation.ts";

type Ledger = typeof import("../../src/runtime/budget/ledger.ts");

const PARTS = { slots: new Slots(1, "queue") };

const ledger = import.meta.resolve("../../src/runtime/budget/ledger.ts");

test("a mutant differs from the original in one place and shares the rest with it", async () => {
  const mutant = await importWithout<Ledger>(ledger, { guard: "execution-limit" });
  const original: Ledger = await import(ledger);
  void mutant.openLedger({ executions: 0 }, PARTS).startExecution();
  assert.throws(() => original.openLedger({ executions: 0 }, PARTS).startExecution(), BudgetExceeded);
  assert.throws(
    () => mutant.openLedger({ executions: 0 }, PARTS).openAs("children", { executions: 1 }),
    BudgetExceeded,
  );
});

test("a mutant may be changed in a file that it imports", async () => {
  const mutant = await importWithout<Ledger>(ledger, { guard: "share-within-limit", replace: "return true;" });
  const original: Ledger = await import(ledger);
  void original.openLedger({ tokens: 2 }, PARTS).openAs("children", { tokens: 1 });
  assert.throws(() => mutant.openLedger({ tokens: 2 }, PARTS).openAs("children", { tokens: 1 }), BudgetExceeded);
});

test("a guarded statement may have many lines, and its label is removed with it", () => {
  const { fileUrl, text } = mutate({ guard: "kill-after-grace", replace: "REPLACED" });
  const original = readFileSync(fileURLToPath(fileUrl), "utf8");
  const [before = "", after = ""] = text.split("REPLACED");
  assert.ok(original.startsWith(before) && original.endsWith(after));
  const removed = original.slice(before.length, original.length - after.length).trim();
  assert.match(removed, /^\/\/ guard: kill-after-grace\n *this\.#grace = .*"SIGKILL".*\}\);$/s);
});

test("a mutation that would change nothing is refused", async () => {
  await assert.rejects(
    importWithout(ledger, { guard: ["no", "such", "label"].join("-") }),
    /The label "guard: no-such-label" occurs 0 times in the sources; a mutation needs exactly one/,
  );
  const elsewhere = import.meta.resolve("../../src/runtime/budget/prices.ts");
  await assert.rejects(importWithout(elsewhere, { guard: "execution-limit" }), /does not import/);
});

test("every label of a guard occurs once, and a planted fault names it; every planted fault names a label", () => {
  const folder = join(import.meta.dirname, "..");
  const tests = globSync("**/*.ts", { cwd: folder }).map((path) => readFileSync(join(folder, path), "utf8"));
  const named = tests.flatMap((text) => [...text.matchAll(/\bguard: "([a-z-]+)"/g)].map(([, name]) => name));
  const labels = guards().map(({ name }) => name);
  assert.deepEqual(labels.toSorted(), [...new Set(named)].toSorted());
});
