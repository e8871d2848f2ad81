/** One prompt that an agent works on: until it answers, is silent for too long, or does not stop when it is cancelled. */

import { addAbortListener } from "node:events";
import { ignore, ModelError } from "../../core/errors.ts";
import type { ExternalAnswer } from "../../core/external-agent.ts";
import type { Activity } from "./activity.ts";
import type { StartedAgent } from "./agent.ts";

export class Turn {
  readonly activity: Activity;
  readonly #agent: StartedAgent;
  readonly #sessionId: string;
  readonly #cancelled = Promise.withResolvers<void>();
  #isCancelled = false;
  #failure: ModelError | undefined;
  #startGrace: () => void = ignore;

  constructor(agent: StartedAgent, sessionId: string, activity: Activity) {
    this.#agent = agent;
    this.#sessionId = sessionId;
    this.activity = activity;
  }

  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  /** Resolves when the turn is cancelled, if it ever is. */
  get cancelled(): Promise<void> {
    return this.#cancelled.promise;
  }

  /** The reason why we stopped it, if that is a fault of the agent. */
  get failure(): ModelError | undefined {
    return this.#failure;
  }

  /** Asks the agent to stop; it has a grace to answer its prompt. */
  cancel(failure?: ModelError): void {
    if (this.#isCancelled) return;
    this.#isCancelled = true;
    this.#failure = failure;
    this.#agent.connection.notify("session/cancel", { sessionId: this.#sessionId });
    this.#startGrace();
    this.#cancelled.resolve();
  }

  /** The agent's answer to the prompt. `onGivenUp` is called before it rejects because no answer is waited for any more. */
  async answer(text: string, signal: AbortSignal, onGivenUp: (late: Promise<unknown>) => void): Promise<unknown> {
    const { connection, clock, deadlines, server, meta } = this.#agent;
    const prompt = [{ type: "text", text }];
    const asked = connection.ask("session/prompt", { sessionId: this.#sessionId, prompt, ...meta });
    const result = Promise.withResolvers<unknown>();
    asked.then(result.resolve, result.reject);
    const giveUp = (why: string): void => {
      onGivenUp(asked);
      result.reject(new ModelError("unknown", `The agent server ${server.name} ${why}`, { afterOutput: true }));
    };
    let silence: Disposable | undefined;
    const listen = (): void => {
      silence?.[Symbol.dispose]();
      silence = clock.timer(deadlines.silenceMs, () => {
        // It waits for our answer, perhaps for a person: that is no silence of the agent.
        if (connection.isWaitedFor) listen();
        else giveUp(`sent nothing for ${deadlines.silenceMs / 1000} seconds, and was stopped`);
      });
    };
    let grace: Disposable | undefined;
    this.#startGrace = () => {
      const why = `did not stop within ${deadlines.graceMs / 1000} seconds after it was cancelled, and was ended`;
      grace = clock.timer(deadlines.graceMs, () => giveUp(why));
    };
    using _watching = connection.onMessage(listen);
    listen();
    using _cancel = addAbortListener(signal, () => this.cancel());
    try {
      return await result.promise;
    } finally {
      this.#startGrace = ignore;
      silence?.[Symbol.dispose]();
      grace?.[Symbol.dispose]();
    }
  }
}

/** Reasons that are not known count as done: the agent has ended its turn. */
export function stopOf(reason: string): ExternalAnswer["stop"] {
  switch (reason) {
    case "refusal":
      return "refused";
    case "max_tokens":
      return "length";
    case "max_turn_requests":
      return "turns";
    case "cancelled":
      return "cancelled";
    default:
      return "done";
  }
}
