/** What an earlier run of the tree said and heard. */

import { UserError } from "../core/errors.ts";
import type { Message } from "../core/message.ts";
import { repairHistory } from "../loop/repair-history.ts";
import type { TreeParts } from "./parts.ts";

/** Throws a `UserError` when not all of it was stored: half a history would mislead the model. */
export async function historyOf({ asking: { journal }, records }: TreeParts, runId: string): Promise<Message[]> {
  // A loss that makes this reject is reported below, like any other.
  await journal.settled()?.catch(() => {});
  if (journal.degraded === undefined) return repairHistory(await records.continuation(runId));
  throw new UserError(`This tree cannot be continued, because not all of it was kept. ${journal.degraded}`);
}
