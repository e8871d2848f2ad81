/** Agents whose calls are large beside the tokens that all children may spend: few of them fit at once, and the others wait. */

import { METERED_OUTPUT } from "../core/limits.ts";
import type { AgentFile, AgentProblem } from "./agent-file.ts";

/** One call should leave room for three others. */
const LARGEST_PART = 4;

/** `maxTotalTokens` is the setting `agent.subagent.max_total_tokens`. Undefined when one call takes at most a quarter of it. */
export function checkCallSize(agent: AgentFile, maxTotalTokens: number | undefined): AgentProblem | undefined {
  const { maxOutputTokens = METERED_OUTPUT, file, origins } = agent;
  if (maxTotalTokens === undefined || maxOutputTokens * LARGEST_PART <= maxTotalTokens) return undefined;
  const most = Math.floor(maxTotalTokens / LARGEST_PART);
  const smaller = most < 1 ? "" : `write \`max_output_tokens: ${most}\` or less, or `;
  return {
    code: "SOUS-A010",
    file,
    severity: "warning",
    line: origins.fields.maxOutputTokens?.line ?? 1,
    column: 1,
    message: `one call reserves ${maxOutputTokens} tokens for its answer, more than a quarter of agent.subagent.max_total_tokens (${maxTotalTokens}): few children can ask at once, and the others wait`,
    fix: `${smaller}raise agent.subagent.max_total_tokens to ${maxOutputTokens * LARGEST_PART} or more`,
  };
}
