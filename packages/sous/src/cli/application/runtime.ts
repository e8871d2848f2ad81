/** Stage 4 of an application: telemetry, agents outside, the root and the agents of files, and the runtime they run on. */

import type { AgentDefinition } from "../../core/agent.ts";
import type { Clock } from "../../core/clock.ts";
import { createConsent } from "../../rights/policy.ts";
import type { Runtime } from "../../runtime.ts";
import { alsoHide } from "../files/without-secrets.ts";
import type { Machine } from "./machine.ts";
import { mcpSecrets } from "./mcp.ts";
import { readNotes } from "./notes.ts";
import type { Opened } from "./opened.ts";
import { lateClient, outsideAgents, serverSecrets } from "./outside.ts";
import { userNotes } from "./project.ts";
import { rootAndAgents } from "./root.ts";
import type { Settings } from "./settings.ts";
import { openTelemetry } from "./telemetry.ts";
import type { CommandTools } from "./tools.ts";
import { withinOuter } from "./within.ts";

export type RuntimeParts = Settings & Machine & CommandTools;

export type OpenedRuntime = {
  readonly runtime: Runtime;
  readonly clock: Clock;
  readonly root: AgentDefinition;
  /** Those of files. */
  readonly agents: readonly AgentDefinition[];
};

export async function openRuntime(parts: RuntimeParts, opened: Opened): Promise<OpenedRuntime> {
  const { request, say, outer, project, configuration, files, chosen } = parts;
  const { storage, store, programs, models, tools, nested, rules } = parts;
  const { cwd, env, flags, ask, trace } = request;
  const { agentServers, telemetry: settings } = configuration;
  const secrets = {
    ...models.secrets,
    ...serverSecrets(agentServers),
    ...mcpSecrets(Object.values(configuration.mcpServers)),
  };
  alsoHide(secrets);
  const telemetry = request.telemetry ?? opened.use(await openTelemetry({ settings, env, say }));
  const [{ systemHost }, { runtimeOn }] = await Promise.all([import("../../host.ts"), import("../../runtime.ts")]);
  const { isSampled } = telemetry;
  const host = systemHost({ cwd, environment: { ...env, ...secrets }, isSampled, trace });
  const outside = outsideAgents(agentServers, opened.use(lateClient(agentServers, { programs, cwd })));
  const notes = await readNotes({
    cwd,
    now: host.clock.now(),
    programs,
    project,
    userFile: flags.isBare ? undefined : userNotes(env),
    hasNested: nested !== undefined,
    warn: request.warn,
  });
  const { rights } = flags;
  const { root, agents } = await rootAndAgents({ configuration, tools, files, rights, notes, outside, chosen });
  const runtime = runtimeOn(models.resolve, {
    host,
    agents,
    store,
    requireStore: storage.isRequired,
    approve: createConsent(rules, ask),
    maxConcurrentCalls: configuration.provider.maxConcurrentCalls,
    onEvent: [...(nested === undefined ? [] : [nested.onEvent]), ...telemetry.listeners],
    models: { allow: configuration.models.allow, prices: configuration.prices, outside },
  });
  return { runtime: withinOuter(runtime, outer), clock: host.clock, root, agents };
}
