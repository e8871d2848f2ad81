/** `sous cancel`: tells a run that workers have, and everything below it, to stop. */

import type { NewMail } from "../../../core/engine.ts";
import type { RunRecord, Store } from "../../../core/store.ts";
import { isUnended } from "../../../core/words/outcomes.ts";
import { CommandError, EXIT, usageError } from "../exit-codes.ts";
import { processContext } from "../files/paths.ts";
import { findDatabase, openRuns, resumeCommand } from "../stored/database.ts";
import { findToRead } from "../stored/find-run.ts";
import { readOptions, refusePositionals } from "../table/options.ts";
import { CANCEL } from "../table/placing-entries.ts";
import { openOutput, printJson } from "../terminal/output.ts";
import { statusWords } from "../terminal/style.ts";
import { inertLine } from "../terminal/text.ts";

const COMMAND = "sous cancel";

export async function cancel(parameters: readonly string[]): Promise<number> {
  const { values, positionals } = readOptions(CANCEL, parameters);
  const [given, ...rest] = positionals;
  if (given === undefined) throw usageError(`${COMMAND} needs the id of a run: ${COMMAND} ID, or ${COMMAND} last`);
  refusePositionals(COMMAND, rest);
  const flags = { dbPath: values["db-path"], configFile: values.config };
  await using store = await openRuns(await findDatabase(flags, processContext()), "write");
  const record = await findToRead(store, given);
  const id = inertLine(record.id, 60);
  if (!isUnended(record.status)) throw new CommandError(`Run ${id} has ended already: ${statusWords(record)}`);
  const mail = await stopOf(store, record);
  if (mail === undefined) {
    const isOver = record.status === "interrupted" || record.status === "waiting";
    throw new CommandError(
      isOver
        ? `Run ${id} is not at work: ${statusWords(record)}. ${resumeCommand(record.rootId, flags)} continues it`
        : `Run ${id} is at work in a process that is no worker: stop it there, with Ctrl+C`,
    );
  }
  await store.placing.post([mail]);
  if (values.json) printJson({ schema: "sous.cancel.v1", run_id: record.id, status: record.status });
  else openOutput(process.stdout, values).printText(toldSentence(id, record));
  return EXIT.ok;
}

/** Undefined for a run that no worker can have. */
async function stopOf(store: Store, { id, path, rootId, journalId }: RunRecord): Promise<NewMail | undefined> {
  const [start] = await store.read(journalId, { limit: 1 });
  if (start?.type !== "run-start" || start.placed === undefined) return undefined;
  const body = { kind: "stop", mode: "stop" } as const;
  if (id === rootId) return { to: rootId, isForTree: true, body };
  return { to: journalId, body: id === journalId ? body : { ...body, path } };
}

function toldSentence(id: string, { status }: RunRecord): string {
  const told = `Run ${id} is told to stop`;
  return status === "running" ? `${told}.` : `${told}. No worker has it now: it ends when one takes it.`;
}
