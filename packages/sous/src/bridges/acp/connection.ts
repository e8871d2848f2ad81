/**
 * JSON-RPC with one started agent. Written here and not taken from the SDK, for four reasons: the SDK answers a line that is not
 * JSON, its requests have no deadline, its stable entry drops where agents put their usage, and one field of a wrong type
 * makes it refuse a whole message. So the client needs no code of the SDK when it runs.
 */

import { plainText } from "../../core/clean-text.ts";
import type { Clock } from "../../core/clock.ts";
import { ignore, ModelError } from "../../core/errors.ts";
import type { ProgramResult, TalkingProgram } from "../../core/process.ts";
import { parseMessage, type RequestId, type RpcError, type RpcMessage } from "./message.ts";

/** The answer of the agent was an error. */
export class AgentError extends Error {
  override name = "AgentError";
  readonly code: number;

  constructor({ code, message }: RpcError) {
    super(plainText(message));
    this.code = code;
  }
}

/** Answers the requests of the other side. A throw becomes an error as answer. */
export type Handler = {
  request(method: string, params: unknown): Promise<unknown>;
  notification(method: string, params: unknown): void;
};

/** Thrown by a handler: what the agent reads. */
export class Refusal extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
const INTERNAL_ERROR = -32603;
const TOO_MANY = -32000;

/** Max requests of an agent that wait for our answer: more is a flood. */
const MAX_WAITING = 64;

type Pending = { resolve(result: unknown): void; reject(error: unknown): void };

export type AgentConnectionOptions = {
  readonly serverName: string;
  readonly program: TalkingProgram;
  readonly clock: Clock;
};

export class AgentConnection {
  readonly serverName: string;
  readonly #program: TalkingProgram;
  readonly #clock: Clock;
  readonly #pending = new Map<number, Pending>();
  readonly #watchers = new Set<() => void>();
  #handler: Handler = NO_HANDLER;
  #lastId = 0;
  #waiting = 0;
  #sending: Promise<void> = Promise.resolve();
  #death: ModelError | undefined;
  /** It could not be sent a message. */
  #isDeaf = false;
  /** Resolves when nothing can come any more. */
  readonly closed: Promise<void>;

  constructor({ serverName, program, clock }: AgentConnectionOptions) {
    this.serverName = serverName;
    this.#program = program;
    this.#clock = clock;
    this.closed = this.#read();
  }

  get pid(): number {
    return this.#program.pid;
  }

  /** Lines that were too long. */
  get droppedLines(): number {
    return this.#program.droppedLines;
  }

  /** The reason why nothing can be asked any more. */
  get death(): ModelError | undefined {
    return this.#death;
  }

  /** True while the agent waits for an answer of ours: its silence is ours then. */
  get isWaitedFor(): boolean {
    return this.#waiting > 0;
  }

  setHandler(handler: Handler): void {
    this.#handler = handler;
  }

