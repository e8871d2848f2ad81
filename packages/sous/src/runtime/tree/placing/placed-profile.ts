/** The profile of a run that was placed: the worker's own definition, within what the gate of its parent recorded. */

import type { AgentDefinition, ModelChoice } from "../../../core/agent.ts";
import type { RunProfile } from "../../../core/run.ts";
import type { RunStart } from "../../../core/run-start.ts";
import { compileSchema } from "../../schema/compile.ts";
import type { ProfileSource } from "../profiles.ts";
import { asStarted } from "../restore/as-started.ts";

/** The call may have chosen another model than the definition has, or the definition may have none: the gate has decided. */
function modelOf({ model: own }: AgentDefinition, { model }: Pick<RunStart, "model">): ModelChoice {
  return typeof own === "object" && "id" in own && own.id === model ? own : model;
}

export async function placedProfile(
  profiles: ProfileSource,
  definition: AgentDefinition,
  start: RunStart & { readonly depth: number },
): Promise<RunProfile> {
  const built = await profiles.root(definition, { depth: start.depth, model: modelOf(definition, start) });
  const { outputSchema, maxTurns, timeoutMs } = start;
  const output = outputSchema === undefined ? undefined : await compileSchema(outputSchema);
  return { ...asStarted(built, start), output, maxTurns, timeoutMs, nickname: start.nickname };
}
