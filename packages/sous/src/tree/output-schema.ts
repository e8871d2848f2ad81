/** The schema of an agent's answers, ready for use. */

import type { AgentDefinition } from "../core/agent.ts";
import { messageOf, UserError } from "../core/errors.ts";
import { type Steps, wait } from "../core/now-or-later.ts";
import type { Schema } from "../core/schema.ts";
import { compileSchema } from "../schema/compile.ts";

/** Says whose schema it is that cannot be used. */
export function* outputSchemaOf(source: Partial<AgentDefinition>): Steps<Schema | undefined> {
  if (source.outputSchema === undefined) return undefined;
  try {
    return yield* wait(compileSchema(source.outputSchema));
  } catch (cause) {
    const whose = source.name ?? "subagent";
    throw new UserError(`The output schema of the agent ${whose} cannot be used: ${messageOf(cause)}`, { cause });
  }
}
