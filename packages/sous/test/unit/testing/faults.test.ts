/** Faults come from the seed, keep the promises of the ports they stand behind, and are written down. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { StoreError } from "../../../src/core/errors.ts";
import { type ToolContext, tool } from "../../../src/core/tool.ts";
import { openMemoryStore } from "../../../src/storage/store/memory.ts";
import { sampleTree } from "../../../src/testing/sample-tree.ts";
import { calls, says } from "../../../src/testing/steps.ts";
import { storeContract } from "../../../src/testing/store-contract.ts";
import { createWorld } from "../../../src/testing/world.ts";
import { createFaults, wrapStore } from "../../support/testing/faults.ts";

const seeds = Array.from({ length: 40 }, (_, seed) => seed);

suite("a store with faults", () => {
  // Without faults it only takes its turns, so it must keep every promise of a store.
  storeContract(test, async () => {
    const world = createWorld({ seed: 1 });
    const store = createFaults(world, {}).store(openMemoryStore());
    return wrapStore(store, { append: (...given) => world.run(async () => store.append(...given)) });
  });

  test("a store with faults keeps an append or throws, never anything between", async () => {
    const seen = new Set<string>();
    for (const seed of seeds) {
      const world = createWorld({ seed });
      const inner = openMemoryStore();
      const faults = createFaults(world, { store: 0.4 });
      const store = faults.store(inner);
      const tree = sampleTree("lead");
      tree.start("lead");
      tree.turn("lead", "x");
      tree.end("lead");
      const kept: number[] = [];
      await world.run(async () => {
        for (const event of tree.events) {
          try {
            await store.append("lead", [event]);
            kept.push(event.seq);
          } catch (error) {
            assert.ok(error instanceof StoreError);
          }
        }
      });
      assert.deepEqual(
        (await inner.read("lead")).map(({ seq }) => seq),
        kept,
      );
      for (const fault of faults.happened) seen.add(fault);
    }
    assert.deepEqual([...seen].sort(), ["store: busy", "store: disk full", "store: error", "store: short write"]);
  });
});

test("a tool with faults works, throws, hangs, is deaf, floods or speaks binary", async () => {
  const seen = new Set<string>();
  for (const seed of seeds) {
    const world = createWorld({ seed });
    const faults = createFaults(world, { tool: 0.8 });
    const look = faults.tool(
      tool({ name: "look", description: "Looks.", inputSchema: { type: "object" }, execute: () => "seen" }),
    );
    const stop = new AbortController();
    world.clock.ownTimer(10_000, () => stop.abort(new Error("enough")));
    const context = { signal: stop.signal, path: "lead" } as ToolContext;
    const result = await world
      .run(async () => look.execute({}, context))
      .catch((error: Error) => (error.name === "WorldStuck" ? "stuck" : error.message));
    const fault = faults.happened[0] ?? "none";
    seen.add(fault);
    const expected: Record<string, RegExp> = {
      none: /^seen$/,
      "tool: throw": /^look broke$/,
      "tool: hang": /^enough$/,
      "tool: ignore the signal": /^(stuck|undefined)$/,
      "tool: huge output": /^(0123456789abcdef)+$/,
      "tool: binary output": / end$/,
    };
    assert.match(String(result), expected[fault] ?? /never/);
  }
  assert.equal(seen.size, 6);
});

test("faults follow from the seed", () => {
  const draw = (seed: number) => {
    const faults = createFaults(createWorld({ seed }), { model: 0.5 });
    const answers = seeds.map(() => faults.answer([says("x"), calls("grep")]));
    return { answers: JSON.stringify(answers), happened: faults.happened };
  };
  assert.deepEqual(draw(5), draw(5));
  assert.notDeepEqual(draw(5), draw(6));
  assert.ok(draw(5).happened.length > 10);
});

test("no call of a cut answer is left to run", () => {
  const faults = createFaults(createWorld({ seed: 1 }), { model: 1 });
  for (const _ of seeds) {
    const steps = faults.answer([says("x"), calls("grep")]);
    const last = steps.at(-1)?.step;
    if (faults.happened.at(-1)?.startsWith("model: cut")) assert.equal(last, "fail");
  }
});

test("nothing goes wrong without rates", () => {
  const faults = createFaults(createWorld({ seed: 1 }), {});
  for (const _ of seeds) assert.deepEqual(faults.answer(says("x")), [says("x")]);
  assert.deepEqual(faults.happened, []);
});
