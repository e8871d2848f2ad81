/** A runtime inside of another run: it continues what it has started itself, and nothing else, and raises no limit. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { withinOuter } from "../../../../src/app/cli/application/within.ts";

type Inner = Parameters<typeof withinOuter>[0];

const OUTER = { depth: 1, maxDepth: 3, tokens: 1000, costUsd: undefined, durationMs: undefined };

/** Counts what it is asked for, and starts nothing. */
function inner() {
  const resumed: unknown[] = [];
  const runtime = {
    run: () => ({ id: "run" }),
    fork: () => ({ id: "copy" }),
    resume: (runId: string, options: unknown) => {
      resumed.push([runId, options]);
      return { id: `${runId}#2` };
    },
  };
  return { runtime: runtime as object as Inner, resumed };
}

type Runtime = ReturnType<typeof withinOuter>;
type Start = (runtime: Runtime) => { readonly id: string };

const STARTS: Readonly<Record<string, Start>> = {
  run: (runtime) => runtime.run({} as Parameters<Runtime["run"]>[0], "Go."),
  fork: (runtime) => runtime.fork("stored"),
};

for (const [what, start] of Object.entries(STARTS))
  test(`inside of another run a ${what} can be followed up again and again`, () => {
    const { runtime, resumed } = inner();
    const within = withinOuter(runtime, OUTER);
    const { id } = start(within);
    const options = { addBudget: { tokens: 0, costUsd: 0 } };
    const followed = within.resume(id, options);
    assert.equal(followed.id, `${id}#2`);
    assert.equal(within.resume(followed.id).id, `${id}#2#2`);
    assert.deepEqual(resumed, [
      [id, options],
      [`${id}#2`, {}],
    ]);
  });

test("inside of another run nothing continues that was started elsewhere, and nothing is raised", () => {
  const { runtime, resumed } = inner();
  const within = withinOuter(runtime, OUTER);
  assert.throws(() => within.resume("stored"), /continue a copy with sous resume --fork/);
  const { id } = STARTS.run?.(within) ?? assert.fail();
  for (const addBudget of [{ tokens: 1 }, { costUsd: 0.01 }])
    assert.throws(() => within.resume(id, { addBudget }), /whose limits cannot be raised from here/);
  assert.deepEqual(resumed, []);
  assert.equal(withinOuter(runtime, undefined), runtime);
});
