/** Trees that park: processes one after the other on one store, with answers that follow from the request alone. */

import assert from "node:assert/strict";
import { type AgentDefinition, agent } from "../../../../../src/core/agent.ts";
import type { ApprovalAnswer, ApprovalRequest } from "../../../../../src/core/approval.ts";
import type { EventListener, SousEvent, StoredEvent } from "../../../../../src/core/event.ts";
import type { ModelRequest } from "../../../../../src/core/model.ts";
import type {
  ResumeOptions,
  RunHandle,
  RunOptions,
  RunResult,
  RuntimeOptions,
} from "../../../../../src/core/runtime.ts";
import type { Store } from "../../../../../src/core/store.ts";
import { type Tool, type ToolContext, tool } from "../../../../../src/core/tool.ts";
import { createRuntime, type Runtime } from "../../../../../src/runtime.ts";
import { openMemoryStore } from "../../../../../src/storage/store/memory.ts";
import { type ScriptedModel, scriptedModel } from "../../../../../src/testing/scripted-model.ts";
import type { Script } from "../../../../../src/testing/steps.ts";
import { createWorld } from "../../../../../src/testing/world.ts";

export type Parking = {
  script: Script;
  store?: Store;
  /** `later` when unset. */
  approve?: (request: ApprovalRequest) => ApprovalAnswer | Promise<ApprovalAnswer>;
  runtime?: RuntimeOptions;
  tools?: (ran: string[]) => Tool[];
  /** The clock of the machine, for a store behind a network. */
  isReal?: boolean;
};

/** What all processes of a test share: the store, and what the tools have done. */
export type Town = {
  readonly store: Store;
  /** Calls whose tool really ran: `path tool`. */
  readonly ran: string[];
  process(given?: Partial<Parking>): Process;
  events(rootId: string): Promise<readonly StoredEvent[]>;
};

export type Life = { handle: RunHandle; result: RunResult; events: readonly SousEvent[]; model: ScriptedModel };

export type Process = {
  run(options?: RunOptions & { during?: (handle: RunHandle, event: SousEvent) => void }): Promise<Life>;
  resume(runId: string, options?: ResumeOptions): Promise<Life>;
  readonly runtime: Runtime;
  readonly lead: AgentDefinition;
};

export function openTown(parking: Parking): Town {
  const store = parking.store ?? openMemoryStore();
  const ran: string[] = [];
  let processes = 0;
  return {
    store,
    ran,
    events: async (rootId) => store.read(rootId),
    process(given = {}) {
      const { script, approve = () => "later", runtime: parts, tools, isReal } = { ...parking, ...given };
      processes += 1;
      const startTime = Date.UTC(2026, 0, processes);
      const world = createWorld({ seed: processes, lateness: 0, startTime });
      const model = scriptedModel(script, isReal ? {} : { clock: world.clock });
      const lead = agent({ name: "lead", model, delegate: true, tools: [...ownTools(ran), ...(tools?.(ran) ?? [])] });
      const runtime = createRuntime({ store, approve, host: isReal ? {} : world.host, ...parts });
      const live = async (start: (onEvent: EventListener) => RunHandle): Promise<Life> => {
        const events: SousEvent[] = [];
        let handle: RunHandle | undefined;
        const work = () => {
          handle = start((event) => events.push(event));
          return handle.result;
        };
        const result = await (isReal ? work() : world.run(work));
        assert.equal(world.clock.liveTimers, 0, "a timer is left");
        assert.ok(handle);
        return { handle, result, events, model };
      };
      return {
        runtime,
        lead,
        run({ during, ...options } = {}) {
          return live((onEvent) => {
            const handle = runtime.run(lead, "Look after the accounts.", {
              ...options,
              onEvent(event) {
                onEvent(event);
                during?.(handle, event);
              },
            });
            return handle;
          });
        },
        resume: (runId, options) => live((onEvent) => runtime.resume(runId, { agent: lead, onEvent, ...options })),
      };
    },
  };
}

function ownTools(ran: string[]): Tool[] {
  const note =
    (name: string) =>
    async (_input: unknown, { path }: ToolContext) => {
      ran.push(`${path} ${name}`);
      return `${name} done`;
    };
  return [
    tool({ name: "pay", description: "Pays.", tier: "confirm", execute: note("pay"), inputSchema: ANY }) as Tool,
    tool({ name: "look", description: "Looks.", effect: "read", execute: note("look"), inputSchema: ANY }) as Tool,
  ];
}

const ANY = { type: "object", properties: { amount: { type: "number" } } } as const;

/** How many results of this tool the model has been given. */
export function resultsIn(request: ModelRequest, toolName: string): string[] {
  return request.messages.flatMap((message) =>
    message.role === "tool"
      ? message.content.filter((part) => part.toolName === toolName).map(({ output }) => output)
      : [],
  );
}
