/** The promises of every engine, as tests. Give it a way to register a test, and a stage: a store, an engine, and workers. */

import assert from "node:assert/strict";
import type { Engine, PlacingStore } from "../core/engine.ts";
import type { EventOf, StoredEvent } from "../core/event.ts";
import type { Store } from "../core/store.ts";
import { checkHistory } from "./checker.ts";
import type { RegisterTest } from "./store-contract.ts";

/** `quick` completes by itself, `slow` only once it is let, and `stranger` is an agent that no worker knows. */
export type StagedRun = "quick" | "slow" | "stranger";

export type StagedWorker = {
  /** It takes nothing more, and gives back what it has. */
  stop(): Promise<void>;
  /** Ends it as SIGKILL does; undefined where workers cannot die alone. */
  readonly kill?: (() => Promise<void>) | undefined;
};

/** The stage of a test of the contract. Each is used once, with an empty store. */
export type EngineStage = AsyncDisposable & {
  readonly store: Store & PlacingStore;
  readonly engine: Engine;
  /** Begins the journal of a root and returns its id. No one is asked to continue it. */
  place(kind: StagedRun): Promise<string>;
  startWorker(): Promise<StagedWorker>;
  /** The worker's half, for an id that came from anywhere, in a process that knows the agents. */
  workOn(runId: string): Promise<unknown>;
  /** Resolves when the model has been asked for a slow run. */
  asked(runId: string): Promise<void>;
  /** Lets the slow runs continue. */
  letGo(): void;
  /** The times that the model was asked for a run. */
  requests(runId: string): number;
};

/** Registers one test per promise of the `Engine` port. */
export function engineContract(test: RegisterTest, setUp: () => Promise<EngineStage>): void {
  const check = (name: string, run: (stage: EngineStage) => Promise<void>) =>
    void test(`an engine: ${name}`, async () => {
      await using stage = await setUp();
      await run(stage);
    });
  continuing(check);
  leaving(check);
  askingForNothing(check);
}

type Check = (name: string, run: (stage: EngineStage) => Promise<void>) => void;

function continuing(check: Check): void {
  check("resolves when the run has ended", async (stage) => {
    const runId = await stage.place("quick");
    await stage.startWorker();
    await stage.engine.continueRun(runId);
    await completed(stage, runId);
  });

  check("resolves also when the worker comes later than the run", async (stage) => {
    const runId = await stage.place("quick");
    const continued = stage.engine.continueRun(runId);
    await stage.startWorker();
    await continued;
    await completed(stage, runId);
  });

  check("joins when it is asked again, and the run is continued once", async (stage) => {
    const runId = await stage.place("slow");
    await stage.startWorker();
    const first = [stage.engine.continueRun(runId), stage.engine.continueRun(runId)];
    await stage.asked(runId);
    const later = stage.engine.continueRun(runId);
    stage.letGo();
    await Promise.all([...first, later]);
    const events = await completed(stage, runId);
    assert.equal(stage.requests(runId), answersIn(events));
    assert.equal(takings(events).length, 1);
  });

  check("answers at once for a run that has ended, and nothing of it happens again", async (stage) => {
    const runId = await stage.place("quick");
    const worker = await stage.startWorker();
    await stage.engine.continueRun(runId);
    await worker.stop();
    const [before, requests] = [(await stage.store.read(runId)).length, stage.requests(runId)];
    await stage.engine.continueRun(runId);
    assert.equal(await stage.workOn(runId), "ended");
    assert.deepEqual([(await stage.store.read(runId)).length, stage.requests(runId)], [before, requests]);
  });
}

function leaving(check: Check): void {
  check("has the run of a worker that stops continued by another one", async (stage) => {
    const runId = await stage.place("slow");
    const first = await stage.startWorker();
    const continued = stage.engine.continueRun(runId);
    await stage.asked(runId);
    await first.stop();
    assert.equal(endOf(await stage.store.read(runId)), undefined, "it was given back as it was");
    stage.letGo();
    await stage.startWorker();
    await continued;
    assert.equal(takings(await completed(stage, runId)).length, 2);
  });

  check("has the run of a worker that was killed continued by another one", async (stage) => {
    const runId = await stage.place("slow");
    const first = await stage.startWorker();
    if (first.kill === undefined) return;
    const continued = stage.engine.continueRun(runId);
    await stage.asked(runId);
    await stage.startWorker();
    await first.kill();
    stage.letGo();
    await continued;
    assert.equal(takings(await completed(stage, runId)).length, 2);
  });
}

function askingForNothing(check: Check): void {
  check(
    "continues nothing for an id that is made up, of a run at work, or of a run that was not placed",
    async (stage) => {
      const { store } = stage;
      const runId = await stage.place("slow");
      await stage.startWorker();
      const continued = stage.engine.continueRun(runId);
      await stage.asked(runId);
      await assert.rejects(stage.workOn("01ARZ3NDEKTSV4RRFFQ69G5FAV"));
      await assert.rejects(stage.workOn(runId));
      const [start] = await store.read(runId);
      assert.ok(start?.type === "run-start");
      const { placed: _placed, ...alone } = start;
      await store.append("alone", [{ ...alone, runId: "alone", agentId: "alone" }]);
      await store.release("alone", 1);
      await assert.rejects(stage.workOn("alone"));
      assert.equal((await store.read("alone")).length, 1);
      stage.letGo();
      await continued;
      const events = await completed(stage, runId);
      assert.equal(stage.requests(runId), answersIn(events));
      assert.deepEqual((await store.list()).map(({ id }) => id).sort(), [runId, "alone"].sort());
    },
  );

  check("leaves a run alone whose agent the worker does not know", async (stage) => {
    const stranger = await stage.place("stranger");
    const runId = await stage.place("quick");
    await stage.startWorker();
    await stage.engine.continueRun(runId);
    await assert.rejects(stage.workOn(stranger));
    assert.equal((await stage.store.read(stranger)).length, 1);
    assert.equal(stage.requests(stranger), 0);
  });
}

/** The events of a run that has completed, with a sound journal, one end, and no owner. */
async function completed({ store }: EngineStage, runId: string): Promise<readonly StoredEvent[]> {
  const events = await store.read(runId);
  assert.equal(endOf(events)?.status, "completed");
  assert.deepEqual(checkHistory(events), []);
  assert.equal((await store.run(runId))?.status, "completed");
  return events;
}

function endOf(events: readonly StoredEvent[]): EventOf<"run-end"> | undefined {
  return events.find((event) => event.type === "run-end");
}

function answersIn(events: readonly StoredEvent[]): number {
  return events.filter(({ type }) => type === "message-end").length;
}

/** The workers that took it, by name. */
function takings(events: readonly StoredEvent[]): (string | undefined)[] {
  return events.flatMap((event) => (event.type === "resume" ? [event.worker] : []));
}
