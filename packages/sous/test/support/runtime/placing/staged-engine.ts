/** A stage for the contract of engines whose workers are runtimes of this process, on any store that can place. */

import { agent } from "../../../../src/core/agent.ts";
import type { PlacingStore } from "../../../../src/core/engine.ts";
import type { ModelRequest } from "../../../../src/core/model.ts";
import type { Store } from "../../../../src/core/store.ts";
import { tool } from "../../../../src/core/tool.ts";
import { storeEngine } from "../../../../src/runtime/tree/placing/store-engine.ts";
import { runtimeOn } from "../../../../src/runtime.ts";
import type { EngineStage } from "../../../../src/testing/engine-contract.ts";
import { scriptedModel } from "../../../../src/testing/scripted-model.ts";
import { calls, says } from "../../../../src/testing/steps.ts";

/** `open` opens the one store once more, as another process does. */
export async function stagedEngine(
  open: () => Promise<Store & PlacingStore>,
  close: () => Promise<void>,
): Promise<EngineStage> {
  const gate = Promise.withResolvers<void>();
  const asked = new Map<string, { count: number; first: PromiseWithResolvers<void> }>();
  const askedOf = (runId: string) => {
    const known = asked.get(runId) ?? { count: 0, first: Promise.withResolvers<void>() };
    asked.set(runId, known);
    return known;
  };
  const onRequest = ({ caller }: ModelRequest) => {
    const each = askedOf(caller.runId);
    each.count += 1;
    each.first.resolve();
  };
  const wait = tool({
    name: "wait",
    description: "Waits.",
    effect: "read",
    inputSchema: { type: "object" },
    execute: () => gate.promise.then(() => "Done."),
  });
  const model = "scripted/one";
  const quick = agent({ name: "quick", model, tools: [] });
  const slow = agent({ name: "slow", model, tools: [wait] });
  const stranger = agent({ name: "stranger", model, tools: [] });
  const script = { quick: [says("Done.")], slow: [calls("wait"), says("Done.")] };
  const models = () => scriptedModel(script, { onRequest });
  const runtime = async (agents = [quick, slow]) => {
    const store = await open();
    return {
      store,
      engine: storeEngine(store),
      runtime: runtimeOn(models, { store, engine: storeEngine(store), agents }),
    };
  };
  const own = await runtime([quick, slow, stranger]);
  const other = await runtime();
  const workers: { stop(): Promise<void> }[] = [];
  return {
    store: own.store,
    engine: own.engine,
    place: async (kind) => (await own.runtime.submit({ quick, slow, stranger }[kind], "Go.")).id,
    async startWorker() {
      const worker = await (await runtime()).runtime.work({ name: `worker ${workers.length + 1}` });
      workers.push(worker);
      return { stop: () => worker.stop() };
    },
    workOn: (runId) => other.runtime.workOn(runId),
    asked: (runId) => askedOf(runId).first.promise,
    letGo: () => gate.resolve(),
    requests: (runId) => askedOf(runId).count,
    async [Symbol.asyncDispose]() {
      gate.resolve();
      for (const worker of workers) await worker.stop();
      await close();
    },
  };
}
