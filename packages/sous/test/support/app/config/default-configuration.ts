/** The configuration of a user who has set nothing, as the requirements say it. */

import type { Configuration } from "../../../../src/app/config/configuration.ts";

export const DEFAULT_CONFIGURATION: Configuration = {
  model: undefined,
  provider: {
    baseUrl: undefined,
    apiKeyEnv: undefined,
    apiKeyCommand: undefined,
    timeout: 120,
    maxRateWait: 600,
    callTimeout: 1200,
    maxRetries: 4,
    maxConcurrentCalls: 16,
  },
  agent: {
    maxTurns: 50,
    budget: { tokens: undefined, costUsd: undefined, durationMs: undefined },
    limits: {
      maxDepth: 3,
      defaultMaxTurns: 10,
      outputMaxSize: 4096,
      maxConcurrent: 5,
      onFull: "queue",
      summary: "auto",
      place: "asked",
      children: { executions: undefined, tokens: undefined, durationMs: undefined, costUsd: undefined },
    },
    conversation: { maxTokens: 100_000, minRetainTurns: 5, pruneThreshold: 0.8 },
    subagent: { telemetryEnabled: true, persistenceEnabled: true, persistencePath: undefined },
  },
  tools: { terminal: { timeout: 120, inertVariables: [] }, fetch: { allowHosts: [] } },
  permissions: [],
  models: { allow: [] },
  prices: {},
  agents: { alsoRead: [], ignoreHooks: [] },
  agentServers: {},
  mcpServers: {},
  mcpVariables: [],
  metrics: { port: undefined },
  telemetry: { otlpEndpoint: undefined, captureContent: false },
};
