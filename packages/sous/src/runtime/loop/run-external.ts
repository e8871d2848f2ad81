/**
 * The work of a run whose agent is external. There is no loop: a session is opened, each message is one prompt,
 * and the agent acts by itself until it has answered. It is never asked again for an answer, a summary or last words.
 */

import { BudgetExceeded, ModelError, messageOf } from "../../core/errors.ts";
import {
  type ExternalAgent,
  type ExternalAnswer,
  type ExternalSession,
  SessionLost,
} from "../../core/external-agent.ts";
import type { Budget } from "../../core/limits.ts";
import { type Message, textOf } from "../../core/message.ts";
import type { Run } from "../../core/run.ts";
import { Scope } from "../../core/scope.ts";
import { noUsage } from "../../core/usage.ts";
import { budgetEnding, cancelledEnding, cancelledSentence, type Ending, OUT_OF_TURNS } from "./ending.ts";
import { billedUsage, endingAfter, FINISHES, failed, tokensIn, toModelError, unknownUsage } from "./external-ending.ts";
import { allowanceOf, ExternalFunds, externalNeed, type Reported } from "./external-funds.ts";
import { RunHost } from "./external-host.ts";
import { notify, readInbox } from "./inbox.ts";
import type { RunState } from "./run-state.ts";

type ExternalWork = {
  readonly agent: ExternalAgent;
  /** The session that the agent of this run had last. */
  readonly sessionId: string | undefined;
  /** This run before a restart. */
  readonly earlier: RunState | undefined;
  /** The part of the budget that is for this agent alone. */
  readonly share: Budget | undefined;
  /** The session is open, and recorded. */
  onSession(sessionId: string): void;
};

/** The longest wait for an agent that was told to stop, beyond what its session allows it. */
const MAX_STOP_MS = 15_000;

export async function runExternal(run: Run, work: ExternalWork): Promise<Ending> {
  const { earlier } = work;
  // It had answered, and only the end was missing.
  if (earlier?.answer !== undefined) return endingAfter(run, earlier.answer.finish, earlier.lacksApproval);
  const wasInterrupted = earlier?.external?.isPrompted === true;
  if (wasInterrupted) notify(run, "interrupted");
  const conversation = new ExternalConversation(run, work);
  try {
    const lost = await conversation.open(wasInterrupted);
    if (lost !== undefined) return lost;
    for (;;) {
      const ending = await conversation.prompt(wasInterrupted && run.turns === earlier?.turns);
      if (ending !== undefined) return ending;
    }
  } catch (error) {
    return conversation.stoppedBy(error);
  } finally {
    await conversation.close();
  }
}

class ExternalConversation {
  readonly #run: Run;
  readonly #work: ExternalWork;
  readonly #host: RunHost;
  #session: ExternalSession | undefined;
  #funds: ExternalFunds | undefined;
  #reported: Reported = { tokens: undefined, costUsd: undefined };
  /** Aborts with the run's work; for other reasons the run itself continues to its end. */
  #prompting: Scope | undefined;

