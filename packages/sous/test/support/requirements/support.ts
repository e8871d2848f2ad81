/** A stage for tests of requirements: the real runtime with a scripted model, on a clock that stands still. */

import assert from "node:assert/strict";
import { type AgentDefinition, type AgentOptions, agent } from "../../../src/core/agent.ts";
import type { EventOf, SousEvent, StoredEvent } from "../../../src/core/event.ts";
import type { ToolResultPart, UserInput } from "../../../src/core/message.ts";
import type { RunHandle, RunOptions, RunResult, RuntimeOptions } from "../../../src/core/runtime.ts";
import type { AnySchema } from "../../../src/core/schema.ts";
import type { Store } from "../../../src/core/store.ts";
import { type Tool, type ToolContext, type ToolOptions, tool } from "../../../src/core/tool.ts";
import { createRuntime, type Runtime } from "../../../src/runtime.ts";
import { parseStoredEvent } from "../../../src/storage/store/event-schema.ts";
import { problemOfTree } from "../../../src/storage/store/import/tree.ts";
import { openMemoryStore } from "../../../src/storage/store/memory.ts";
import { checkHistory, type HistoryFacts } from "../../../src/testing/checker.ts";
import {
  type RecordedRequest,
  type ScriptedModel,
  type ScriptedModelOptions,
  scriptedModel,
} from "../../../src/testing/scripted-model.ts";
import type { Script } from "../../../src/testing/steps.ts";
import { createWorld, type World } from "../../../src/testing/world.ts";
import { checkRequests } from "../testing/check-messages.ts";

export type Stage = {
  readonly world: World;
  readonly runtime: Runtime;
  readonly model: ScriptedModel;
  readonly store: Store;
  /** Everything that was shown of the tree that was started last. */
  readonly events: readonly SousEvent[];
  /** An agent called `lead` that may delegate and runs on the scripted model. */
  lead(options?: Partial<AgentOptions>): AgentDefinition;
  start<Output>(definition: AgentDefinition<Output>, task?: UserInput, options?: RunOptions): RunHandle<Output>;
  /** Lets time pass until the run is over, and checks what is always true. A run that failed gives its result too. */
  end<Output>(handle: Pick<RunHandle<Output>, "result">): Promise<RunResult<Output>>;
  /** Starts and ends. */
  run<Output>(definition: AgentDefinition<Output>, task?: UserInput, options?: RunOptions): Promise<RunResult<Output>>;
  /** Does something at the first event that matches; what it throws, `end` throws. */
  when(matches: (event: SousEvent) => boolean, react: (event: SousEvent) => void): void;
  /** The events of one type, of one agent when a path is given. */
  eventsOf<Type extends SousEvent["type"]>(type: Type, path?: string): EventOf<Type>[];
  /** What the model was asked by the agent at this path. */
  requestsOf(path: string): RecordedRequest[];
  /** Every tool result the agent at this path has read, in order. */
  resultsOf(path: string): ToolResultPart[];
};

export type StageOptions = { runtime?: RuntimeOptions; model?: ScriptedModelOptions; seed?: number };

export function openStage(script: Script, options: StageOptions = {}): Stage {
  const world = createWorld({ seed: options.seed ?? 1, lateness: 0 });
  const store = options.runtime?.store ?? openMemoryStore();
  const model = scriptedModel(script, { clock: world.clock, ...options.model });
  const runtime = createRuntime({ ...options.runtime, host: { ...world.host, ...options.runtime?.host }, store });
  const reactions: { matches: (event: SousEvent) => boolean; react: (event: SousEvent) => void }[] = [];
  const faults: unknown[] = [];
  let events: SousEvent[] = [];
  let trees = 0;

  function start<Output>(
    definition: AgentDefinition<Output>,
    task: UserInput = "Look around.",
    given: RunOptions = {},
  ) {
    const seen: SousEvent[] = [];
    trees += 1;
    events = seen;
    const react = (event: SousEvent) => {
      const index = reactions.findIndex(({ matches }) => matches(event));
      const [reaction] = index < 0 ? [] : reactions.splice(index, 1);
      // A listener that throws changes nothing, so a test would not notice.
      try {
        reaction?.react(event);
      } catch (error) {
        faults.push(error);
      }
    };
    const onEvent = [(event: SousEvent) => void seen.push(event), ...[given.onEvent ?? []].flat(), react];
    return runtime.run(definition, task, { ...given, onEvent });
  }

  async function end<Output>(handle: Pick<RunHandle<Output>, "result">): Promise<RunResult<Output>> {
    const result = await world.run(() => handle.result);
    for (const fault of faults) throw fault;
    assert.deepEqual(checkHistory(events.filter(isStored), factsOf(result)), []);
    // Whatever happened, a store can give it back and another one takes it in.
    for (const event of events.filter(isStored)) parseStoredEvent(JSON.parse(JSON.stringify(event)));
    assert.equal(problemOfTree(events.filter(isStored)), undefined);
    assert.deepEqual(checkRequests(model.requests), []);
    assert.equal(world.clock.liveTimers, 0, "a timer is left");
    return result;
  }

  /** A follow-up has a bill of its own: only a tree with one root run, on one model, can be compared as a whole. */
  function factsOf(result: RunResult): HistoryFacts {
    const starts = eventsOf("run-start");
    if (trees > 1 || starts.filter(({ parentId }) => parentId === null).length > 1) return {};
    const isOnlyModel = starts.every((started) => started.model === model.id);
    return { resultUsage: result.usage, ...(isOnlyModel ? { providerUsage: model.reported } : {}) };
  }

  function eventsOf<Type extends SousEvent["type"]>(type: Type, path?: string): EventOf<Type>[] {
    return events.filter(
      (event): event is EventOf<Type> => event.type === type && (path === undefined || event.path === path),
    );
  }

  return {
    world,
    runtime,
    model,
    store,
    get events() {
      return events;
    },
    lead: (given = {}) => agent({ name: "lead", model, delegate: true, ...given }),
    start,
    end,
    run: (definition, task, given) => end(start(definition, task, given)),
    when: (matches, react) => void reactions.push({ matches, react }),
    eventsOf,
    requestsOf: (path) => model.requests.filter((request) => request.path === path),
    resultsOf: (path) =>
      (model.requests.findLast((request) => request.path === path)?.messages ?? []).flatMap((message) =>
        message.role === "tool" ? message.content : [],
      ),
  };
}

function isStored(event: SousEvent): event is StoredEvent {
  return event.seq !== undefined;
}

/** A tool that takes anything and does what it is told. */
export function simpleTool(
  name: string,
  execute: (input: unknown, context: ToolContext) => unknown = () => `${name} is done`,
  options: Partial<ToolOptions<AnySchema>> = {},
): Tool {
  const inputSchema = { type: "object" } as const;
  return tool({ name, description: `Does ${name}.`, effect: "read", inputSchema, ...options, execute }) as Tool;
}
