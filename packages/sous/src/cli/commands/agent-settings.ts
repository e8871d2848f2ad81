/** What `sous agents` needs of the configuration: the limits of children, the servers that agents may name, folders and hooks. */

import type { LoadedConfiguration } from "../../config/load-configuration.ts";
import type { ProjectTrust } from "../../config/trust/trust.ts";
import type { Configuration } from "../../core/configuration.ts";
import type { LimitState } from "../../core/limits.ts";
import { ConfigurationError, whereIs } from "../../core/problem.ts";
import { readConfiguration } from "../application/project.ts";
import type { ProcessContext } from "../files/paths.ts";
import { limitsBefore } from "../view/limit-lines.ts";
import type { ConfiguredLimit } from "./agent-lines.ts";

const SETTINGS: Readonly<Record<LimitState["unit"], string>> = {
  tokens: "agent.subagent.max_total_tokens",
  costUsd: "agent.subagent.max_total_cost",
  seconds: "agent.subagent.max_total_time",
  executions: "agent.subagent.max_executions",
};

/** What all children together may spend. A sentence when the configuration has mistakes. */
export async function configuredLimits(
  context: ProcessContext,
  trust: ProjectTrust,
): Promise<readonly ConfiguredLimit[] | string> {
  try {
    const { configuration, origins } = await settingsFor(context, trust);
    const { maxTotalTokens, maxTotalCost, maxTotalTime, maxExecutions } = configuration.agent.subagent;
    const children = {
      tokens: maxTotalTokens,
      costUsd: maxTotalCost,
      seconds: maxTotalTime,
      executions: maxExecutions,
    };
    return limitsBefore({}, children).map((limit) => {
      const setting = SETTINGS[limit.unit];
      return { ...limit, setting, from: origins.get(setting)?.origin.where ?? "" };
    });
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    const [first] = error.problems;
    const where = first === undefined ? "" : ` (${whereIs(first)})`;
    return `the limits of the configuration are not known, because it has mistakes${where}: sous config check shows them`;
  }
}

/** Undefined when it has mistakes, so that an agent is not blamed for them. */
export async function configurationFor(
  context: ProcessContext,
  trust: ProjectTrust,
): Promise<Configuration | undefined> {
  try {
    return (await settingsFor(context, trust)).configuration;
  } catch (error) {
    if (error instanceof ConfigurationError) return undefined;
    throw error;
  }
}

function settingsFor(context: ProcessContext, trust: ProjectTrust): Promise<LoadedConfiguration> {
  const project = trust.state === "trusted" ? trust : undefined;
  return readConfiguration({ flags: { configFile: undefined }, ...context, project });
}
