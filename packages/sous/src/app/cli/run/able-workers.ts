/** Says what a run that was placed waits for: a worker that knows its agent, in this folder. */

import type { PlacingStore } from "../../../core/engine.ts";
import { thisFolder } from "../files/paths.ts";
import { type DatabaseFlags, sameDatabase } from "../stored/database.ts";

/** `subject` is the run: `The run waits for a worker …`. Undefined when a worker takes it now. */
export async function waitSentence(
  subject: string,
  agent: string,
  { placing }: PlacingStore,
  flags: DatabaseFlags,
): Promise<string | undefined> {
  const folder = thisFolder();
  const able = (await placing.workers()).filter((each) => {
    return each.isAlive && each.agents.includes(agent) && (each.folder ?? folder) === folder;
  });
  const command = `sous worker${sameDatabase(flags)}`;
  if (able.length === 0) return `${subject} waits for a worker, and none is at work here: start one with ${command}.`;
  return able.some(({ held, places }) => held < places) ? undefined : `${subject} waits: all workers are full.`;
}
