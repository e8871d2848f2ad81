/** Where a command that runs agents keeps them: its database, or nowhere when that cannot be. */

import { messageOf } from "../core/errors.ts";
import type { Store } from "../core/store.ts";
import { openDatabase } from "./assemble.ts";
import { CommandError } from "./exit-codes.ts";
import { inertLine } from "./inert.ts";
import { tell } from "./output.ts";
import { databaseFile } from "./paths.ts";

export type KeepOptions = {
  dbPath: string | undefined;
  isEphemeral: boolean;
  /** Whoever wants a run kept does not want it otherwise. */
  isRequired: boolean;
};

/** Undefined when nothing is kept: because nobody wants it, or with a warning. Throws when that is not good enough. */
export async function openForRun({ dbPath, isEphemeral, isRequired }: KeepOptions): Promise<Store | undefined> {
  if (isEphemeral) return undefined;
  try {
    return await openDatabase(databaseFile(dbPath, process.env), { readOnly: false });
  } catch (error) {
    const reason = messageOf(error);
    if (isRequired) throw new CommandError(`The run cannot be stored, as --require-store wants it: ${reason}`);
    tell(`warning: the run is not stored: ${inertLine(reason)}`);
    return undefined;
  }
}

/** Of a run that continued when its store failed. */
export function warnOfLoss(reason: string): void {
  tell(`warning: the run is not stored to its end, so it cannot be resumed: ${inertLine(reason)}`);
}
