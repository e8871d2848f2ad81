/** `sous worker`: continues runs that were placed in the database, until it is stopped. */

import { hostname } from "node:os";
import { openApplication } from "../application/open.ts";
import { EXIT, usageError } from "../exit-codes.ts";
import { processContext, shownDatabase, thisFolder } from "../files/paths.ts";
import { databaseFlags, findDatabase, openDatabase, resumeCommand } from "../stored/database.ts";
import { type OptionValues, readOnlyOptions } from "../table/options.ts";
import { WORKER } from "../table/placing-entries.ts";
import { readRunFlags } from "../table/run-flags.ts";
import { catchInterrupts, openUnlessInterrupted, patienceAfter, untilStopped } from "../terminal/interrupts.ts";
import { openOutput, tell } from "../terminal/output.ts";
import { inertLine, plural } from "../terminal/text.ts";
import { workerReport } from "../worker/report.ts";

const MAX_NAME = 80;

export async function worker(parameters: readonly string[]): Promise<number> {
  const values = readOnlyOptions(WORKER, parameters, ' A run is placed with sous run --detach "TASK".');
  const flags = readRunFlags(values);
  const name = nameOf(values);
  using interrupts = catchInterrupts();
  using patience = patienceAfter(interrupts.signal);
  const context = processContext();
  const database = await findDatabase(databaseFlags(flags), context);
  await using store = await openDatabase(database, { readOnly: false });
  const asked = { flags, ...context, ask: undefined, store, places: "roots" as const, signal: interrupts.signal };
  await using application = await openUnlessInterrupted(openApplication({ ...asked, warn: tell }), interrupts);
  const { configuration, runtime, clock, rootNames: agents } = application;
  // A missing key is said now, and not by every run that is taken.
  if (configuration.model !== undefined) await application.checkModel(configuration.model);
  const { places } = values;
  const progress = openOutput(process.stderr, values);
  const facts = { name, database: shownDatabase(database), folder: thisFolder(), places, agents };
  const report = workerReport(
    {
      store,
      progress: values.quiet || values.json ? undefined : progress,
      print: values.json ? (line) => process.stdout.write(line) : undefined,
      answerCommand: (rootId) => resumeCommand(rootId, databaseFlags(flags)),
      now: clock.now,
    },
    { schema: "sous.worker.v1", ...facts },
  );
  const working = await runtime.work({ name, places, folder: facts.folder, onRun: report.onRun });
  if (!values.json) tell(startSentence(facts));
  await untilStopped(interrupts.signal);
  report.stops();
  const left = working.running;
  if (left > 0 && !values.json) tell(`Stopped by ${interrupts.reason()}: gives back ${plural(left, "run")}`);
  const isGivenBack = (await patience.wait(working.stop().then(() => true))) ?? false;
  if (!isGivenBack)
    tell(`warning: ${plural(working.running, "run")} could not be given back in time; other workers take over soon`);
  await patience.wait(report.end({ stopped_by: interrupts.reason() ?? null, is_given_back: isGivenBack }));
  return EXIT.ok;
}

function nameOf({ name }: OptionValues<typeof WORKER>): string {
  if (name === undefined) return `${hostname()}-${process.pid}`;
  if (name.trim() !== name || name.length > MAX_NAME || inertLine(name, MAX_NAME) !== name)
    throw usageError(`--name is a short text without line ends, of at most ${MAX_NAME} characters`);
  return name;
}

type WorkerFacts = { name: string; database: string; folder: string; places: number; agents: readonly string[] };

function startSentence({ name, database, places, agents }: WorkerFacts): string {
  const known = `${agents.slice(0, MAX_NAMED).join(", ")}${agents.length > MAX_NAMED ? ` and ${agents.length - MAX_NAMED} more` : ""}`;
  return `Worker ${name} takes runs of this folder from ${database}: ${plural(places, "place")}, ${agents.length === 1 ? "agent" : "agents"} ${inertLine(known, 1000)}. Ctrl+C gives them back.`;
}

const MAX_NAMED = 20;
