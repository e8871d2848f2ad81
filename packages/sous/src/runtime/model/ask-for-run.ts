/** A run's question to its model: what it needs, how it is paid, and what is recorded about it. */

import { systemPrompt } from "../../core/agent.ts";
import { type Amount, NO_AMOUNT } from "../../core/amount.ts";
import type { Clock, Deadlines, Random } from "../../core/clock.ts";
import { ModelError } from "../../core/errors.ts";
import type { CallAsk, CallNeed, Lease, LimitState } from "../../core/limits.ts";
import type {
  Model,
  ModelAnswer,
  ModelCaller,
  ModelRequest,
  ModelSettings,
  OnDelta,
  RateReport,
} from "../../core/model.ts";
import { isForced, type ToolChoice } from "../../core/model-options.ts";
import type { Run } from "../../core/run.ts";
import type { JsonSchema } from "../../core/schema.ts";
import { Scope } from "../../core/scope.ts";
import type { AskOptions, BilledAnswer, Journal } from "../../core/tree-ports.ts";
import { limitWords } from "../../core/units.ts";
import { type Usage, utf8Length } from "../../core/usage.ts";
import { askModel, type FailedAttempt, type Question } from "./ask.ts";
import { coveringLease, LAST_WORDS_OUTPUT, needOf, reserveFor } from "./call-need.ts";
import { answerTooLarge, MAX_ANSWER_BYTES } from "./check-answer.ts";
import { type Governor, governorOf } from "./governor.ts";
import { factsOf, type WireFacts } from "./wire-facts.ts";

export type AskPorts = {
  readonly clock: Clock;
  readonly random: Random;
  readonly journal: Journal;
  readonly deadlines: Deadlines;
  /** Calls at once per model; the governor's own default when unset. */
  readonly callsAtOnce: number | undefined;
};

/** A shorter wait is not worth a line. */
const MIN_SHOWN_MS = 1000;

/** One question: a lease and a slot for each attempt, the turn recorded before the first. */
export function askForRun(run: Run, options: AskOptions, ports: AskPorts): Promise<BilledAnswer> {
  run.waitingFor = "the model";
  return askModel(new RunQuestion(run, options, ports));
}

/** A run's question and, in the same object, the request of each attempt. */
class RunQuestion implements Question, ModelRequest {
  readonly need: CallNeed;
  readonly governor: Governor;
  readonly instructions: string | undefined;
  readonly messages: ModelRequest["messages"];
  readonly tools: ModelRequest["tools"];
  readonly mayCallTools: boolean;
  readonly caller: ModelCaller;
  settings: ModelSettings;
  receivedBytes = 0;
  hasUnmeasured = false;
  readonly #run: Run;
  readonly #options: AskOptions;
  readonly #ports: AskPorts;
  #call: Scope | undefined;
  #deadline: Disposable | undefined;
  /** Grows when an attempt begins and when it ends. */
  #attempt = 0;
  #isAccepted = false;
  /** The provider has refused the schema of the output in an earlier attempt. */
  #isSchemaRefused = false;

  constructor(run: Run, options: AskOptions, ports: AskPorts) {
    const { profile, conversation } = run;
    this.#run = run;
    this.#options = options;
    this.#ports = ports;
    this.need = needOf(run, options);
    this.governor = governorOf(profile.model, ports.clock, ports.callsAtOnce);
    this.instructions = systemPrompt(profile);
    this.messages = conversation.messages;
    this.tools = profile.tools.definitions;
    this.mayCallTools = !options.closing && profile.settings.toolChoice !== "none";
    const { runId, agentId, path, depth } = run.who;
    this.caller = { runId, agentId, path, depth, turn: run.turns };
    this.settings = profile.settings;
  }

  get model(): Model {
    return this.#run.profile.model;
  }

  get scope(): Scope {
    return this.#run.scope;
  }

  get clock(): Clock {
    return this.#ports.clock;
  }

  get random(): Random {
    return this.#ports.random;
  }

  get isAccepted(): boolean {
    return this.#isAccepted;
  }

