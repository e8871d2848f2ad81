/** The part of a runtime that needs an engine: place roots, continue placed runs, and be a worker of its store. */

import type { AgentDefinition } from "../../../core/agent.ts";
import type { TakenJournal } from "../../../core/engine.ts";
import { ignore, UserError } from "../../../core/errors.ts";
import { messageFrom, type UserInput } from "../../../core/message.ts";
import { Scope } from "../../../core/scope.ts";
import { type OpenTree, openTree, type Shared, type TreeOptions } from "../open.ts";
import { placeRoot } from "./place-root.ts";
import { PlacedRuns } from "./placed-runs.ts";
import { placingOf } from "./store-engine.ts";
import { type SubmittedRun, submitted } from "./submit.ts";
import { type WorkEnd, type WorkParts, workOn } from "./work-on.ts";
import { startWorker, type Worker, type WorkerOptions } from "./worker.ts";

/** The options of a run that this process continues for an engine. */
export type WorkOnOptions = {
  /** The name of the worker, as journals have it. */
  name?: string | undefined;
  /** Aborting it gives the run back for another worker. Nothing is cancelled. */
  signal?: AbortSignal | undefined;
};

export type PlacingHalf = {
  submit<Output>(
    definition: AgentDefinition<Output>,
    task: UserInput,
    options: TreeOptions,
  ): Promise<SubmittedRun<Output>>;
  workOn(runId: string, options?: WorkOnOptions): Promise<WorkEnd>;
  work(options?: WorkerOptions): Promise<Worker>;
};

/** Undefined without an engine. */
export function placedRunsOf(parts: Omit<Shared, "runOptions" | "placed">): PlacedRuns | undefined {
  const { engine } = parts.options;
  if (engine === undefined) return undefined;
  const placed: PlacedRuns = new PlacedRuns({
    engine,
    placing: placingOf(parts.store),
    clock: parts.host.clock,
    async close(journalId, fault) {
      const { fence } = await parts.store.claim(journalId);
      await workOn({ ...parts, placed }, { journalId, fence, claims: 0 }, { worker: "its parent", fault });
    },
  });
  return placed;
}

export function placingHalf(parts: Omit<Shared, "runOptions">, ownName: string): PlacingHalf {
  const withEngine = (): WorkParts => {
    const { placed } = parts;
    if (placed === undefined)
      throw new UserError("Placing needs an engine: createRuntime({ store, engine: storeEngine(store), agents })");
    return { ...parts, placed };
  };
  return {
    async submit<Output>(definition: AgentDefinition<Output>, task: UserInput, options: TreeOptions) {
      const { placed, store } = withEngine();
      checkKnown(definition, parts);
      const opened: OpenTree = openTree({ ...parts, runOptions: options });
      await placeRoot(opened, placed, definition, messageFrom(task));
      placed.ask(opened.rootId).catch(ignore);
      const isWatched = options.onEvent !== undefined;
      return submitted<Output>({ placed, store, clock: parts.host.clock }, opened, {
        agent: definition.name,
        isWatched,
      });
    },
    async workOn(runId, { name = ownName, signal } = {}) {
      const working = withEngine();
      const { fence } = await working.store.claim(runId);
      const taken: TakenJournal = { journalId: runId, fence, claims: 1 };
      return workOn(working, taken, { worker: name, ...(signal !== undefined && { leaving: scopeOf(signal) }) });
    },
    async work(options = {}) {
      return startWorker(withEngine(), options, ownName);
    },
  };
}

function checkKnown({ name }: AgentDefinition, { options, roots }: Pick<Shared, "options" | "roots">): void {
  const { agents = [] } = options;
  if (roots?.names.includes(name) === true || agents.some((each) => each.name === name)) return;
  throw new UserError(`A worker finds an agent by its name: give ${name} in agents, here and to the workers`);
}

function scopeOf(signal: AbortSignal): Scope {
  const scope = new Scope();
  const abort = () => scope.abort(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort, { once: true });
  return scope;
}
