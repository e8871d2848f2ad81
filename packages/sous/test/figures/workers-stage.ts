/** A Postgres server, a provider and worker processes, and this process, which submits trees to them and judges what is left. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Client } from "pg";
import { agent } from "../../src/core/agent.ts";
import type { RunResult } from "../../src/core/runtime.ts";
import { storeEngine } from "../../src/runtime/tree/placing/store-engine.ts";
import type { SubmittedRun } from "../../src/runtime/tree/placing/submit.ts";
import { createRuntime } from "../../src/runtime.ts";
import { openPostgresStore, type PostgresStore } from "../../src/storage/store/postgres/store.ts";
import { type PostgresServer, startPostgresServer } from "../support/storage/store/postgres-server.ts";
import { bundleWorker } from "./kill-process.ts";
import { WorkerHand } from "./workers-hand.ts";
import { agentsOf, type ToolTrace, WIDE, type WorkersOrder } from "./workers-process.ts";
import { startWorkersProvider, type WorkersProvider } from "./workers-provider.ts";
import { type Shape, taskOf } from "./workers-script.ts";

export type StageOptions = {
  /** Of one answer of the model. */
  readonly delayMs: () => number;
  /** Of one tool call. */
  readonly toolMs: number;
  readonly places: number;
  /** Connections of each process. */
  readonly maxConnections?: number;
  /** Tokens of every prompt, where they are to be few; else the number of its request. */
  readonly promptTokens?: number;
  /** Tokens that each lead may spend, with all below it. */
  readonly share?: number | undefined;
  /** A server that others use, too, each in a schema of its own; one of its own when unset. */
  readonly on?: { readonly server: PostgresServer; readonly schema: string };
};

/** The longest time that a server that was killed takes to answer again. */
const SERVER_BACK_MS = 20_000;

export class WorkersStage implements AsyncDisposable {
  readonly server: PostgresServer;
  readonly provider: WorkersProvider;
  readonly store: PostgresStore;
  readonly folder: string;
  workers: WorkerHand[] = [];
  readonly #options: StageOptions;
  readonly #program: string;
  #spare: WorkerHand;
  #started = 0;

  private constructor(parts: {
    server: PostgresServer;
    provider: WorkersProvider;
    store: PostgresStore;
    options: StageOptions;
    program: string;
  }) {
    this.server = parts.server;
    this.provider = parts.provider;
    this.store = parts.store;
    this.#options = parts.options;
    this.#program = parts.program;
    this.folder = mkdtempSync(join(tmpdir(), "sous-placed-"));
    writeFileSync(this.#log, "");
    this.#spare = new WorkerHand(parts.program);
  }

  static async open(options: StageOptions): Promise<WorkersStage> {
    const { on } = options;
    const starting = on?.server ?? startPostgresServer();
    const [server, program] = await Promise.all([starting, bundleWorker("workers-process.ts")]);
    const provider = await startWorkersProvider(options.delayMs, options.promptTokens);
    const { maxConnections = 4 } = options;
    const connectionString = server.connectionString();
    const store = await openPostgresStore({ connectionString, maxConnections, schema: on?.schema });
    return new WorkersStage({ server, provider, store, options, program });
  }

  /** Starts a worker. It takes runs when this resolves. */
  async start(changes: Partial<WorkersOrder> = {}): Promise<WorkerHand> {
    const hand = this.#spare;
    this.#spare = new WorkerHand(this.#program);
    this.workers.push(hand);
    this.#started += 1;
    const { places, maxConnections, toolMs, share } = this.#options;
    await hand.begin({
      connectionString: this.server.connectionString(),
      schema: this.#options.on?.schema,
      name: `worker ${this.#started}`,
      address: this.provider.address,
      log: this.#log,
      ...{ places, maxConnections, toolMs, share },
      ...changes,
    });
    return hand;
  }

  async kill(hand: WorkerHand): Promise<number> {
    const at = performance.now();
    this.workers = this.workers.filter((each) => each !== hand);
    await hand.kill();
    return at;
  }

  /** A runtime of this process, which is no worker. */
  runtime() {
    const { root, all: agents } = agentsOf({
      log: this.#log,
      toolMs: this.#options.toolMs,
      share: this.#options.share,
    });
    const { store } = this;
    const environment = { OPENAI_COMPATIBLE_BASE_URL: this.provider.address };
    return {
      root,
      runtime: createRuntime({ ...WIDE, store, engine: storeEngine(store), agents, host: { environment } }),
    };
  }

  submit(name: string, shape: Shape, tokens?: number): Promise<SubmittedRun> {
    const { root, runtime } = this.runtime();
    return runtime.submit(root, taskOf(name, shape), tokens === undefined ? {} : { budget: { tokens } });
  }

  /** A root of an agent that the workers do not know. */
  async submitStranger(name: string): Promise<SubmittedRun> {
    const stranger = agent({ name: "stranger", model: "openai-compatible/fake", tools: [] });
    const { store } = this;
    const host = { environment: { OPENAI_COMPATIBLE_BASE_URL: this.provider.address } };
    const runtime = createRuntime({ store, engine: storeEngine(store), agents: [stranger], host });
    return runtime.submit(stranger, name);
  }

  async stop(hand: WorkerHand): Promise<void> {
    this.workers = this.workers.filter((each) => each !== hand);
    await hand.stop();
  }

  /** The worker that has this journal. */
  async holderOf(journalId: string): Promise<WorkerHand | undefined> {
    const [row] = await this.rows<{ owner: string | null }>("select owner from sous.trees where root_id = $1", [
      journalId,
    ]);
    const pid = Number(row?.owner?.split(" ")[2]);
    return this.workers.find((each) => each.pid === pid);
  }

  /** Asks the server on a connection of its own: it may be killed at any moment, and is asked again when it is back. */
  async rows<Row>(text: string, values: unknown[] = []): Promise<Row[]> {
    const latest = performance.now() + SERVER_BACK_MS;
    for (;;) {
      try {
        return await this.#ask<Row>(text, values);
      } catch (error) {
        if (performance.now() > latest) throw error;
        await pause(50);
      }
    }
  }

  async #ask<Row>(text: string, values: unknown[]): Promise<Row[]> {
    const client = new Client({ connectionString: this.server.connectionString() });
    client.on("error", () => {});
    await client.connect();
    try {
      return (await client.query(text, values)).rows as Row[];
    } finally {
      await client.end();
    }
  }

  /** Ends the server as a crash does, and starts it again after this time. */
  async crash(awayMs: number): Promise<void> {
    await this.server.crash();
    await pause(awayMs);
    await this.server.start();
  }

  tools(): ToolTrace[] {
    const lines = readFileSync(this.#log, "utf8").split("\n").slice(0, -1);
    return lines.map((line) => JSON.parse(line) as ToolTrace);
  }

  get #log(): string {
    return join(this.folder, "tools.log");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.workers, this.#spare].map((each) => each.kill()));
    await this.store[Symbol.asyncDispose]();
    await this.provider[Symbol.asyncDispose]();
    if (this.#options.on === undefined) await this.server[Symbol.asyncDispose]();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Undefined for a tree that has no end by then: it hangs. */
export async function resultWithin(submitted: SubmittedRun, milliseconds: number): Promise<RunResult | undefined> {
  const late = new AbortController();
  const patience = pause(milliseconds, undefined, { signal: late.signal }).catch(() => undefined);
  const result = await Promise.race([submitted.result, patience]);
  late.abort();
  return result;
}