  set isAccepted(isAccepted: boolean) {
    if (isAccepted && !this.#isAccepted) this.governor.accept();
    this.#isAccepted = isAccepted;
  }

  set rate(report: RateReport) {
    this.governor.hear(report);
  }

  get wire(): WireFacts {
    return factsOf(this.signal);
  }

  onRateWait(milliseconds: number): void {
    const run = this.#run;
    run.waitingFor = "the rate limit";
    if (milliseconds < MIN_SHOWN_MS) return;
    this.#ports.journal.delta(run.who, { type: "rate-wait", delayMs: Math.round(milliseconds) });
  }

  lease(): Lease | Promise<Lease> {
    this.receivedBytes = 0;
    this.hasUnmeasured = false;
    const run = this.#run;
    const { firstCall } = run;
    run.firstCall = undefined;
    const first = firstCall && coveringLease(firstCall, this.need);
    if (first !== undefined) return first;
    if (run.holding === undefined) throw new Error(`${run.who.path} asks before it has started`);
    const { closing } = this.#options;
    const lastWords = run.hasAnswered && !closing ? reserveFor(run, this.need.promptTokens) : NO_AMOUNT;
    const ask: CallAsk = {
      need: this.need,
      lastWords,
      closing: closing ? { enoughOutput: LAST_WORDS_OUTPUT } : undefined,
      replaces: firstCall?.lease,
      onWait: (limit) => tellBudgetWait(run, limit, this.#ports.journal),
    };
    return run.holding.reserve(ask, run.scope);
  }

  lastWordsAfter({ inputTokens, outputTokens }: Usage): Amount {
    return this.#options.closing ? NO_AMOUNT : reserveFor(this.#run, inputTokens + outputTokens);
  }

  onReady(lease: Lease, attempt: number): Promise<void> | undefined {
    const { promptTokens } = this.need;
    this.#run.waitingFor = "the model";
    const reserved = Number.isFinite(lease.outputCap) ? promptTokens + lease.outputCap : 0;
    if (attempt === 1) {
      this.#run.recordedTurns = this.#run.turns;
      this.#run.emit({ type: "turn-start", turn: this.#run.turns, promptTokens, reserved });
    }
    return this.#ports.journal.settled(); // guard: store-before-ask
  }

  ask(lease: Lease): Promise<ModelAnswer> {
    const { settings } = this.#run.profile;
    const maxOutputTokens = Number.isFinite(lease.outputCap) ? lease.outputCap : settings.maxOutputTokens;
    const toolChoice = this.#toolChoice();
    const outputSchema = isForced(toolChoice) ? undefined : this.#outputSchema();
    const isOrdinary = maxOutputTokens === settings.maxOutputTokens && toolChoice === settings.toolChoice;
    this.settings =
      isOrdinary && outputSchema === undefined ? settings : { ...settings, maxOutputTokens, toolChoice, outputSchema };
    this.#setDeadline();
    // A model may return any thenable.
    return Promise.resolve(this.model.answer(this, this.#listener()));
  }

  /** A forced call is made once: afterwards the model is free, or it could never come to an answer. */
  #toolChoice(): ToolChoice | undefined {
    const { settings, tools } = this.#run.profile;
    const { toolChoice } = settings;
    if (this.#options.closing) return undefined;
    if (!isForced(toolChoice)) return toolChoice;
    const isMade = this.#run.callIds.size > 0 || tools.definitions.length === 0;
    const isGone = typeof toolChoice === "object" && !tools.byName.has(toolChoice.tool);
    return isMade || isGone ? undefined : toolChoice;
  }

  /** Undefined where an answer that was cut continues: a model that is held to the schema would begin again. */
  #outputSchema(): JsonSchema | undefined {
    if (!this.#options.jsonOutput || this.#isSchemaRefused || this.#run.cutText !== "") return undefined;
    return this.#run.profile.output?.jsonSchema;
  }

  /** Hears one attempt, until it ends. */
  #listener(): OnDelta {
    this.#attempt += 1;
    const attempt = this.#attempt;
    const run = this.#run;
    const { journal } = this.#ports;
    return (kind, text) => {
      if (attempt !== this.#attempt || run.scope.aborted) return;
      run.beats += 1;
      if (kind === "hidden") this.hasUnmeasured = true;
      this.receivedBytes += utf8Length(text);
      if (this.receivedBytes > MAX_ANSWER_BYTES) throw answerTooLarge(this.model.id);
      if (kind === "text") run.text += text;
      if (kind !== "text" && kind !== "reasoning") return;
      if (journal.isWatched) journal.delta(run.who, { type: kind === "text" ? "text-delta" : "reasoning-delta", text });
    };
  }

  onRetry({ attempt, delayMs, error, usage, costUsd }: FailedAttempt): void {
    const { kind, message } = error;
    if (kind === "output_schema") this.#isSchemaRefused = true;
    this.#run.text = "";
    this.#run.bill(usage, costUsd);
    this.#run.holding?.takeStep();
    this.#run.emit({ type: "retry", attempt, delayMs, kind, message, spent: usage, costUsd });
  }

  onWaste(usage: Usage, costUsd: number | null): void {
    this.#run.bill(usage, costUsd);
  }

  get call(): Scope {
    this.#call ??= new Scope(this.#run.scope);
    return this.#call;
  }

  get signal(): AbortSignal {
    return this.call.signal;
  }

  /** Some servers keep the connection alive and never end the answer. */
  #setDeadline(): void {
    const { callTimeoutMs, id } = this.model;
    if (callTimeoutMs === undefined) return;
    const { call } = this;
    this.#deadline = this.#ports.deadlines.add(callTimeoutMs, () => {
      const afterOutput = this.isAccepted || this.wire.body !== undefined;
      call.abort(new ModelError("unknown", notComplete(id, callTimeoutMs), { afterOutput }));
    });
  }

  endAttempt(): void {
    this.#attempt += 1;
    this.#deadline?.[Symbol.dispose]();
    this.#deadline = undefined;
    this.#call?.[Symbol.dispose]();
    this.#call = undefined;
    this.#isAccepted = false;
  }
}

function notComplete(id: string, milliseconds: number): string {
  return `The answer of ${id} was not complete after ${milliseconds / 1000} s, and the call was given up: provider.call_timeout allows more`;
}

/** A run cannot pay its next call yet, or a child its first one. */
export function tellBudgetWait(run: Run, limit: LimitState, journal: Journal): void {
  run.waitingFor = `its budget: ${limitWords(limit)}`;
  journal.delta(run.who, { type: "budget-wait", limit });
}
