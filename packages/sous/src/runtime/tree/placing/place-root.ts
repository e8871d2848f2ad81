/** A root that is placed: a worker continues it from its first event, and those who follow it see what happens. */

import type { AgentDefinition } from "../../../core/agent.ts";
import { Conversation } from "../../../core/conversation.ts";
import { Refused, UserError } from "../../../core/errors.ts";
import type { UserMessage } from "../../../core/message.ts";
import { Scope } from "../../../core/scope.ts";
import { makeRun } from "../lifecycle.ts";
import type { OpenTree } from "../open.ts";
import { placedStart } from "./place-child.ts";
import type { PlacedRuns } from "./placed-runs.ts";
import { checkTravels } from "./travel.ts";

/** Begins the journal of the root, and leaves it to the workers. Throws a `UserError` for an agent that cannot travel. */
export async function placeRoot(
  { tree, rootId }: OpenTree,
  placed: PlacedRuns,
  definition: AgentDefinition,
  task: UserMessage,
): Promise<void> {
  const entry = await tree.openRoot(rootId, definition);
  const { profile } = entry;
  if (profile === undefined) throw new Error("The root has no profile");
  try {
    checkTravels(profile, definition, undefined, placed.engine.sharesWorkspace === true);
  } catch (error) {
    throw error instanceof Refused ? new UserError(error.message) : error;
  }
  const conversation = new Conversation([task], profile.tools.bytes);
  const own = { entry, runId: rootId, parent: undefined, profile, task, conversation, scope: new Scope() };
  const plan = { ...own, origin: undefined, call: undefined, summary: undefined, earlier: undefined };
  const run = makeRun(tree.state, plan, tree.ports);
  await placed.begin(placedStart(tree.state, run, plan));
}
