/**
 * Sentences about stored runs that are not resumed, for the library and the command line. `command` is what a person can type
 * instead.
 */

import { UserError } from "../../../core/errors.ts";
import { DamageError, type RunRecord, type Store } from "../../../core/store.ts";
import type { RunState } from "../../loop/run-state.ts";

/** Throws a `UserError` when there is no such run. */
export async function recordOf(runId: string, store: Pick<Store, "run">): Promise<RunRecord> {
  const record = await store.run(runId);
  if (record === undefined) throw new UserError(`No run with the id ${runId} in this store`);
  return record;
}

export function refuseChild({ id, parentId, rootId }: RunRecord, command?: string): void {
  if (parentId === null) return;
  throw new UserError(
    `Run ${id} is a child: a tree is continued as a whole, so name its root, ${rootId}${typed(command, "")}`,
  );
}

/** The state is that of the latest run of the root: one that was stopped and resumed has completed, although its own record says `cancelled`. */
export function refuseCompleted(runId: string, { end }: RunState, command?: string): void {
  if (end?.status !== "completed") return;
  throw new UserError(
    `Run ${runId} has completed. Give it a message to continue with, or fork it${typed(command, ".")}`,
  );
}

export function refuseLost(rootId: string, lost: string | undefined): void {
  if (lost === undefined) return;
  throw new UserError(`Run ${rootId} cannot be resumed, because not all of it was stored. ${lost}`);
}

/** A call that cannot be read would be done again. Any other error is thrown as it is. */
export function refuseDamaged(rootId: string, error: unknown): never {
  if (!(error instanceof DamageError)) throw error;
  throw new DamageError(`Run ${rootId} cannot be resumed, because it is damaged. ${error.message}`);
}

export function noBeginning(runId: string): UserError {
  return new UserError(`Run ${runId} has no beginning in this store`);
}

function typed(command: string | undefined, otherwise: string): string {
  return command === undefined ? otherwise : `: ${command}`;
}
