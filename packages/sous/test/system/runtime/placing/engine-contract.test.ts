/** The engine of a Postgres store keeps the contract of engines, with workers that are processes of their own. */

import { after, before, suite, test } from "node:test";
import { storeEngine } from "../../../../src/runtime/tree/placing/store-engine.ts";
import { engineContract, type StagedRun } from "../../../../src/testing/engine-contract.ts";
import { WorkersStage } from "../../../figures/workers-stage.ts";
import { type PostgresServer, startPostgresServer } from "../../../support/storage/store/postgres-server.ts";

let server: PostgresServer;
let schemas = 0;
before(async () => {
  server = await startPostgresServer();
});
after(() => server[Symbol.asyncDispose]());

suite("the engine of a Postgres store", { concurrency: 3 }, () => {
  engineContract(test, async () => {
    const on = { server, schema: `engine_${++schemas}` };
    const stage = await WorkersStage.open({ delayMs: () => 5, toolMs: 2, places: 8, on });
    const { provider, store } = stage;
    const gate = Promise.withResolvers<void>();
    const names = new Map<string, string>();
    const first = new Map<string, PromiseWithResolvers<void>>();
    const firstOf = (name: string) => {
      const known = first.get(name) ?? Promise.withResolvers<void>();
      first.set(name, known);
      return known;
    };
    provider.onRequest = ({ part }) => {
      firstOf(part).resolve();
      return part.startsWith("slow") ? gate.promise : undefined;
    };
    const nameOf = (runId: string) => names.get(runId) ?? runId;
    return {
      store,
      engine: storeEngine(store),
      async place(kind: StagedRun) {
        const name = `${kind}${names.size}`;
        const { id } = await (kind === "stranger" ? stage.submitStranger(name) : stage.submit(name, []));
        names.set(id, name);
        return id;
      },
      startWorker: async () => {
        const hand = await stage.start();
        return { stop: () => stage.stop(hand), kill: async () => void (await stage.kill(hand)) };
      },
      workOn: (runId) => stage.runtime().runtime.workOn(runId),
      asked: (runId) => firstOf(nameOf(runId)).promise,
      letGo: () => gate.resolve(),
      requests: (runId) => provider.requests.filter(({ part }) => part === nameOf(runId)).length,
      [Symbol.asyncDispose]: () => stage[Symbol.asyncDispose](),
    };
  });
});
