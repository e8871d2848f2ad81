/** The life of one server: started when it is first needed, shared by all runs, restarted once, ended with the application. */

import { untilSignal } from "../../core/clock.ts";
import type { McpServer } from "../../core/configuration.ts";
import { messageOf, ToolFailure } from "../../core/errors.ts";
import { ConnectionLost, type McpCall, McpConnection } from "./connection.ts";
import type { McpGround } from "./ground.ts";

const MAX_DEATHS = 2;
const MAX_FAILED_STARTS = 2;

export class ServerLife implements AsyncDisposable {
  readonly server: McpServer;
  readonly #ground: McpGround;
  readonly #end = new AbortController();
  #connection: Promise<McpConnection> | undefined;
  #deaths = 0;
  #failedStarts = 0;
  #lastProblem = "";

  constructor(server: McpServer, ground: McpGround) {
    this.server = server;
    this.#ground = ground;
  }

  /** All who ask at once share one start. An aborted signal ends the wait, not the start: another may need it. */
  async connect(signal: AbortSignal): Promise<McpConnection> {
    signal.throwIfAborted();
    this.#checkMayStart();
    this.#connection ??= this.#start();
    return await untilSignal(this.#connection, signal);
  }

  async call(connection: McpConnection, call: McpCall): Promise<Record<string, unknown>> {
    try {
      return await connection.call(call);
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
      await connection.closed;
      const next = this.#deaths < MAX_DEATHS ? "The next call starts it again" : "It is not started again";
      throw new ToolFailure(`${error.message}. ${next}`);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort(new ToolFailure(`The MCP server ${this.server.name} was closed`));
    const connection = await this.#connection?.catch(() => undefined);
    await connection?.close();
  }

  #checkMayStart(): void {
    this.#end.signal.throwIfAborted();
    if (this.#connection !== undefined) return;
    const { name } = this.server;
    const why =
      this.#deaths >= MAX_DEATHS
        ? `The MCP server ${name} has ended twice and is not started again`
        : this.#failedStarts >= MAX_FAILED_STARTS
          ? `${this.#lastProblem}. It is not tried again`
          : undefined;
    if (why !== undefined) throw new ToolFailure(`${why}. Continue without its tools`);
  }

  async #start(): Promise<McpConnection> {
    try {
      const connection = await McpConnection.open(this.server, this.#ground, this.#end.signal);
      // The next run begins with what it offers now.
      await this.#ground.pins.noteSeen(this.server, connection.listed.definitions).catch(async (error: unknown) => {
        await connection.close();
        throw error;
      });
      void connection.closed.then(() => {
        this.#connection = undefined;
        if (!this.#end.signal.aborted) this.#deaths += 1;
      });
      return connection;
    } catch (error) {
      this.#connection = undefined;
      this.#failedStarts += 1;
      this.#lastProblem = messageOf(error);
      throw error;
    }
  }
}
