/** The limits of the configuration that hold for every child, for `sous agents`: what they are, and who says so. */

import type { ProjectTrust } from "../../config/trust/trust.ts";
import type { LimitState } from "../../core/limits.ts";
import { ConfigurationError, whereIs } from "../../core/problem.ts";
import { readConfiguration } from "../application/configuration.ts";
import { limitsBefore } from "../view/limit-lines.ts";

export type ConfiguredLimit = LimitState & {
  /** `agent.subagent.max_total_tokens`. */
  readonly setting: string;
  /** The file and line, or the variable. */
  readonly from: string;
};

const SETTINGS: Readonly<Record<LimitState["unit"], string>> = {
  tokens: "agent.subagent.max_total_tokens",
  costUsd: "agent.subagent.max_total_cost",
  seconds: "agent.subagent.max_total_time",
  executions: "agent.subagent.max_executions",
};

type Place = { readonly cwd: string; readonly env: Readonly<Record<string, string | undefined>> };

/** What all children together may spend. A sentence when the configuration has mistakes. */
export async function configuredLimits(
  place: Place,
  trust: ProjectTrust,
): Promise<readonly ConfiguredLimit[] | string> {
  const project = trust.state === "trusted" ? trust : undefined;
  try {
    const { configuration, origins } = await readConfiguration({ flags: { configFile: undefined }, ...place, project });
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
