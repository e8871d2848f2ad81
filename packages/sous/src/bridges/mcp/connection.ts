/** One connection to a server: the handshake, its list of tools, and calls. Every wait has an end. */

import { pathToFileURL } from "node:url";
import type { Client, Progress } from "@modelcontextprotocol/client";
import { type Clock, untilSignal } from "../../core/clock.ts";
import type { McpServer } from "../../core/configuration.ts";
import { ignore, messageOf, ToolFailure } from "../../core/errors.ts";
import { isRecord } from "../../core/schema.ts";
import { ANY_RESULT, listTools, NO_LIMIT_MS, type ReadDefinitions, shownName } from "./definitions.ts";
import type { McpGround } from "./ground.ts";
import { type ClientSdk, loadClientSdk, type Way, waysTo } from "./transport.ts";
import { endWords, httpWords, stderrHint, tailOf, wordsOf } from "./words.ts";

/** The number of times a server may have its list read again. */
const MAX_RELISTS = 20;

/** The parameters of `tools/call`. */
export type McpCall = {
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly meta: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
};

/** The server ended, or the connection to it, while something was asked. */
export class ConnectionLost extends ToolFailure {
  override name = "ConnectionLost";
}

export class McpConnection {
  readonly listed: ReadDefinitions;
  readonly handshakeMs: number;
  readonly #opened: Opened;
  #relists = 0;

  private constructor(opened: Opened, listed: ReadDefinitions, handshakeMs: number) {
    this.#opened = opened;
    this.listed = listed;
    this.handshakeMs = handshakeMs;
  }

  /** Rejects with a `ToolFailure` that names the server or the reason of the signal. */
  static async open(server: McpServer, ground: McpGround, signal: AbortSignal): Promise<McpConnection> {
    const sdk = await loadClientSdk();
    const { clock, checkSchema = ignore } = ground;
    const begun = clock.monotonic();
    using limit = new TimeLimit(clock, server.startTimeoutMs, signal);
    let way: Way | undefined;
    try {
      const opened = await connect(server, ground, sdk, limit.signal);
      way = opened.way;
      const listed = await listTools(opened.client, server, checkSchema, limit.signal);
      const connection = new McpConnection(opened, listed, clock.monotonic() - begun);
      connection.#watchChanges();
      return connection;
    } catch (error) {
      await way?.transport.close().catch(ignore);
      signal.throwIfAborted();
      if (error instanceof StartFailure && !limit.isOver) throw error;
      const errors = error instanceof StartFailure ? error.stderr : way?.program?.errors;
      const late = limit.isOver ? `it did not answer within ${server.startTimeoutMs / 1000} seconds` : undefined;
      throw new StartFailure(server, late ?? wordsOf(error), errors);
    }
  }

  /** Resolves when nothing can be asked any more. */
  get closed(): Promise<void> {
    return this.#opened.closed;
  }

  /** The server's own name; unknown once it is closed. */
  get identity(): { serverName: string | undefined; version: string | undefined } {
    const { name, version } = this.#opened.client.getServerVersion() ?? {};
    return { serverName: name && shownName(name), version: version && shownName(version) };
  }

  get stderrTail(): string {
    return tailOf(this.#opened.way.program?.errors);
  }

  /** The result as it came. Rejects with a `ToolFailure` in words, or with the reason of the signal. */
  async call({ tool, input, meta, signal, onProgress }: McpCall): Promise<Record<string, unknown>> {
    const { server, ground, client } = this.#opened;
    const { callTimeoutMs: limitMs, name } = server;
    using limit = new TimeLimit(ground.clock, limitMs, signal);
    const params = { name: tool, arguments: input, ...(Object.keys(meta).length > 0 && { _meta: meta }) };
    const options = { signal: limit.signal, timeout: NO_LIMIT_MS, onprogress: onProgress };
    try {
      return await client.request({ method: "tools/call", params }, ANY_RESULT, options);
    } catch (error) {
      // Both have the same error in the SDK.
      signal.throwIfAborted();
      if (limit.isOver)
        throw new ToolFailure(
          `The MCP server ${name} did not finish ${shownName(tool)} within ${limitMs / 1000} seconds: the call was cancelled, and whether it had an effect is not known`,
        );
      if (this.#isLost(error)) throw new ConnectionLost(await this.#lossWords());
      throw new ToolFailure(`The MCP server ${name} could not run ${shownName(tool)}: ${failureWords(server, error)}`);
    }
  }

  /** Ends the server, if it is a program. Never rejects. */
  async close(): Promise<void> {
    const { client, way, ground } = this.#opened;
    if (way.endSession !== undefined) {
      const { promise, resolve } = Promise.withResolvers<void>();
      using _ = ground.clock.timer(GOODBYE_MS, resolve);
      await Promise.race([way.endSession().catch(ignore), promise]);
    }
    await client.close().catch(ignore);
    await way.transport.close().catch(ignore);
  }

  /** A server that forgot our session answers 404: nothing can be asked in it any more. */
  #isLost(error: unknown): boolean {
    const { client, way } = this.#opened;
    const code = isRecord(error) ? error.code : undefined;
    if (code === "CONNECTION_CLOSED" || code === "SEND_FAILED" || client.transport === undefined) return true;
    if (way.program !== undefined) return error instanceof ToolFailure;
    const status = isRecord(error) && isRecord(error.data) ? error.data.status : undefined;
    return status === 404;
  }

  async #lossWords(): Promise<string> {
    await this.close();
    const { server, way } = this.#opened;
    const how = endWords(way) ?? "lost our session";
    return `The MCP server ${server.name} ${how} during the call${stderrHint(way.program?.errors)}; whether the call had an effect is not known`;
  }

