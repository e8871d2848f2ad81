/** Stage 1 of an application: whether the project is trusted, and what flags, configuration and agent files say. */

import type { Approve } from "../../../core/approval.ts";
import type { Host } from "../../../core/clock.ts";
import type { McpServer } from "../../../core/configuration.ts";
import type { ExternalAllowance } from "../../../core/external-agent.ts";
import type { Store } from "../../../core/store.ts";
import type { AgentFile } from "../../config/agents/file.ts";
import type { Configuration } from "../../config/configuration.ts";
import type { ProjectTrust } from "../../config/trust/trust.ts";
import type { ProcessContext } from "../files/paths.ts";
import type { RunFlags } from "../table/run-flags.ts";
import { inertLine } from "../terminal/text.ts";
import { withEditors } from "./mcp.ts";
import { agentFiles, knownTrust, readConfiguration } from "./project.ts";
import { rootFile, withModelOf } from "./root.ts";
import type { RightsMode } from "./rules.ts";
import type { RunTelemetry } from "./telemetry.ts";
import { narrowConfiguration, narrowRights, readOuterLimits } from "./within.ts";

export type ApplicationRequest = ProcessContext & {
  readonly flags: RunFlags;
  /** The person at the terminal; without one, a call that no rule decides is refused. */
  readonly ask: Approve | undefined;
  /** The mode that a session has at a moment; without it the flags decide. */
  readonly mode?: (() => RightsMode) | undefined;
  /** The trace of a root that starts now; when unset that of the variables. */
  readonly trace?: Host["trace"];
  /** The name of the root of a run that continues, which is its agent if there is a file of it. */
  readonly rootName?: string | undefined;
  /** The store of a run that continues; the caller opened it. */
  readonly store?: Store | undefined;
  /** The telemetry of the process, when several applications share it; the caller opened it. */
  readonly telemetry?: RunTelemetry | undefined;
  /** MCP servers of the editor that a session belongs to. */
  readonly mcpServers?: readonly McpServer[] | undefined;
  /** Aborting it ends the wait for MCP servers, and the servers; the opening rejects. */
  readonly signal?: AbortSignal | undefined;
  /**
   * `roots`: it places roots, or continues what was placed. `children`: it continues a tree that has children on workers. When unset
   * children are placed if an agent or a setting wants it and runs are stored.
   */
  readonly places?: "roots" | "children" | undefined;
  /** Files that other options name, where they are given, such as the log: no tool writes them. */
  readonly optionFiles?: readonly (string | undefined)[] | undefined;
  /** One line for a person: what was ignored, and what to do about it. */
  readonly warn: (line: string) => void;
};

export type Settings = {
  /** The request, with rights within those of the outer run. Its `warn` marks each line as a warning. */
  readonly request: ApplicationRequest;
  /** One line for a person, as it is. */
  readonly say: (line: string) => void;
  /** The limits of the outer run; undefined when there is none. */
  readonly outer: ExternalAllowance | undefined;
  /** Undefined with `--bare`. */
  readonly trust: ProjectTrust | undefined;
  /** Undefined unless it is trusted. */
  readonly project: ProjectTrust | undefined;
  /** The configuration within the limits of the outer run, with the model of the root's file and the servers of the editor. */
  readonly configuration: Configuration;
  readonly files: readonly AgentFile[];
  /** The file of the root; undefined when the root is ours. */
  readonly chosen: AgentFile | undefined;
};

export async function readSettings(asked: ApplicationRequest): Promise<Settings> {
  const outer = await readOuterLimits(asked.env);
  const warn = (line: string) => asked.warn(`warning: ${line}`);
  const request = { ...asked, flags: narrowRights(asked.flags, outer), warn };
  const { flags, cwd, env, ask } = request;
  const trust = flags.isBare ? undefined : await knownTrust(request, ask !== undefined);
  const project = trust?.state === "trusted" ? trust : undefined;
  const { configuration: given, warnings } = await readConfiguration({ flags, cwd, env, project });
  for (const warning of warnings) warn(inertLine(warning, 1000));
  const narrowed = narrowConfiguration(given, outer);
  const files = await agentFiles(request, project, narrowed, warn);
  const chosen = rootFile(files, request);
  const ofFile = chosen === undefined ? narrowed : withModelOf(chosen, narrowed, flags);
  const configuration = { ...ofFile, mcpServers: withEditors(ofFile.mcpServers, request.mcpServers) };
  return { request, say: asked.warn, outer, trust, project, configuration, files, chosen };
}
