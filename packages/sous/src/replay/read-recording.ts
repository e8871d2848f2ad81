/** Reads a stored tree as a recording. */

import { UserError } from "../core/errors.ts";
import type { StoredEvent } from "../core/event.ts";
import { foldRecording, type Recording } from "../core/recording.ts";
import type { Store } from "../core/store.ts";

const PAGE = 5000;

/** The tree of this run, whichever of its runs is named. Throws a `UserError` when there is none that could be played. */
export async function readRecording(
  store: Pick<Store, "read" | "run">,
  runId: string,
  signal?: AbortSignal,
): Promise<Recording> {
  const record = await store.run(runId);
  if (record === undefined) throw new UserError(`No run with the id ${runId}`);
  const events: StoredEvent[] = [];
  for (;;) {
    signal?.throwIfAborted();
    const page = await store.read(record.rootId, { after: events.at(-1)?.seq ?? 0, limit: PAGE });
    for (const event of page) events.push(event);
    if (page.length < PAGE) break;
  }
  const recording = foldRecording(events);
  if (recording === undefined) throw new UserError(`The run ${runId} cannot be played: its beginning was not kept`);
  return recording;
}
