/** `sous run`, also `sous -p`: one task without a person at the terminal. The answer is on stdout, all else on stderr. */

import { setImmediate } from "node:timers/promises";
import type { AgentDefinition } from "../../../core/agent.ts";
import type { PlacingStore } from "../../../core/engine.ts";
import { ignore, messageOf } from "../../../core/errors.ts";
import type { EventListener } from "../../../core/event.ts";
import { toTools } from "../../../core/foreign-tool.ts";
import type { UserInput } from "../../../core/message.ts";
import { type RunHandle, type RunResult, withoutRun } from "../../../core/runtime.ts";
import { type Application, openApplication } from "../application/open.ts";
import { EXIT } from "../exit-codes.ts";
import { reportError } from "../report-error.ts";
import { endingSentence, exitCodeOfRun } from "../run/ending.ts";
import { openRunLog, type RunLog } from "../run/log.ts";
import {
  failureBefore,
  openOutlet,
  type RunOutlet,
  type RunOutput,
  runOutput,
  type StreamStart,
} from "../run/output.ts";
import { answerLater } from "../run/questions.ts";
import {
  isInlineSchema,
  likelyFormat,
  type RunRequest,
  readOutputSchema,
  readRunRequest,
  readTask,
} from "../run/request.ts";
import { progressStyle, type Renderer, watchRun } from "../run/watch.ts";
import { databaseFlags, warnOfLoss } from "../stored/database.ts";
import {
  catchInterrupts,
  type Interrupts,
  openUnlessStopped,
  type Patience,
  patienceAfter,
  type StopSignal,
} from "../terminal/interrupts.ts";
import { openOutput, tell } from "../terminal/output.ts";
import { inertLine } from "../terminal/text.ts";
import { treeLines } from "../view/tree-lines.ts";

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
  const code = await runHeadless(parameters, { interrupts, patience }, outlet);
  // After a hang-up nothing can be written either; then the code of the signal is returned.
  const isTaken = !outlet.isClosed && outlet.failure === undefined;
  if (isTaken || SIGNALS.includes(code)) return code;
  if (outlet.failure === undefined) return CLOSED;
  tell(`error: the answer cannot be written: ${outlet.failure.message}`);
  return EXIT.failed;
}

async function runHeadless(parameters: readonly string[], stops: Stops, outlet: RunOutlet): Promise<number> {
  let output = runOutput(likelyFormat(parameters), outlet, { color: "never", ascii: false });
  try {
    const request = readRunRequest(parameters);
    output = runOutput(request.format, outlet, request.display);
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
  if (request.isDetached) {
    const { detach } = await import("../run/detach.ts");
    return await detach(request, { task, schema, stop });
  }
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
  warnOfLoss(result);
  return exitCodeOfRun(result, interrupts.exitCode());
}

type HeadlessRun = {
  request: RunRequest;
  application: Application;
  agent: AgentDefinition;
  task: UserInput;
  output: RunOutput;
  log: RunLog | undefined;
};

export type Stops = { interrupts: Interrupts; patience: Patience };

export async function watchHeadless(headless: HeadlessRun, stops: Stops): Promise<RunResult> {
  const { request, application, agent, task, output, log } = headless;
  const { runtime, runOptions, clock } = application;
  const { signal } = stops.interrupts;
  const progress = openOutput(process.stderr, request.display);
  const isStream = request.format === "stream-json";
  const style = isStream ? undefined : progressStyle(progress.style, request.flags.log, log);
  const facts = await startFacts(application);
  const { result, tree } = await watchRun({
    clock,
    style,
    start: (show) => {
      const onEvent = [show, ...(log === undefined ? [] : [log.onEvent]), waitHint(headless)];
      return runtime.run(agent, task, { ...runOptions, signal, onEvent });
    },
    wait: (handle, renderer) => {
      const following = output.follow(handle, { runId: handle.id, ...facts }).catch((error: unknown) => {
        tell(`warning: not every event was shown: ${inertLine(messageOf(error))}`);
      });
      return untilEnd(handle, { renderer, following }, stops);
    },
  });
  // Plain lines have said all of it; a live region leaves nothing behind.
  if (style?.isLive === true) progress.print(treeLines(tree, progress.columns, progress.style));
  return result;
}

/** Says once when a child waits for a worker, and there is none: it would wait without a word. */
function waitHint({ application: { store }, request: { flags } }: HeadlessRun): EventListener {
  let isSaid = false;
  return (event) => {
    if (event.type !== "placed" || isSaid || store === undefined || !("placing" in store)) return;
    isSaid = true;
    import("../run/able-workers.ts")
      .then(({ waitSentence }) =>
        waitSentence(inertLine(event.childPath, 200), event.agent, store as PlacingStore, databaseFlags(flags)),
      )
      .then((sentence) => sentence !== undefined && tell(`warning: ${sentence}`))
      .catch(ignore);
  };
}

type Shown = { renderer: Renderer; following: Promise<void> };

async function untilEnd(handle: RunHandle, shown: Shown, { interrupts, patience }: Stops): Promise<RunResult> {
  const wrapUp = (): void => {
    // The region comes back below the line with the next event.
    shown.renderer[Symbol.dispose]();
    tell("wrapping up: tools and children are stopped; once more stops at once");
    handle.cancel(undefined, { mode: "last-words" });
  };
  if (interrupts.wrapUp.aborted) wrapUp();
  else interrupts.wrapUp.addEventListener("abort", wrapUp, { once: true });
  await patience.wait(Promise.allSettled([handle.result, shown.following]));
  interrupts.wrapUp.removeEventListener("abort", wrapUp);
  return (await patience.wait(handle.result)) ?? LEFT;
}

const LEFT: RunResult = withoutRun("cancelled", {
  type: "cancelled",
  message: "The run was told to stop, and did not confirm it",
});

async function startFacts({ agent, agents, configuration }: Application): Promise<Omit<StreamStart, "runId">> {
  const { default: manifest } = await import("../../../../package.json", { with: { type: "json" } });
  return {
    path: agent.name,
    version: manifest.version,
    model: configuration.model ?? null,
    cwd: process.cwd(),
    tools: toTools(agent.tools).map(({ name }) => name),
    agents: agents.map(({ name }) => name),
  };
}
