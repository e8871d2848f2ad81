/** The configuration of a user who has set nothing, as the requirements say it. */

import type { Configuration } from "../../src/core/configuration.ts";

export const DEFAULT_CONFIGURATION: Configuration = {
  model: undefined,
  provider: {
    baseUrl: undefined,
    apiKeyEnv: undefined,
    apiKeyCommand: undefined,
    timeoutMs: 120_000,
    callTimeoutMs: 1_200_000,
    maxRetries: 4,
    maxConcurrentCalls: 16,
  },
  agent: {
    maxTurns: 50,
    budget: undefined,
    maxTokensTotal: undefined,
    timeout: undefined,
    conversation: { maxTokens: 100_000, minRetainTurns: 5, pruneThreshold: 0.8 },
    subagent: {
      maxDepth: 3,
      defaultMaxTurns: 10,
      outputMaxSize: 4096,
      telemetryEnabled: true,
      persistenceEnabled: true,
      persistencePath: undefined,
      maxExecutions: undefined,
      maxTotalTokens: undefined,
      maxTotalTime: undefined,
      maxTotalCost: undefined,
      maxConcurrent: 5,
      onFull: "queue",
      summary: "auto",
    },
  },
  tools: { terminal: { timeoutMs: 120_000, inertVariables: [] }, fetch: { allowHosts: [] } },
  permissions: [],
  models: { allow: [] },
  prices: {},
  agents: { alsoRead: [], ignoreHooks: [] },
  agentServers: {},
  mcpServers: {},
  telemetry: { metricsPort: undefined, otlpEndpoint: undefined, capturesContent: false },
};
