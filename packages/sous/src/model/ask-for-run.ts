/** A run's question to its model: what it needs, how it is paid, and what the tree hears of it. */

import type { Clock, Random } from "../core/clock.ts";
import { BudgetExceeded } from "../core/errors.ts";
import type { Journal } from "../core/journal.ts";
import type { CallNeed, Lease, WrapUpLease } from "../core/limits.ts";
import type { AskOptions, BilledAnswer, Run, RunProfile } from "../core/run.ts";
import { askModel } from "./ask.ts";
import { governorOf } from "./governor.ts";

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
const MAX_RETRIES = 4;

/** One question: a lease and a slot for each attempt, the turn recorded before the first. */
export function askForRun(run: Run, options: AskOptions, ports: AskPorts): Promise<BilledAnswer> {
  const { journal, clock, random } = ports;
  const { profile, conversation, who } = run;
  const need = options.closing ? lastWordsNeed(conversation.promptTokens, profile) : callNeed(run);
  const request = {
    instructions: profile.instructions,
    messages: conversation.messages,
    tools: profile.tools.definitions,
    mayCallTools: !options.closing,
    settings: {
      maxOutputTokens: profile.maxOutputTokens,
      outputSchema: options.jsonOutput ? profile.output?.jsonSchema : undefined,
    },
    caller: { runId: who.runId, agentId: who.agentId, path: who.path, depth: who.depth, turn: run.turns },
  };
  run.waitingFor = "the model";
  return askModel(request, {
    model: profile.model,
    governor: governorOf(profile.model, clock, ports.callsAtOnce),
    need,
    lease: (wanted) => leaseFor(run, wanted, options),
    scope: run.scope,
    clock,
    random,
    maxRetries: MAX_RETRIES,
    onReady: (lease) => {
      const reserved = Number.isFinite(lease.outputCap) ? need.promptTokens + lease.outputCap : 0;
      run.emit({ type: "turn-start", turn: run.turns, promptTokens: need.promptTokens, reserved });
      return journal.settled();
    },
    onDelta: (kind, text) => {
      run.beats += 1;
      if (kind === "text") run.text += text;
      if (journal.isWatched) journal.delta(who, { type: kind === "text" ? "text-delta" : "reasoning-delta", text });
    },
    onRetry: ({ attempt, delayMs, error, usage, costUsd }) => {
      run.text = "";
      run.bill(usage, costUsd);
      const { kind, message } = error;
      run.emit({ type: "retry", attempt, delayMs, kind, message, spent: usage, costUsd });
    },
    onWaste: (usage, costUsd) => run.bill(usage, costUsd),
  });
}

/** What a run keeps back for its last words: its next prompt and a short answer. */
export function lastWordsNeed(promptTokens: number, { price }: Pick<RunProfile, "price">): CallNeed {
  return { promptTokens, outputCap: LAST_WORDS_OUTPUT, minOutput: MIN_LAST_WORDS, price };
}

function callNeed({ conversation, profile }: Run): CallNeed {
  const outputCap = profile.maxOutputTokens ?? METERED_OUTPUT;
  return {
    promptTokens: conversation.promptTokens,
    outputCap,
    minOutput: Math.min(MIN_OUTPUT, outputCap),
    price: profile.price,
  };
}

/** An ordinary turn keeps the reserve for last words in step with the history; a closing one spends it. */
function leaseFor(run: Run, need: CallNeed, { closing }: AskOptions): Lease | Promise<Lease> {
  const { account, lastWords, conversation, profile } = run;
  if (!account.isMetered) return account.reserve(need, run.scope);
  if (closing) {
    const lease = lastWords?.take(need);
    lastWords?.[Symbol.dispose]();
    run.lastWords = undefined;
    return lease ?? account.reserve(need, run.scope);
  }
  // The answer to come will be part of the last prompt too; a short one is assumed.
  const next = lastWordsNeed(conversation.promptTokens + LAST_WORDS_OUTPUT, profile);
  if (lastWords === undefined || lastWords.resize(next)) return account.reserve(need, run.scope);
  return afterSiblings(run, need, next);
}

/** What is short now may come back from siblings; a reserve that cannot grow even then means: wrap up with what it holds. */
async function afterSiblings({ account, lastWords, scope }: Run, need: CallNeed, next: CallNeed): Promise<Lease> {
  const lease = await account.reserve(need, scope);
  if (lastWords?.resize(next)) return lease;
  lease[Symbol.dispose]();
  // Throws, with the numbers of the limit that is short.
  account.reserveWrapUp(next)[Symbol.dispose]();
  return account.reserve(need, scope);
}

/** The reserve of a run that is about to start. Waits for siblings' calls like any reservation. */
export function reserveLastWords(run: Run): WrapUpLease | Promise<WrapUpLease> {
  const need = lastWordsNeed(run.conversation.promptTokens, run.profile);
  try {
    return run.account.reserveWrapUp(need);
  } catch (error) {
    if (!(error instanceof BudgetExceeded)) throw error;
    return afterCalls(run, need);
  }
}

async function afterCalls({ account, scope }: Run, need: CallNeed): Promise<WrapUpLease> {
  for (;;) {
    // Throws when nothing in flight could release enough.
    const lease = await account.reserve({ ...need, outputCap: need.minOutput }, scope);
    lease[Symbol.dispose]();
    try {
      return account.reserveWrapUp(need);
    } catch (error) {
      if (!(error instanceof BudgetExceeded)) throw error;
    }
  }
}
