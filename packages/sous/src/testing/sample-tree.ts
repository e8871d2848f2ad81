/** Writes small journals by hand: the events of runs that never happened, for tests of stores and folds. */

import type { EventOf, RunIdentity, StoredBody, StoredEvent } from "../core/event.ts";
import type { RunOutcome } from "../core/outcome.ts";
import type { RunStart } from "../core/run-start.ts";
import type { RunRecord } from "../core/store.ts";
import { noUsage, type Usage } from "../core/usage.ts";

export type SampleTree = {
  readonly rootId: string;
  /** Everything so far, in order. */
  readonly events: readonly StoredEvent[];
  /** Begins a run; a child when `parent` is given. */
  start(runId: string, given?: SampleRun): EventOf<"run-start">;
  /** One model call of the run and its answer. */
  turn(runId: string, text: string, usage?: Partial<Usage>): void;
  end(runId: string, outcome?: Partial<RunOutcome>): void;
  /** Any other event of the run. */
  add(runId: string, body: StoredBody): void;
};

type SampleRun = {
  parent?: string;
  /** The parent, when its events are in another journal. */
  above?: RunIdentity;
  label?: string;
  /** Milliseconds since 1970; one more than the event before when unset. */
  time?: number;
  details?: Partial<RunStart>;
};

const START_TIME = Date.UTC(2026, 0, 1);

export function sampleTree(rootId: string, startTime: number = START_TIME): SampleTree {
  const events: StoredEvent[] = [];
  const runs = new Map<string, RunIdentity>();
  let time = startTime;

  function append<Body extends StoredBody>(who: RunIdentity, body: Body) {
    time += 1;
    const event = { seq: events.length + 1, time, ...who, ...body };
    events.push(event);
    return event;
  }

  function add(runId: string, body: StoredBody): void {
    const who = runs.get(runId);
    if (who === undefined) throw new Error(`The sample has no run ${runId}`);
    append(who, body);
  }

  function start(runId: string, given: SampleRun = {}): EventOf<"run-start"> {
    const parent = given.parent === undefined ? given.above : runs.get(given.parent);
    const label = given.label ?? runId;
    const who: RunIdentity = {
      runId,
      agentId: runId,
      parentId: parent?.runId ?? null,
      path: parent === undefined ? label : `${parent.path}/${label}`,
      depth: parent === undefined ? 0 : parent.depth + 1,
    };
    runs.set(runId, who);
    if (given.time !== undefined) time = given.time - 1;
    return append(who, { ...PLAIN_START, label, agent: label, ...given.details });
  }

  function turn(runId: string, text: string, usage: Partial<Usage> = {}): void {
    add(runId, { type: "turn-start", turn: 1, promptTokens: 10, reserved: 0 });
    add(runId, {
      type: "message-end",
      turn: 1,
      message: { role: "assistant", content: [{ type: "text", text }] },
      finish: "stop",
      usage: { ...noUsage(), ...usage },
      costUsd: null,
    });
  }

  function end(runId: string, outcome: Partial<RunOutcome> = {}): void {
    const startedAt = events.find((event) => event.type === "run-start" && event.runId === runId)?.time ?? time;
    add(runId, { type: "run-end", ...PLAIN_OUTCOME, durationMs: time + 1 - startedAt, usage: noUsage(), ...outcome });
  }

  return { rootId, events, start, turn, end, add };
}

/** The journal of a run that was placed below another: its start, in the millisecond after that of the other. */
export function samplePlaced(above: EventOf<"run-start">, rootId: string, runId: string, agent = runId): SampleTree {
  const journal = sampleTree(runId, above.time);
  journal.start(runId, { above, details: { agent, placed: { rootId, budgets: [] } } });
  return journal;
}

const PLAIN_START: RunStart = {
  type: "run-start",
  agent: "lead",
  nickname: undefined,
  label: "lead",
  task: { role: "user", content: [{ type: "text", text: "Look around." }] },
  model: "scripted/model",
  price: undefined,
  contextWindow: undefined,
  tools: { hash: "none", shown: [], bytes: 2, isDeepest: false },
  outputSchema: undefined,
  instructions: undefined,
  notes: undefined,
  maxTurns: 10,
  rights: { use: ["grep"], delegate: ["grep"], deny: [], spawn: true },
  origin: undefined,
  call: undefined,
  summaryPrompt: undefined,
  timeoutMs: undefined,
  budget: undefined,
  terms: undefined,
  cwd: undefined,
};

const PLAIN_OUTCOME: Omit<RunOutcome, "usage" | "durationMs"> = {
  status: "completed",
  stopReason: undefined,
  text: "Done.",
  fault: undefined,
  turns: 1,
  toolCount: 0,
  costUsd: null,
};

export function ids(records: readonly RunRecord[]): string[] {
  return records.map(({ id }) => id);
}

/** Copies a value as JSON keeps it: a store may drop fields that are undefined. */
export function plain<T>(value: T): T {
  return value === undefined ? value : JSON.parse(JSON.stringify(value));
}
