/** Counts what happens in trees: a fold over events that writes to a meter. */

import type { EventListener, EventOf, RunIdentity, SousEvent } from "../../core/event.ts";
import { isExternalModel } from "../../core/model.ts";
import { errorTypeOf } from "../../core/outcome.ts";
import { MAX_LABEL_VALUES, OTHER } from "./label-cap.ts";
import { activeReadings, addAt, countEnd, type GaugeReading, type LabelValues, type Meter } from "./meter.ts";
import { type KnownModels, ModelNames } from "./model-names.ts";
import { providerName, requestModel } from "./names.ts";
import { rememberIn } from "./remember-in.ts";
import { type MeasuredLimit, TreeBudget } from "./tree-budget.ts";

/** Give it one meter of its own; it may listen to any number of trees. */
export function measureRuns(meter: Meter, known?: KnownModels): EventListener {
  const fold = new MetricsFold(meter, known);
  meter.observe(() => fold.gauges());
  return fold.onEvent;
}

/** All that is kept of a run while it lives. */
type LiveRun = {
  readonly agent: string;
  readonly model: ModelLabels;
  /** Undefined where the tree has no limit, or what it had spent is not known. */
  readonly budget: TreeBudget | undefined;
  /** The sums of this run that `budget` knows. */
  tokens: number;
  costUsd: number;
  /** The time when the model was asked; undefined while it is not. */
  askedAt: number | undefined;
  isStalled: boolean;
};

/** Trees that ended, whose next root run continues their budget. */
const MAX_ENDED_BUDGETS = 100;

class MetricsFold {
  readonly #meter: Meter;
  readonly #live = new Map<string, LiveRun>();
  readonly #names: ModelNames;
  readonly #models = new Map<string, ModelLabels>();
  /** Live runs by depth. A depth that was seen stays, with 0. */
  readonly #active: number[] = [];
  #stalled = 0;
  /** Runs whose model was asked and has not begun to answer. */
  readonly #unheard = new Set<string>();
  /** Budgets of live roots, by run. */
  readonly #budgets = new Map<string, TreeBudget>();
  /** Budgets of ended roots, by agent. */
  readonly #endedBudgets = new Map<string, TreeBudget>();

  constructor(meter: Meter, known: KnownModels | undefined) {
    this.#meter = meter;
    this.#names = new ModelNames(known);
  }

  readonly onEvent = (event: SousEvent): void => {
    // The worker that has the run counts it.
    if ("journalId" in event) return;
    // Pieces of answers come by the hundred, and only the first of each counts.
    if (isFrequent(event) && this.#unheard.size === 0 && this.#stalled === 0) return;
    const run = this.#live.get(event.runId);
    if (run?.isStalled === true) this.#setStalled(run, false);
    switch (event.type) {
      case "run-start":
        this.#start(event);
        break;
      case "resume":
        this.#resume(event);
        break;
      case "run-end":
        this.#end(event, run);
        break;
      case "park":
        if (run !== undefined) this.#leave(event);
        break;
      case "spawn-refused":
        // guard: refused-is-no-execution
        this.#meter.count("errors", 1, [String(event.depth + 1), event.errorType]);
        break;
      case "tool-call-start":
        this.#names.called(event);
        break;
      case "turn-start":
        if (run !== undefined) this.#ask(run, event);
        break;
      case "text-delta":
      case "reasoning-delta":
        if (this.#unheard.delete(event.runId) && run !== undefined) this.#firstChunk(run, event.time);
        break;
      case "message-end":
        if (run !== undefined) this.#answer(run, event);
        break;
      case "retry":
        if (run === undefined) break;
        charge(run, event.depth, event.spent.totalTokens, event.costUsd);
        if (event.kind === "rate_limit") this.#waits(run, event.delayMs);
        break;
      case "rate-wait":
        if (run !== undefined) this.#waits(run, event.delayMs);
        break;
      case "stalled":
        if (run !== undefined) this.#setStalled(run, true);
        break;
      default:
    }
  };

  *gauges(): Iterable<GaugeReading> {
    yield* activeReadings(this.#active);
    yield { metric: "stalled", value: this.#stalled, labels: [] };
    for (const limit of ["tokens", "cost"] as const) {
      const value = this.#leastLeft(limit);
      if (value !== undefined) yield { metric: "budgetRemaining", value, labels: [limit] };
    }
  }

  #leastLeft(limit: MeasuredLimit): number | undefined {
    let least: number | undefined;
    for (const budget of this.#budgets.values()) {
      const left = budget.remaining(limit);
      if (left !== undefined && (least === undefined || left < least)) least = left;
    }
    return least;
  }

  #start(event: EventOf<"run-start">): void {
    const { runId, parentId, agent, model, depth } = event;
    const labels = this.#labelsOf(model, this.#names.started(event));
    this.#meter.count("executions", 1, [String(depth)]);
    const budget = parentId === null ? this.#openBudget(event) : this.#live.get(parentId)?.budget;
    this.#enter(runId, depth, { agent, model: labels, budget });
  }

  /**
   * Enters a run that another process began: no execution of this one, unless it was placed and is taken for the first time. What
   * its tree had spent is not known here.
   */
  #resume(event: EventOf<"resume">): void {
    const { runId, depth, run, attempt } = event;
    if (attempt !== undefined) this.#meter.count("takings", 1, [attempt === 1 ? "first" : "again"]);
    if (attempt === 1) this.#meter.count("executions", 1, [String(depth)]);
    if (this.#live.has(runId)) return;
    const model =
      run === undefined ? this.#labelsOf(OTHER) : this.#labelsOf(run.model, this.#names.resumed(event, run));
    this.#enter(runId, depth, { agent: run?.agent ?? OTHER, model, budget: undefined });
  }

  #enter(runId: string, depth: number, of: Pick<LiveRun, "agent" | "model" | "budget">): void {
    addAt(this.#active, depth, 1);
    const state = { tokens: 0, costUsd: 0, askedAt: undefined, isStalled: false };
    this.#live.set(runId, { ...of, ...state });
  }

  #end(event: EventOf<"run-end">, run: LiveRun | undefined): void {
    const { depth, usage, costUsd } = event;
    const errorType = errorTypeOf(event);
    const agent = run?.agent ?? OTHER;
    countEnd(this.#meter, { ...event, agent, model: run?.model.model ?? OTHER, errorType });
    if (run === undefined) return;
    if (run.askedAt !== undefined) {
      const failed = [...run.model.firstChunk, errorType ?? "model"];
      this.#meter.record("operationDuration", secondsBetween(run.askedAt, event.time), failed);
    }
    // A call that was stopped before its answer was recorded is counted in the end alone.
    const restUsd = costUsd === null ? null : costUsd - run.costUsd;
    charge(run, depth, usage.totalTokens - run.tokens, restUsd);
    this.#leave(event);
  }

  /** It is no longer at work here. One that waits for an answer has not ended: the process that resumes it counts its end. */
  #leave(who: RunIdentity): void {
    const { runId, agentId, depth } = who;
    this.#names.ended(who);
    this.#live.delete(runId);
    this.#unheard.delete(runId);
    addAt(this.#active, depth, -1); // guard: active-until-every-end
    this.#closeBudget(runId, agentId);
  }

  #waits({ model }: LiveRun, milliseconds: number): void {
    this.#meter.count("rateWait", milliseconds / 1000, [model.model]);
  }

  #setStalled(run: LiveRun, isStalled: boolean): void {
    run.isStalled = isStalled;
    this.#stalled += isStalled ? 1 : -1;
  }

