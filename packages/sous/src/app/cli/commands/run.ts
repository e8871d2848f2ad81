/** `sous run`, also `sous -p`: one task without a person at the terminal. The answer is on stdout, all else on stderr. */

import { setImmediate } from "node:timers/promises";
import { withoutRun } from "../../core/runtime.ts";
import { openApplication } from "../application/open.ts";
import { EXIT } from "../exit-codes.ts";
import { reportError } from "../report-error.ts";
import { endingSentence, exitCodeOfRun } from "../run/ending.ts";
import { type Stops, watchHeadless } from "../run/headless.ts";
import { openRunLog } from "../run/log.ts";
import { failureBefore, openOutlet, type RunOutput, runOutput } from "../run/output.ts";
import { answerLater } from "../run/questions.ts";
import { isInlineSchema, likelyFormat, type RunRequest, readOutputSchema, readRunRequest } from "../run/request.ts";
import { readTask } from "../run/task.ts";
import { databaseFlags, warnOfLoss } from "../stored/database.ts";
import { catchInterrupts, openUnlessStopped, patienceAfter, type StopSignal } from "../terminal/interrupts.ts";
import { tell } from "../terminal/output.ts";

/** A reader that closes stdout ends the command, as it ends any filter. */
const CLOSED = 141;
const SIGNALS: readonly number[] = [129, 130, 143];

/** `earlier` gives the signals that came while this was being loaded. */
export async function run(parameters: readonly string[], earlier?: () => readonly StopSignal[]): Promise<number> {
  using interrupts = catchInterrupts({ wrapsUp: true, earlier });
  using patience = patienceAfter(interrupts.signal);
  const outlet = openOutlet({
    stream: process.stdout,
    onClosed: () => interrupts.stop(CLOSED, outlet.isClosed ? "a closed stdout" : "a stdout that cannot be written"),
    patience: patience.signal,
  });
  // A run continues when the reader of its progress is gone: the answer is on stdout.
  process.stderr.on("error", () => {});
  const code = await runHeadless(parameters, { interrupts, patience }, (format, display) =>
    runOutput(format, outlet, display),
  );
  // After a hang-up nothing can be written either; then the code of the signal is returned.
  const isTaken = !outlet.isClosed && outlet.failure === undefined;
  if (isTaken || SIGNALS.includes(code)) return code;
  if (outlet.failure === undefined) return CLOSED;
  tell(`error: the answer cannot be written: ${outlet.failure.message}`);
  return EXIT.failed;
}

type OpenOutput = (format: RunRequest["format"], display: RunRequest["display"]) => RunOutput;

async function runHeadless(parameters: readonly string[], stops: Stops, open: OpenOutput): Promise<number> {
  let output = open(likelyFormat(parameters), { color: "never", ascii: false });
  try {
    const request = readRunRequest(parameters);
    output = open(request.format, request.display);
    return await perform(request, output, stops);
  } catch (error) {
    const { interrupts } = stops;
    const stoppedBy = interrupts.reason();
    if (stoppedBy === undefined) {
      await output.end(failureBefore(error));
      return reportError(error, false);
    }
    await output.end(withoutRun("cancelled", { type: "cancelled", message: "The run was cancelled" }));
    tell(`stopped by ${stoppedBy}`);
    return interrupts.exitCode();
  }
}

/** Throws when there is no run; afterwards every ending is a result. */
async function perform(request: RunRequest, output: RunOutput, stops: Stops): Promise<number> {
  const { flags, prompt, outputSchema, logFile: file } = request;
  const { interrupts } = stops;
  const { env } = process;
  const stop = AbortSignal.any([interrupts.signal, interrupts.wrapUp]);
  const schema = outputSchema === undefined ? undefined : await readOutputSchema(outputSchema);
  const task = await readTask({ prompt, signal: stop, tell });
  // Lets a pending signal arrive: signals are delivered between two turns of the event loop.
  await setImmediate();
  stop.throwIfAborted();
  const schemaFile = outputSchema === undefined || isInlineSchema(outputSchema) ? undefined : outputSchema;
  const optionFiles = [file, schemaFile];
  const ask = request.parks ? answerLater : undefined;
  const opening = openApplication({ flags, cwd: process.cwd(), env, ask, optionFiles, signal: stop, warn: tell });
  await using application = await openUnlessStopped(opening, stop);
  const enabled = application.configuration.agent.subagent.telemetryEnabled;
  using log = await openRunLog({ flags: flags.log, file, env, enabled });
  stop.throwIfAborted();
  const agent = schema === undefined ? application.agent : application.agent.with({ outputSchema: schema });
  const result = await watchHeadless({ request, application, agent, task, output, log }, stops);
  const isStored = application.store !== undefined && result.lost === undefined;
  log?.settle(isStored);
  await output.end(result);
  const sentence = endingSentence(result, {
    stoppedBy: interrupts.reason(),
    isStored,
    flags: databaseFlags(flags),
  });
  if (sentence !== undefined) tell(sentence);
  // A failure of the store is in the sentence already.
  if (result.lost !== undefined && result.error?.type !== "store") warnOfLoss(result.lost);
  return exitCodeOfRun(result, interrupts.exitCode());
}
