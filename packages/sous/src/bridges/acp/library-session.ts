/** A session for code: its prompts are answered with a text, or with the pieces as they come. */

import { addAbortListener } from "node:events";
import { ignore, ModelError } from "../../core/errors.ts";
import type { ExternalAction, ExternalAnswer, ExternalCall } from "../../core/external-agent.ts";
import type { Usage } from "../../core/usage.ts";
import type { StartedAgent } from "./agent.ts";
import { type AcpSession, openSession, type SessionHost } from "./session.ts";

/** The result of a prompt. */
export type AcpResult = {
  readonly content: string;
  /** The agent's own name. */
  readonly agentId: string;
  readonly serverName: string;
  readonly sessionId: string;
  /** The end of the turn: an answer that is not `done` is not complete. */
  readonly stop: ExternalAnswer["stop"];
  /** Undefined when the agent did not say. */
  readonly usage?: Usage | undefined;
  readonly costUsd?: number | undefined;
};

/** A piece of an answer, as it comes. The last one holds the result. */
export type AcpPiece =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "thought"; readonly text: string }
  | { readonly type: "plan"; readonly steps: readonly string[] }
  | { readonly type: "call"; readonly call: ExternalCall }
  | { readonly type: "result"; readonly result: AcpResult };

/** A question of an agent, and whose it is. */
export type AcpQuestion = ExternalAction & { readonly serverName: string; readonly sessionId: string };

/** `deny` refuses every question, and is the default. A function that throws denies, too. */
export type AcpPermissionPolicy = "deny" | "allow" | ((question: AcpQuestion) => boolean | Promise<boolean>);

type LibraryOpening = {
  readonly agent: StartedAgent;
  readonly cwd: string;
  readonly sessionId?: string | undefined;
  /** Called at each question: the policy may be changed meanwhile. */
  policy(): AcpPermissionPolicy;
};

export class LibrarySession {
  readonly cwd: string;
  readonly #session: AcpSession;
  readonly #pieces: PieceSink;

  private constructor(session: AcpSession, cwd: string, pieces: PieceSink) {
    this.#session = session;
    this.cwd = cwd;
    this.#pieces = pieces;
  }

  static async open({ agent, cwd, sessionId, policy }: LibraryOpening): Promise<LibrarySession> {
    const pieces: PieceSink = { onPiece: () => {} };
    let id = sessionId ?? "";
    const host: SessionHost = {
      onText: (text) => pieces.onPiece({ type: "text", text }),
      onThought: (text) => pieces.onPiece({ type: "thought", text }),
      onPlan: (steps) => pieces.onPiece({ type: "plan", steps }),
      onCall: (call) => pieces.onPiece({ type: "call", call }),
      onUsage: () => {},
      approve: (action) => decide(policy(), { ...action, serverName: agent.server.name, sessionId: id }),
    };
    const session = await openSession({ agent, cwd, sessionId, host, ownsAgent: false });
    id = session.id;
    return new LibrarySession(session, cwd, pieces);
  }

  get id(): string {
    return this.#session.id;
  }

  get agent(): StartedAgent {
    return this.#session.agent;
  }

  /** The server's time limit holds for it. */
  async prompt(text: string, onPiece: (piece: AcpPiece) => void, signal: AbortSignal | undefined): Promise<AcpResult> {
    const { clock, server, name } = this.agent;
    const texts: string[] = [];
    let isLate = false;
    const stop = new AbortController();
    signal?.throwIfAborted();
    // The pieces of a prompt that is at work stay its own.
    this.#session.checkFree();
    using _link = signal && addAbortListener(signal, () => stop.abort(signal.reason));
    using _timer = clock.timer(server.timeoutMs, () => {
      isLate = true;
      stop.abort();
    });
    this.#pieces.onPiece = (piece) => {
      if (piece.type === "text") texts.push(piece.text);
      onPiece(piece);
    };
    const { stop: ending, usage, costUsd } = await this.#session.prompt(text, stop.signal);
    if (isLate) {
      const words = `did not end its turn within ${server.timeoutMs / 1000} seconds, its time limit, and was cancelled`;
      throw new ModelError("unknown", `The agent server ${server.name} ${words}`, { afterOutput: true });
    }
    const content = texts.join("");
    return { content, agentId: name, serverName: server.name, sessionId: this.id, stop: ending, usage, costUsd };
  }

  setMode(mode: string): Promise<void> {
    return this.#session.setMode(mode);
  }

  setModel(model: string): Promise<void> {
    return this.#session.setModel(model);
  }

  close(): Promise<void> {
    return this.#session.close();
  }
}

type PieceSink = { onPiece(piece: AcpPiece): void };

async function decide(policy: AcpPermissionPolicy, question: AcpQuestion): Promise<boolean> {
  if (typeof policy === "string") return policy === "allow";
  return (await policy(question)) === true;
}

type Work = (onPiece: (piece: AcpPiece) => void, signal: AbortSignal) => Promise<AcpResult>;

/** A reader that stops early cancels the prompt. The size of what one prompt can send is bounded, so what a slow reader has not read yet is, too. */
export async function* iteratePieces(work: Work, signal: AbortSignal | undefined): AsyncGenerator<AcpPiece, void> {
  const stop = new AbortController();
  using _link = signal && addAbortListener(signal, () => stop.abort(signal.reason));
  const waiting: AcpPiece[] = [];
  let wake: () => void = ignore;
  let isOver = false;
  const result = work((piece) => {
    waiting.push(piece);
    wake();
  }, stop.signal);
  const end = (): void => {
    isOver = true;
    wake();
  };
  result.then(end, end);
  try {
    while (true) {
      const piece = waiting.shift();
      if (piece !== undefined) yield piece;
      else if (isOver) break;
      else {
        const { promise, resolve } = Promise.withResolvers<void>();
        wake = resolve;
        await promise;
      }
    }
    yield { type: "result", result: await result };
  } finally {
    stop.abort();
    await result.catch(ignore);
  }
}
