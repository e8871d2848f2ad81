/** A run's question to its model: what it needs, how it is paid, and what the tree hears of it. */

import type { Clock, Random } from "../core/clock.ts";
import { BudgetExceeded, StoreError } from "../core/errors.ts";
import type { Journal } from "../core/journal.ts";
import type { CallNeed, Lease, WrapUpLease } from "../core/limits.ts";
import type { Model, ModelCaller, ModelRequest, ModelSettings, OnDelta } from "../core/model.ts";
import { nowOrLater, type Steps, wait } from "../core/now-or-later.ts";
import type { AskOptions, BilledAnswer, Run, RunProfile } from "../core/run.ts";
import { Scope } from "../core/scope.ts";
import { type Usage, utf8Length } from "../core/usage.ts";
import { askModel, type FailedAttempt, type Question } from "./ask.ts";
import { type Governor, governorOf } from "./governor.ts";

export type AskPorts = {
  readonly clock: Clock;
  readonly random: Random;
  readonly journal: Journal;
  /** Calls at once per model; the governor's own default when unset. */
  readonly callsAtOnce: number | undefined;
};

/** Output cap of a call when tokens or money are limited, and the least a call is worth making for. */
const METERED_OUTPUT = 4096;
const MIN_OUTPUT = 512;
const LAST_WORDS_OUTPUT = 512;
const MIN_LAST_WORDS = 64;

/** One question: a lease and a slot for each attempt, the turn recorded before the first. */
export function askForRun(run: Run, options: AskOptions, ports: AskPorts): Promise<BilledAnswer> {
  run.waitingFor = "the model";
  return askModel(new RunQuestion(run, options, ports));
}

