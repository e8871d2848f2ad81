/** The reservation for a prompt to an external agent: all of it is given back, and a wait for more of it ends with itself. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Holding } from "../../../../src/core/limits.ts";
import type { Scope } from "../../../../src/core/scope.ts";
import { ExternalFunds, externalNeed } from "../../../../src/runtime/loop/external-funds.ts";
import { countedLease, loneRun } from "../../../support/runtime/lone-run.ts";

const NEED = externalNeed(10, { maxCostUsd: undefined } as Parameters<typeof externalNeed>[1], { tokens: 500 }, {});

function ignore(): void {}

test("everything that was reserved for a prompt is given back, also what was added to it", async () => {
  const leases = [countedLease(), countedLease(), countedLease()];
  const rest = [...leases];
  const reserve: Holding["reserve"] = () => (rest.shift() ?? assert.fail("a fourth reservation")).lease;
  const funds = await ExternalFunds.reserve(loneRun({ holding: { reserve } }).run, NEED, ignore);
  await funds.cover({ tokens: 5_000, costUsd: undefined });
  await funds.cover({ tokens: 50_000, costUsd: undefined });
  const isOpen = () => leases.map((each) => each.isOpen());
  assert.deepEqual(isOpen(), [true, true, true]);
  funds[Symbol.dispose]();
  assert.deepEqual(isOpen(), [false, false, false]);
});

test("a reservation that was added to is no longer bound to its run once it is made", async () => {
  const waits: Scope[] = [];
  const reserve: Holding["reserve"] = (_ask, scope) => {
    waits.push(scope);
    return countedLease().lease;
  };
  const { run } = loneRun({ holding: { reserve } });
  const funds = await ExternalFunds.reserve(run, NEED, ignore);
  await funds.cover({ tokens: 5_000, costUsd: undefined });
  run.scope.abort(new Error("stopped"));
  assert.deepEqual(
    waits.map(({ aborted }) => aborted),
    [true, false],
    "the first waits on the scope of the run itself",
  );
});