  constructor(run: Run, work: ExternalWork) {
    this.#run = run;
    this.#work = work;
    this.#host = new RunHost(run, {
      onUsage: (spent) => void this.#check(spent),
      onTooMuch: () => this.#prompting?.abort(new ModelError("unknown", `${this.#name} says more than can be kept`)),
    });
  }

  get #name(): string {
    return this.#run.profile.model.id;
  }

  /** The ending when there is nothing to talk to. */
  async open(wasInterrupted: boolean): Promise<Ending | undefined> {
    const run = this.#run;
    const { agent, sessionId, onSession } = this.#work;
    const isFollowUp = run.conversation.messages.some(({ role }) => role === "assistant");
    await this.#reserve();
    run.waitingFor = `${this.#name} to start`;
    let opened: ExternalSession;
    try {
      opened = await this.#open(agent, sessionId);
    } catch (error) {
      if (!(error instanceof SessionLost)) throw error;
      if (wasInterrupted) return failed(`Outcome unknown: ${this.#name} was interrupted at its work, and ${LOST}`);
      if (isFollowUp) return failed(`${this.#name} cannot be sent another message: ${error.message}. Start another.`);
      // Nothing was said in it.
      opened = await this.#open(agent, undefined);
    }
    this.#session = opened;
    const continued = opened.id === sessionId;
    run.emit({ type: "outside-session", server: agent.serverName, sessionId: opened.id, continued });
    onSession(opened.id);
    return undefined;
  }

  async #open(agent: ExternalAgent, sessionId: string | undefined): Promise<ExternalSession> {
    const { work, tree } = this.#run;
    await tree.settled();
    work.throwIfAborted();
    using scope = new Scope(work);
    const request = {
      cwd: tree.cwd,
      sessionId,
      allowance: allowanceOf(this.#run, agent, this.#funds),
      trace: tree.traceOf(this.#run),
      signal: scope.signal,
    };
    try {
      return await agent.open(request, this.#host);
    } catch (error) {
      work.throwIfAborted();
      if (error instanceof SessionLost || error instanceof ModelError) throw error;
      throw new ModelError("unknown", `${this.#name} could not be started: ${messageOf(error)}`, { cause: error });
    }
  }

  /** One message and its answer. Undefined when another message has arrived meanwhile. */
  async prompt(isContinued: boolean): Promise<Ending | undefined> {
    const run = this.#run;
    if (run.turns >= run.profile.maxTurns) return OUT_OF_TURNS;
    const text = isContinued ? lastText(run.conversation.messages) : this.#unsaid();
    if (this.#funds === undefined) await this.#reserve();
    const funds = this.#funds;
    if (funds === undefined) throw new Error("Unreachable: a prompt without a reservation");
    const promptTokens = tokensIn(text);
    const { maxCostUsd } = this.#work.agent;
    run.work.throwIfAborted();
    run.turns += 1;
    run.waitingFor = this.#name;
    this.#host.begin();
    this.#reported = { tokens: undefined, costUsd: undefined };
    run.emit({
      type: "turn-start",
      turn: run.turns,
      promptTokens,
      reserved: Number.isFinite(funds.tokens) ? funds.tokens : 0,
      ...(maxCostUsd !== undefined && { reservedUsd: maxCostUsd }),
    });
    await run.tree.settled(); // guard: store-before-prompt
    const answer = await this.#ask(text);
    this.#bill(answer, promptTokens, funds);
    if (answer.error !== undefined) throw answer.error;
    readInbox(run);
    return run.conversation.messages.at(-1)?.role === "user"
      ? undefined
      : endingAfter(run, FINISHES[answer.stop], this.#host.wasRefused);
  }

  async close(): Promise<void> {
    this.#host[Symbol.dispose]();
    this.#funds?.[Symbol.dispose]();
    const session = this.#session;
    if (session !== undefined) await this.#notForEver(session.close());
  }

  /** Sends the prompt. A stop is an answer too, with what is known of its bill. */
  async #ask(text: string): Promise<Answered> {
    const run = this.#run;
    const session = this.#session;
    if (session === undefined) throw new Error("Unreachable: a prompt without a session");
    using scope = new Scope(run.work);
    this.#prompting = scope;
    const onIncoming = run.onIncoming;
    // An external agent that is asked to wrap up keeps what it has said; it is not asked for last words.
    run.onIncoming = () => {
      if (run.isWrappingUp) scope.abort(new WrappedUp());
    };
    run.onIncoming();
    try {
      if (scope.aborted) return { ...NOTHING_SENT, error: scope.reason };
      const answering = session.prompt(text, scope.signal);
      const answer = await this.#untilStopped(answering, scope);
      return { ...answer, error: scope.aborted ? scope.reason : undefined };
    } catch (error) {
      return { ...NOTHING_KNOWN, error: scope.aborted ? scope.reason : toModelError(error, this.#name) };
    } finally {
      run.onIncoming = onIncoming;
      this.#prompting = undefined;
    }
  }

  /** The session ends an agent that does not stop; this is for one whose session does not end either. */
  async #untilStopped(answering: Promise<ExternalAnswer>, scope: Scope): Promise<ExternalAnswer> {
    const late = Promise.withResolvers<ExternalAnswer>();
    let timer: Disposable | undefined;
    using _abort = scope.onAbort(() => {
      timer = this.#run.tree.clock.timer(MAX_STOP_MS, () => late.resolve(NOTHING_KNOWN));
    });
    try {
      return await Promise.race([answering, late.promise]);
    } finally {
      timer?.[Symbol.dispose]();
    }
  }

  async #notForEver(work: Promise<void>): Promise<void> {
    const late = Promise.withResolvers<void>();
    using _timer = this.#run.tree.clock.timer(MAX_STOP_MS, late.resolve);
    await Promise.race([work.catch(() => {}), late.promise]);
  }

  async #reserve(): Promise<void> {
    const run = this.#run;
    const { agent, share } = this.#work;
    const need = externalNeed(tokensIn(this.#unsaid()), agent, share, run.account.left());
    this.#funds = await ExternalFunds.reserve(run, need, (limit) => run.tree.waitForBudget(run, limit));
  }

  /** Covers what the agent reports while it runs, or stops it. */
  async #check(spent: Reported): Promise<void> {
    this.#reported = spent;
    const prompting = this.#prompting;
    let exceeded: unknown;
    try {
      exceeded = await this.#funds?.cover(spent);
    } catch (error) {
      exceeded = error;
    }
    if (exceeded !== undefined) prompting?.abort(exceeded);
  }

  /** Records the answer and its bill. What is unknown is not free: then it is what was reserved. */
  #bill({ stop, usage, costUsd }: Answered, promptTokens: number, funds: ExternalFunds): void {
    const run = this.#run;
    const text = this.#host.finish();
    const { agent } = this.#work;
    const spent = billedUsage(usage, unknownUsage(this.#reported.tokens, promptTokens, funds.tokens, text));
    const cost = costUsd ?? this.#reported.costUsd ?? agent.maxCostUsd ?? null;
    funds.settle(spent.totalTokens, cost);
    funds[Symbol.dispose]();
    this.#funds = undefined;
    const message = { role: "assistant", content: [{ type: "text", text }] } as const;
    run.bill(spent, cost);
    run.hasAnswered = true;
    run.conversation.addAnswer(message, undefined);
    run.emit({ type: "message-end", turn: run.turns, message, finish: FINISHES[stop], usage: spent, costUsd: cost });
  }

  /** Makes the ending without the last words that another run would be asked for. Throws what is not an ending of its own. */
  stoppedBy(error: unknown): Ending {
    const run = this.#run;
    if (error instanceof BudgetExceeded && !run.scope.aborted) {
      run.emit({ type: "budget-warning", message: error.message });
      return budgetEnding(error.message);
    }
    if (error instanceof WrappedUp && !run.scope.aborted)
      return cancelledEnding(`${cancelledSentence(run)} at its work`);
    throw error;
  }

  /** Everything the agent has not been told yet: all since its last answer, and before its first one who it is. */
  #unsaid(): string {
    const { conversation, profile } = this.#run;
    const { messages } = conversation;
    const last = messages.findLastIndex(({ role }) => role === "assistant");
    const unsaid = messages.slice(last + 1).map(textIn);
    const { instructions } = profile;
    return (last === -1 && instructions !== undefined ? [instructions, ...unsaid] : unsaid).join("\n\n");
  }
}

type Answered = ExternalAnswer & { readonly error: unknown };

const LOST =
  "its session cannot be continued. Look at what it has done before you hand the task to another, which would begin again.";

const NOTHING_SENT: ExternalAnswer = { stop: "cancelled", usage: noUsage(), costUsd: 0 };
const NOTHING_KNOWN: ExternalAnswer = { stop: "cancelled", usage: undefined, costUsd: undefined };

/** The run was asked to wrap up. */
class WrappedUp extends Error {}

function textIn(message: Message): string {
  return textOf(message as { content: readonly { type: string; text?: string }[] });
}

function lastText(messages: readonly Message[]): string {
  const last = messages.at(-1);
  return last === undefined ? "" : textIn(last);
}