/** A run's question and the request it becomes, in one object: a wide tree has as many of them as live children. */
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
  readonly #run: Run;
  readonly #options: AskOptions;
  readonly #ports: AskPorts;
  #call: Scope | undefined;
  #stop: ((reason: unknown) => void) | undefined;
  /** Grows when an attempt begins and when it ends. */
  #attempt = 0;

  constructor(run: Run, options: AskOptions, ports: AskPorts) {
    const { profile, conversation } = run;
    this.#run = run;
    this.#options = options;
    this.#ports = ports;
    this.need = options.closing ? lastWordsNeed(conversation.promptTokens, profile) : callNeed(run);
    this.governor = governorOf(profile.model, ports.clock, ports.callsAtOnce);
    this.instructions = profile.instructions;
    this.messages = conversation.messages;
    this.tools = profile.tools.definitions;
    this.mayCallTools = !options.closing;
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
    return leaseFor(this.#run, this.need, this.#options);
  }

  onReady(lease: Lease, attempt: number): Promise<void> | undefined {
    const { promptTokens } = this.need;
    const reserved = Number.isFinite(lease.outputCap) ? promptTokens + lease.outputCap : 0;
    if (attempt === 1) this.#run.emit({ type: "turn-start", turn: this.#run.turns, promptTokens, reserved });
    return this.#ports.journal.settled();
  }

  request(lease: Lease): this {
    const { settings, output } = this.#run.profile;
    const maxOutputTokens = Number.isFinite(lease.outputCap) ? lease.outputCap : settings.maxOutputTokens;
    const outputSchema = this.#options.jsonOutput ? output?.jsonSchema : undefined;
    if (maxOutputTokens !== settings.maxOutputTokens || outputSchema !== undefined) {
      this.settings = { maxOutputTokens, outputSchema };
    }
    return this;
  }

  listener(): OnDelta {
    this.#attempt += 1;
    const attempt = this.#attempt;
    const run = this.#run;
    const { journal } = this.#ports;
    return (kind, text) => {
      if (attempt !== this.#attempt || run.scope.aborted) return;
      run.beats += 1;
      this.receivedBytes += utf8Length(text);
      if (kind === "text") run.text += text;
      if (journal.isWatched) journal.delta(run.who, { type: kind === "text" ? "text-delta" : "reasoning-delta", text });
    };
  }

  onRetry({ attempt, delayMs, error, usage, costUsd }: FailedAttempt): void {
    const { kind, message } = error;
    this.#run.text = "";
    this.#run.bill(usage, costUsd);
    this.#run.emit({ type: "retry", attempt, delayMs, kind, message, spent: usage, costUsd });
  }

  onWaste(usage: Usage, costUsd: number | null): void {
    this.#run.bill(usage, costUsd);
  }

  /** One per attempt, made only when the model asks for it. */
  get signal(): AbortSignal {
    this.#call ??= new Scope(this.#run.scope);
    return this.#call.signal;
  }

  onStop(listener: (reason: unknown) => void): void {
    this.#stop = listener;
    this.#run.scope.listen(listener);
  }

  endAttempt(): void {
    this.#attempt += 1;
    if (this.#stop !== undefined) this.#run.scope.unlisten(this.#stop);
    this.#call?.[Symbol.dispose]();
    this.#call = undefined;
    this.#stop = undefined;
  }
}

/** What a run keeps back for its last words: its next prompt and a short answer. */
export function lastWordsNeed(promptTokens: number, { price }: Pick<RunProfile, "price">): CallNeed {
  return { promptTokens, outputCap: LAST_WORDS_OUTPUT, minOutput: MIN_LAST_WORDS, price };
}

function callNeed({ conversation, profile }: Run): CallNeed {
  const outputCap = profile.settings.maxOutputTokens ?? METERED_OUTPUT;
  return {
    promptTokens: conversation.promptTokens,
    outputCap,
    minOutput: Math.min(MIN_OUTPUT, outputCap),
    price: profile.price,
  };
}

/** An ordinary turn keeps the reserve for last words in step with the history; a closing one spends it. */
function leaseFor(run: Run, need: CallNeed, { closing }: AskOptions): Lease | Promise<Lease> {
  const { account, scope } = run;
  if (!account.isMetered) return account.reserve(need, scope);
  return nowOrLater(closing ? lastLease(run, need) : ordinaryLease(run, need));
}

function* lastLease(run: Run, need: CallNeed): Steps<Lease> {
  const { account, lastWords, scope } = run;
  run.lastWords = undefined;
  using _reserve = lastWords;
  return (yield* wait(lastWords?.take(need))) ?? (yield* wait(account.reserve(need, scope)));
}

function* ordinaryLease(run: Run, need: CallNeed): Steps<Lease> {
  const { account, lastWords, conversation, profile, scope } = run;
  // The answer to come will be part of the last prompt too; a short one is assumed.
  const next = lastWordsNeed(conversation.promptTokens + LAST_WORDS_OUTPUT, profile);
  if (lastWords === undefined || (yield* wait(lastWords.resize(next))))
    return yield* wait(account.reserve(need, scope));
  // What is short now may come back from siblings; a reserve that cannot grow even then means: wrap up with what it holds.
  const lease = yield* wait(account.reserve(need, scope));
  if (yield* wait(lastWords.resize(next))) return lease;
  lease[Symbol.dispose]();
  // Throws, with the numbers of the limit that is short.
  (yield* wait(account.reserveWrapUp(next)))[Symbol.dispose]();
  return yield* wait(account.reserve(need, scope));
}

/** The reserve of a root. A budget too small even for last words shows at the first question, as an ending like any other. */
export function lastWordsIfPossible(run: Run): WrapUpLease | undefined | Promise<WrapUpLease | undefined> {
  return run.account.isMetered ? nowOrLater(lastWordsOf(run)) : undefined;
}

function* lastWordsOf({ account, conversation, profile }: Run): Steps<WrapUpLease | undefined> {
  try {
    return yield* wait(account.reserveWrapUp(lastWordsNeed(conversation.promptTokens, profile)));
  } catch (error) {
    if (error instanceof BudgetExceeded || error instanceof StoreError) return undefined;
    throw error;
  }
}