  /** A prompt that was too long is made shorter and asked again within the turn: its time began with the first. */
  #ask(run: LiveRun, { runId, time }: EventOf<"turn-start">): void {
    run.askedAt ??= time;
    this.#unheard.add(runId);
  }

  #firstChunk(run: LiveRun, time: number): void {
    if (run.askedAt === undefined || !run.model.isChat) return;
    this.#meter.record("firstChunk", secondsBetween(run.askedAt, time), run.model.firstChunk);
  }

  #answer(run: LiveRun, { runId, time, depth, usage, costUsd }: EventOf<"message-end">): void {
    const { isChat, answered, input, output } = run.model;
    if (run.askedAt !== undefined) this.#meter.record("operationDuration", secondsBetween(run.askedAt, time), answered);
    run.askedAt = undefined;
    this.#unheard.delete(runId);
    charge(run, depth, usage.totalTokens, costUsd);
    // The conventions want tokens as the provider counts them, and of chat calls only.
    if (usage.estimated || !isChat) return;
    this.#meter.record("tokenUsage", usage.inputTokens, input);
    this.#meter.record("tokenUsage", usage.outputTokens, output);
  }

  /** Shared by the runs of a model, up to a bound: models are named by users. */
  #labelsOf(model: string, name: string = model): ModelLabels {
    const provider = providerName(model);
    const key = name === OTHER ? `${OTHER} ${provider}` : name;
    const known = this.#models.get(key);
    if (known !== undefined) return known;
    if (this.#models.size >= MAX_LABEL_VALUES) this.#models.clear();
    const labels = modelLabels(name, provider);
    this.#models.set(key, labels);
    return labels;
  }

  #openBudget(event: EventOf<"run-start">): TreeBudget | undefined {
    const earlier = this.#endedBudgets.get(event.agentId);
    this.#endedBudgets.delete(event.agentId);
    // The spending of the tree in another process is not known.
    if (event.origin?.kind === "follow-up" && earlier === undefined) return undefined;
    const budget = new TreeBudget(event, earlier);
    if (!budget.isLimited) return undefined;
    this.#budgets.set(event.runId, budget);
    return budget;
  }

  #closeBudget(runId: string, agentId: string): void {
    const budget = this.#budgets.get(runId);
    if (budget === undefined) return;
    this.#budgets.delete(runId);
    rememberIn(this.#endedBudgets, agentId, budget, MAX_ENDED_BUDGETS);
  }
}

function isFrequent({ type }: SousEvent): boolean {
  return type === "text-delta" || type === "reasoning-delta" || type === "tool-progress";
}

function charge(run: LiveRun, depth: number, tokens: number, costUsd: number | null): void {
  if (run.budget === undefined) return;
  const spent = { tokens, costUsd: costUsd ?? 0 };
  run.tokens += spent.tokens;
  run.costUsd += spent.costUsd;
  run.budget.add(spent, depth);
}

/** The labels of all metrics of one model. */
type ModelLabels = {
  readonly model: string;
  /** False for an external agent: it is invoked, and its tokens are not those of a chat call. */
  readonly isChat: boolean;
  readonly firstChunk: LabelValues;
  readonly answered: LabelValues;
  readonly input: LabelValues;
  readonly output: LabelValues;
};

function modelLabels(model: string, provider: string): ModelLabels {
  const isChat = !isExternalModel(model);
  const labels = [isChat ? "chat" : "invoke_agent", provider, requestModel(model)];
  return {
    model,
    isChat,
    firstChunk: labels,
    answered: [...labels, ""],
    input: [...labels, "input"],
    output: [...labels, "output"],
  };
}

/** A clock that is set back makes no negative time. */
function secondsBetween(from: number, to: number): number {
  return Math.max(0, to - from) / 1000;
}
