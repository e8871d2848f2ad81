import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { StoreError, UserError } from "../../../../../src/core/errors.ts";
import { storeEngine } from "../../../../../src/runtime/tree/placing/store-engine.ts";
import { runtimeOn } from "../../../../../src/runtime.ts";
import { openMemoryStore } from "../../../../../src/storage/store/memory.ts";
import { calls, hangs, says } from "../../../../../src/testing/steps.ts";
import { changed } from "./changed.ts";
import { lead, scout, setUp } from "./set-up.ts";

const SCRIPT = {
  lead: [calls("subagent_scout", { task: "Look." }), says("Seen.")],
  "lead/scout": [says("A wall.")],
};

type Memory = ReturnType<typeof openMemoryStore>;

/** A memory that fails the first call of one method of the store or of its placing, as a server that is away does. */
function shaky(method: "read" | keyof Memory["placing"]) {
  const inner = openMemoryStore();
  const calls = { failed: 0 };
  const failing =
    (target: object) =>
    (...given: unknown[]) => {
      if (calls.failed > 0) return Reflect.apply(Reflect.get(target, method), target, given) as Promise<never>;
      calls.failed += 1;
      return Promise.reject(new StoreError("The server is away", { cause: new Error("ECONNREFUSED") }));
    };
  const store =
    method === "read"
      ? changed(inner, { read: failing(inner) })
      : changed(inner, { placing: changed(inner.placing, { [method]: failing(inner.placing) }) });
  return { inner, store, calls };
}

suite("a store that is away for a moment", () => {
  for (const method of ["place", "read", "ends", "journals"] as const) {
    test(`a child is waited for all the same when ${method} fails`, async () => {
      const { store, inner, calls: seen } = shaky(method);
      // Only the process that waits meets the fault.
      const { models, another } = setUp(SCRIPT, { store: inner, engine: storeEngine(inner) });
      await using _worker = await another().work({ name: "one" });
      const root = runtimeOn(models, { store, engine: storeEngine(store), agents: [scout, lead] });
      const result = await root.run(lead, "Go.", { onEvent: () => undefined });
      assert.deepEqual(
        [result.status, ...result.agents.map(({ status }) => status)],
        ["completed", "completed", "completed"],
      );
      assert.equal(seen.failed, 1, `${method} has failed`);
    });
  }
});

test("a cancel is kept all the same when the store is away as it is said", async () => {
  const { store, inner, calls: seen } = shaky("post");
  const { models, another } = setUp(
    { ...SCRIPT, "lead/scout": [hangs()] },
    { store: inner, engine: storeEngine(inner) },
  );
  await using _worker = await another().work({ name: "one" });
  const root = runtimeOn(models, { store, engine: storeEngine(store), agents: [scout, lead] });
  const isAtWork = Promise.withResolvers<void>();
  const submitted = await root.submit(lead, "Go.", {
    onEvent: ({ type, path }) => void (type === "turn-start" && path === "lead/scout" && isAtWork.resolve()),
  });
  await isAtWork.promise;
  await submitted.cancel();
  assert.deepEqual([(await submitted.result).status, seen.failed], ["cancelled", 1]);
});

suite("a run that cannot begin in a worker", () => {
  test("is given back, and another worker continues it", async () => {
    const { root, another, store } = setUp(SCRIPT);
    const poor = runtimeOn(() => Promise.reject(new UserError("This machine has no models")), {
      ...{ store, engine: storeEngine(store), agents: [scout, lead] },
    });
    const errors: unknown[] = [];
    const isLeft = Promise.withResolvers<void>();
    const worker = await poor.work({
      name: "poor",
      onRun({ state, error }) {
        if (state !== "left") return;
        errors.push(error);
        isLeft.resolve();
      },
    });
    const submitted = await root.submit(lead, "Go.");
    await isLeft.promise;
    await worker.stop();
    assert.match(String(errors[0]), /This machine has no models/);
    await using _able = await another().work({ name: "able" });
    assert.equal((await submitted.result).status, "completed");
  });
});