  /** Called at every message, until disposed. */
  onMessage(watcher: () => void): Disposable {
    this.#watchers.add(watcher);
    return { [Symbol.dispose]: () => void this.#watchers.delete(watcher) };
  }

  /** Rejects with an `AgentError`, or with a `ModelError` when the agent has ended or does not answer in time. */
  async request(method: string, params: unknown, deadlineMs: number): Promise<unknown> {
    const late = Promise.withResolvers<never>();
    using _ = this.#clock.timer(deadlineMs, () => late.reject(this.#late(method, deadlineMs)));
    return await Promise.race([this.ask(method, params), late.promise]);
  }

  /** Asks without a deadline. An answer that nothing waits for any more changes nothing: every request has an id of its own. */
  ask(method: string, params: unknown): Promise<unknown> {
    this.#lastId += 1;
    const id = this.#lastId;
    const answer = new Promise<unknown>((resolve, reject) => {
      if (this.#death === undefined) this.#pending.set(id, { resolve, reject });
      else reject(this.#death);
    });
    // The caller may have stopped to wait when it fails.
    answer.catch(ignore);
    this.#send({ jsonrpc: "2.0", id, method, params });
    return answer;
  }

  notify(method: string, params: unknown): void {
    this.#send({ jsonrpc: "2.0", method, params });
  }

  /** Ends the agent and everything it has started. Never rejects. */
  async close(): Promise<void> {
    this.#death ??= this.#error("was closed");
    await this.#program.close().catch(ignore);
    await this.closed;
  }

  async #read(): Promise<void> {
    try {
      for await (const line of this.#program.lines) {
        const message = parseMessage(line);
        if (message === undefined) continue;
        this.#receive(message);
        // An agent that asks and does not read the answers waits here, so that they do not pile up.
        if (this.#waiting >= MAX_WAITING) await this.#sending;
      }
    } catch {
      // A stream that cannot be read has ended: the result below says how.
    }
    // An agent that closed its output and stays cannot answer any more.
    const result = await this.#program.close().catch(() => undefined);
    this.#death ??= this.#deathOf(result);
    for (const { reject } of this.#pending.values()) reject(this.#death);
    this.#pending.clear();
  }

  #receive(message: RpcMessage): void {
    for (const watcher of [...this.#watchers]) watcher();
    switch (message.kind) {
      case "result":
        this.#take(message.id)?.resolve(message.result);
        break;
      case "error":
        this.#take(message.id)?.reject(new AgentError(message.error));
        break;
      case "notification":
        this.#notified(message.method, message.params);
        break;
      case "request":
        void this.#answer(message.id, message.method, message.params);
        break;
    }
  }

  /** Drops a notification that cannot be handled, such as one that is nested too deeply, like a line that is no message. */
  #notified(method: string, params: unknown): void {
    try {
      this.#handler.notification(method, params);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
    }
  }

  /** Each request is answered once: a second answer finds nothing here. */
  #take(id: number): Pending | undefined {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    return pending;
  }

  async #answer(id: RequestId, method: string, params: unknown): Promise<void> {
    if (this.#waiting >= MAX_WAITING) {
      this.#send({ jsonrpc: "2.0", id, error: { code: TOO_MANY, message: "Too many requests at once" } });
      return;
    }
    this.#waiting += 1;
    try {
      const result = await this.#handler.request(method, params);
      this.#send({ jsonrpc: "2.0", id, result });
    } catch (error) {
      // Only what was written for the agent: other errors may name paths and variables of ours.
      const { code, message } = error instanceof Refusal ? error : { code: INTERNAL_ERROR, message: "Internal error" };
      this.#send({ jsonrpc: "2.0", id, error: { code, message } });
    } finally {
      await this.#sending;
      this.#waiting -= 1;
    }
  }

  /** Sends messages in order. An agent that no longer reads can do nothing for us: its end answers everything that waits. */
  #send(message: object): void {
    const line = JSON.stringify(message);
    this.#sending = this.#sending.then(() => this.#program.send(line)).catch(() => this.#endDeaf());
  }

  async #endDeaf(): Promise<void> {
    this.#isDeaf = true;
    // The explanation may not be read yet: the reader says it when the program has ended.
    await this.#program.close().catch(ignore);
  }

  #late(method: string, deadlineMs: number): ModelError {
    const words = `did not answer ${method} within ${deadlineMs / 1000} seconds${this.#hints()}`;
    return this.#error(`${words}. Check that it can be used by itself`);
  }

  #deathOf(result: ProgramResult | undefined): ModelError {
    if (this.#isDeaf && result?.stopped !== undefined)
      return this.#error(`no longer reads its input, and was ended${this.#hints()}`);
    const how =
      result === undefined
        ? ""
        : result.exitCode === null
          ? ` by ${result.endedBy ?? "a signal"}`
          : ` with exit code ${result.exitCode}`;
    return this.#error(`ended${how}${this.#hints()}. Run sous acp check to see whether it starts`);
  }

  #error(words: string): ModelError {
    return new ModelError("unknown", `The agent server ${this.serverName} ${words}`);
  }

  /** Possible explanations: the last line of its standard error, and lines that could not be read. */
  #hints(): string {
    const { head, tail } = this.#program.errors();
    const last = lastLine(plainText(tail === "" ? head : tail));
    const dropped = this.droppedLines;
    return (last === "" ? "" : `; it said: ${last}`) + (dropped === 0 ? "" : `; ${dropped} lines were too long`);
  }
}

const NO_HANDLER: Handler = {
  request: (method) => Promise.reject(new Refusal(METHOD_NOT_FOUND, `Method not found: ${method}`)),
  notification: ignore,
};

const MAX_HINT = 200;

function lastLine(text: string): string {
  return (text.trimEnd().split("\n").at(-1) ?? "").trim().slice(0, MAX_HINT);
}