  /** Only what was seen last is noted: a run that is under way keeps the definitions it began with. */
  #watchChanges(): void {
    this.#opened.client.setNotificationHandler("notifications/tools/list_changed", () => {
      if (this.#relists >= MAX_RELISTS) return;
      this.#relists += 1;
      void this.#noteChange().catch(ignore);
    });
  }

  async #noteChange(): Promise<void> {
    // The controller is made here: some runtimes allow none while a module is loaded.
    const never = new AbortController().signal;
    const { server, client, ground } = this.#opened;
    const { clock, pins, checkSchema = ignore } = ground;
    using limit = new TimeLimit(clock, server.startTimeoutMs, never);
    const { definitions } = await listTools(client, server, checkSchema, limit.signal);
    await pins.noteSeen(server, definitions);
  }
}

const GOODBYE_MS = 1000;

/** A server that could not be started or reached, or has no list of tools. */
export class StartFailure extends ToolFailure {
  override name = "StartFailure";
  /** The text that the program wrote to standard error. */
  readonly stderr: string;

  constructor(server: McpServer, why: string, stderr = "") {
    const isProgram = server.transport.type === "stdio";
    super(
      `The MCP server ${server.name} could not be ${isProgram ? "started" : "reached"}: ${why}${stderrHint(stderr)}`,
    );
    this.stderr = stderr;
  }
}

type Opened = { server: McpServer; ground: McpGround; client: Client; way: Way; closed: Promise<void> };

/** Takes the first way that works. Another one is tried only where the server says that it does not know the first. */
async function connect(server: McpServer, ground: McpGround, sdk: ClientSdk, signal: AbortSignal): Promise<Opened> {
  const ways = waysTo(server, ground, sdk);
  let first: unknown;
  for (const [index, make] of ways.entries()) {
    const way = make();
    const client = new sdk.Client({ name: "sous", version: "1" }, { capabilities: { roots: {} } });
    client.onerror = ignore;
    client.setRequestHandler("roots/list", () => ({
      roots: [{ uri: pathToFileURL(ground.cwd).href, name: "workspace" }],
    }));
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    client.onclose = resolve;
    try {
      signal.throwIfAborted();
      // Not every step of a connection listens to the signal.
      await untilSignal(client.connect(way.transport, { signal, timeout: NO_LIMIT_MS }), signal);
      return { server, ground, client, way, closed };
    } catch (error) {
      const status = statusOf(error);
      // A server that we end did not end by itself. A program that no longer reads is about to.
      const isEnding = !signal.aborted && (way.program?.result !== undefined || error instanceof ToolFailure);
      const saidBefore = way.program?.errors;
      await client.close().catch(ignore);
      await way.transport.close().catch(ignore);
      if (isUnknownThere(status) && index + 1 < ways.length) {
        first = error;
        continue;
      }
      // A server that knows neither way is asked for the first one: what it said to that helps more.
      const cause = first !== undefined && isUnknownThere(status) ? first : error;
      const ended = isEnding && way.program?.result?.stopped === undefined ? endWords(way) : undefined;
      const why = ended === undefined ? failureWords(server, cause) : `it ${ended}`;
      // The words of a program that is being ended are not the reason.
      throw new StartFailure(server, why, isEnding ? way.program?.errors : saidBefore);
    }
  }
  throw new Error("Unreachable: there is always a way to try");
}

/** Access and limits: a server that answers so knows what was asked. */
const KNOWN_THERE: ReadonlySet<number> = new Set([401, 402, 403, 407, 408, 425, 429]);

function isUnknownThere(status: number | undefined): boolean {
  return status !== undefined && status >= 400 && status < 500 && !KNOWN_THERE.has(status);
}

function failureWords({ transport }: McpServer, error: unknown): string {
  const status = transport.type === "stdio" ? undefined : statusOf(error);
  return transport.type === "stdio" ? wordsOf(error) : httpWords(new URL(transport.url).host, status, error);
}

function statusOf(error: unknown): number | undefined {
  if (!isRecord(error)) return undefined;
  const found = (isRecord(error.data) ? error.data.status : undefined) ?? error.code;
  if (typeof found === "number" && found >= 100 && found < 600) return found;
  const [, written] = /(?:status code|HTTP) \(?([1-5][0-9]{2})/.exec(messageOf(error)) ?? [];
  return written === undefined ? undefined : Number(written);
}

/** A signal that aborts with its parent, or when the time is over. */
class TimeLimit implements Disposable {
  isOver = false;
  readonly #controller = new AbortController();
  readonly #parent: AbortSignal;
  readonly #timer: Disposable;
  // The reason that the server is given.
  readonly #onAbort = (): void => this.#controller.abort("cancelled");

  constructor(clock: Clock, limitMs: number, parent: AbortSignal) {
    this.#parent = parent;
    if (parent.aborted) this.#onAbort();
    parent.addEventListener("abort", this.#onAbort, { once: true });
    this.#timer = clock.timer(limitMs, () => {
      this.isOver = true;
      this.#controller.abort("the time limit was reached");
    });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  [Symbol.dispose](): void {
    this.#timer[Symbol.dispose]();
    this.#parent.removeEventListener("abort", this.#onAbort);
  }
}
