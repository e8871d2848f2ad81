/** The functions around runs that take options: stores, servers, files, telemetry. Which values they take is said again here. */

import { metrics, ROOT_CONTEXT, trace } from "@opentelemetry/api";
import { type CreateAcpClientOptions, createAcpClient } from "../../../src/acp-client.ts";
import {
  type BuiltInToolsOptions,
  builtInTools,
  type LoadAgentsOptions,
  loadAgents,
} from "../../../src/agent-files.ts";
import { readOnlyTools } from "../../../src/app/tools/read-only.ts";
import {
  type McpAddressOptions,
  type McpProgramOptions,
  readServerOptions,
} from "../../../src/bridges/mcp/server-options.ts";
import { createLifecycleLog, type LifecycleLogOptions } from "../../../src/bridges/telemetry/log.ts";
import { type MeterOptions, meterRuns } from "../../../src/bridges/telemetry/otel-meter.ts";
import { traceRuns } from "../../../src/bridges/telemetry/spans.ts";
import type { TraceOptions } from "../../../src/bridges/telemetry/trace-options.ts";
import { type CassetteOptions, cassetteModel, scriptFromCassette } from "../../../src/cassette.ts";
import { tool } from "../../../src/core/tool.ts";
import { type McpToolsOptions, mcpTools } from "../../../src/mcp-client.ts";
import type { RerunOptions } from "../../../src/rerun/stage.ts";
import { rerun } from "../../../src/rerun.ts";
import type { PostgresPool } from "../../../src/storage/store/postgres/connection.ts";
import { openPostgresStore, type PostgresStoreOptions } from "../../../src/storage/store/postgres/store.ts";
import { openSqliteStore, type SqliteStoreOptions } from "../../../src/storage/store/sqlite/store.ts";
import { type ScriptedModelOptions, scriptedModel } from "../../../src/testing/scripted-model.ts";
import { says } from "../../../src/testing/steps.ts";
import {
  type Door,
  door,
  echo,
  FLAG,
  FUNCTION,
  MODEL,
  NUMBER,
  OBJECT,
  SIGNAL,
  scout,
  store,
  type Taken,
  TEXT,
  TEXTS,
  WORDS,
} from "./option-samples.ts";

const clock = { now: () => 0, monotonic: () => 0, timer: () => ({ [Symbol.dispose]: () => undefined }) };
/** The pool of a database that lets no one in. */
const CLOSED: PostgresPool = {
  connect: () => Promise.reject(Object.assign(new Error("away"), { code: "28P01" })),
  on: () => undefined,
  off: () => undefined,
  end: async () => {},
};
const server = { timeoutMs: NUMBER, startTimeoutMs: NUMBER, tools: TEXTS, deny: TEXTS };
const textsByName: Taken = [["object"], { KEY: "value" }];

/** `folder` is empty, for what is made. */
export function outsideDoors(folder: string): readonly Door[] {
  const late = { isLate: true };
  return [
    door<SqliteStoreOptions>(
      "openSqliteStore()",
      (given) => openSqliteStore(`${folder}/runs.db`, given),
      {
        readOnly: FLAG,
        synchronous: WORDS("normal", "full"),
        busyTimeoutMs: [["number"], 0],
        lostFolder: TEXT,
        clock: [[], clock],
      },
      late,
    ),
    door<PostgresStoreOptions>(
      "openPostgresStore()",
      (given) => openPostgresStore({ pool: CLOSED, ...given }),
      {
        connectionString: TEXT,
        pool: [[], CLOSED],
        schema: TEXT,
        maxConnections: NUMBER,
        reconnectMs: [["number"], 0],
        lostFolder: TEXT,
        clock: [[], clock],
      },
      late,
    ),
    door<CreateAcpClientOptions>(
      "createAcpClient()",
      (given) => createAcpClient({ servers: { mine: { command: "mine" } }, ...given }),
      {
        servers: OBJECT,
        defaultServer: [["text"], "mine"],
        cwd: TEXT,
        permissions: [["function"], "deny", "allow"],
        deadlines: OBJECT,
        clock: [[], clock],
      },
    ),
    door<McpToolsOptions>(
      "mcpTools()",
      (given) => mcpTools({}, given),
      { cwd: TEXT, pinFile: TEXT, optional: FLAG, signal: SIGNAL },
      late,
    ),
    door<McpProgramOptions>(
      "mcpTools(): the server a",
      (given) => readServerOptions("mcpTools()", { a: { command: "a", ...given } }),
      { ...server, command: TEXT, args: TEXTS, env: textsByName, cwd: TEXT, type: WORDS("stdio") },
    ),
    door<McpAddressOptions>(
      "mcpTools(): the server a",
      (given) => readServerOptions("mcpTools()", { a: { url: "https://example.org/", ...given } }),
      { ...server, url: [["text"], "http://b/"], headers: textsByName, type: WORDS("http", "streamable-http", "sse") },
      { name: "mcpTools() with an address" },
    ),
    door<BuiltInToolsOptions>("builtInTools()", builtInTools, {
      root: TEXT,
      only: [["list"], ["grep"]],
      terminalTimeoutMs: NUMBER,
      allowHosts: TEXTS,
    }),
    door<{ root?: string }>("readOnlyTools()", readOnlyTools, { root: TEXT }),
    door<LoadAgentsOptions>(
      "loadAgents()",
      (given) => loadAgents({ folder, ...given }),
      {
        folder: [["text"], folder],
        dialect: WORDS("sous", "claude", "gemini", "opencode"),
        tools: [["list"], [tool(echo)]],
      },
      late,
    ),
    door<RerunOptions>(
      "rerun()",
      (given) => rerun("x", { store, ...given }),
      {
        store: [[], store],
        signal: SIGNAL,
        agents: [["list"], [scout]],
        liveTools: FLAG,
        tools: [["list"], [tool(echo)]],
        onEvent: FUNCTION,
      },
      late,
    ),
    door<CassetteOptions>("cassetteModel()", (given) => cassetteModel(`${folder}/a.json`, given), {
      match: WORDS("prompt", "turn"),
      record: MODEL,
      environment: OBJECT,
    }),
    door<Pick<CassetteOptions, "match">>(
      "scriptFromCassette()",
      (given) => scriptFromCassette(`${folder}/none.json`, given),
      { match: WORDS("prompt", "turn") },
    ),
    door<TraceOptions>("traceRuns()", traceRuns, {
      tracerProvider: [[], trace.getTracerProvider()],
      captureContent: FLAG,
      redact: FUNCTION,
      observationType: FLAG,
      parent: [[], ROOT_CONTEXT],
      baggage: TEXT,
      models: TEXTS,
    }),
    door<MeterOptions>("meterRuns()", meterRuns, { meterProvider: [[], metrics.getMeterProvider()], models: TEXTS }),
    door<LifecycleLogOptions>("createLifecycleLog()", (given) => createLifecycleLog({ write: () => {}, ...given }), {
      write: FUNCTION,
      format: WORDS("json", "pretty"),
      level: WORDS("debug", "info", "warn", "error"),
      enabled: FLAG,
    }),
    door<ScriptedModelOptions>("scriptedModel()", (given) => scriptedModel({ "**": [says("Done.")] }, given), {
      id: TEXT,
      price: [[], { input: 1, output: 2 }],
      contextWindow: NUMBER,
      clock: [[], clock],
      schedule: FUNCTION,
      onRequest: FUNCTION,
    }),
  ];
}
