/** The statuses of runs in the order of help and reference: frequent endings first, runs without an end last. Help loads nothing else. */

import type { RunRecord } from "../../core/store.ts";

/** A record, so that the compiler finds a status that is missing. */
const LISTED: Readonly<Record<RunRecord["status"], true>> = {
  completed: true,
  incomplete: true,
  failed: true,
  cancelled: true,
  timeout: true,
  budget_exceeded: true,
  refused: true,
  interrupted: true,
  running: true,
};

export const LISTED_STATUSES = Object.keys(LISTED) as readonly RunRecord["status"][];
