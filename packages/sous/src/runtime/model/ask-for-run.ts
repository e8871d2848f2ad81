/** A run's question to its model: what it needs, how it is paid, and what is recorded about it. */

import { systemPrompt } from "../../core/agent.ts";
import { type Amount, amountAt, NO_AMOUNT, toNeed } from "../../core/amount.ts";
import type { Clock, Deadlines, Random } from "../../core/clock.ts";
import { ModelError } from "../../core/errors.ts";
import { type CallAsk, type CallNeed, type Lease, type LimitState, METERED_OUTPUT } from "../../core/limits.ts";
import type { Model, ModelAnswer, ModelCaller, ModelRequest, ModelSettings, OnDelta } from "../../core/model.ts";
import { isForced, type ToolChoice } from "../../core/model-options.ts";
import type { AskOptions, BilledAnswer, Run, RunProfile } from "../../core/run.ts";
import type { JsonSchema } from "../../core/schema.ts";
import { Scope } from "../../core/scope.ts";
import type { Journal } from "../../core/store.ts";
import { limitWords } from "../../core/units.ts";
import { type Usage, utf8Length } from "../../core/usage.ts";
import { askModel, type FailedAttempt, type Governor, governorOf, type Question } from "./ask.ts";
import { answerTooLarge, MAX_ANSWER_BYTES } from "./check-answer.ts";
import { isAccepted } from "./model-fetch.ts";

export type AskPorts = {
  readonly clock: Clock;
  readonly random: Random;
  readonly journal: Journal;
  readonly deadlines: Deadlines;
  /** Calls at once per model; the governor's own default when unset. */
  readonly callsAtOnce: number | undefined;
};

/** A call with less output than this is not made. */
const MIN_OUTPUT = 512;
const LAST_WORDS_OUTPUT = 512;
const MIN_LAST_WORDS = 64;
/** More tokens than the notice that asks for last words has. */
const WRAP_UP_NOTICE = 64;

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
  isAccepted = false;
  readonly #run: Run;
  readonly #options: AskOptions;
  readonly #ports: AskPorts;
  #call: Scope | undefined;
  #deadline: Disposable | undefined;
  /** Grows when an attempt begins and when it ends. */
  #attempt = 0;
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

  lease(): Lease | Promise<Lease> {
    this.receivedBytes = 0;
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
      this.receivedBytes += utf8Length(text);
      if (this.receivedBytes > MAX_ANSWER_BYTES) throw answerTooLarge(this.model.id);
      if (kind === "text") run.text += text;
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
      const afterOutput = this.isAccepted || isAccepted(call.signal);
      call.abort(new ModelError("unknown", notComplete(id, callTimeoutMs), { afterOutput }));
    });
  }

  endAttempt(): void {
    this.#attempt += 1;
    this.#deadline?.[Symbol.dispose]();
    this.#deadline = undefined;
    this.#call?.[Symbol.dispose]();
    this.#call = undefined;
    this.isAccepted = false;
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

/** The lease of the first call. Text that was added to the prompt since then, such as a message, is taken from the output. */
function coveringLease({ lease, promptTokens }: NonNullable<Run["firstCall"]>, need: CallNeed): Lease | undefined {
  const added = Math.max(0, need.promptTokens - promptTokens);
  const outputCap = lease.outputCap - added;
  const { input = 0, cacheWrite = 0, output = 0 } = need.price ?? {};
  // Only where a token of the output is no cheaper than one of the prompt.
  if (outputCap < need.minOutput || output < Math.max(input, cacheWrite)) return added === 0 ? lease : undefined;
  if (added === 0) return lease;
  const settle: Lease["settle"] = (spent, lastWords) => lease.settle(spent, lastWords);
  return { outputCap, settle, [Symbol.dispose]: () => lease[Symbol.dispose]() };
}

/** Last words need the prompt and a short answer. */
function lastWordsNeed(promptTokens: number, { price }: Pick<RunProfile, "price">): CallNeed {
  return { promptTokens, outputCap: LAST_WORDS_OUTPUT, minOutput: MIN_LAST_WORDS, price };
}

function needOf({ conversation: { promptTokens }, profile, isExhausted }: Run, { closing }: AskOptions): CallNeed {
  if (!closing) return callNeed(promptTokens, profile);
  // A summary or a repaired output is a whole answer; the reserve is enough to begin it.
  return isExhausted
    ? lastWordsNeed(promptTokens, profile)
    : { ...plainNeed(promptTokens, profile), minOutput: MIN_LAST_WORDS };
}

/** The need of an ordinary call. */
export function callNeed(promptTokens: number, profile: Pick<RunProfile, "settings" | "price" | "tools">): CallNeed {
  const need = plainNeed(promptTokens, profile);
  const wholeUsd = feesOfCall(profile);
  return wholeUsd === 0 ? need : { ...need, wholeUsd };
}

/** Expected uses of a provider's tool in one call, where its settings set no limit. */
const EXPECTED_USES = 5;

/** The most that a provider is expected to charge for tools of its own during one call. */
function feesOfCall({ price, tools }: Pick<RunProfile, "price" | "tools">): number {
  if (price?.calls === undefined) return 0;
  let fees = 0;
  for (const { provider } of tools.definitions) {
    if (provider?.runsThere !== true) continue;
    const { maxUses } = provider.args;
    fees += (price.calls[provider.id] ?? 0) * (typeof maxUses === "number" ? maxUses : EXPECTED_USES);
  }
  return fees;
}

/** A call in which the provider runs no tools of its own. */
function plainNeed(promptTokens: number, { settings, price }: Pick<RunProfile, "settings" | "price">): CallNeed {
  const outputCap = settings.maxOutputTokens ?? METERED_OUTPUT;
  return { promptTokens, outputCap, minOutput: Math.min(MIN_OUTPUT, outputCap), price };
}

/** The reserve of a run for its last words. Nothing when it has to stop at once. */
export function reserveFor({ profile, tree }: Run, promptTokens: number): Amount {
  if (tree.onExhausted === "stop") return NO_AMOUNT;
  return amountAt(toNeed(lastWordsNeed(promptTokens + WRAP_UP_NOTICE, profile)), LAST_WORDS_OUTPUT);
}
