/** Where the lifecycle logs of a run go: to stderr when they are asked for, or to a file. */

import { join } from "node:path";
import { messageOf } from "../../core/errors.ts";
import type { EventListener } from "../../core/event.ts";
import type { Runtime } from "../../runtime.ts";
import { type LifecycleLog, openLifecycleLog } from "../assemble.ts";
import { CommandError, usageError } from "../exit-codes.ts";
import { inertLine } from "../inert.ts";
import { type LogFile, openLogFile } from "../log-file.ts";
import { quoted } from "../options.ts";
import { tell } from "../output.ts";
import { userFolder } from "../paths.ts";
import type { LogLevel, RunFlags } from "../run-flags.ts";

export type RunLog = Disposable & LifecycleLog & { readonly isOnStderr: boolean };

type Environment = Readonly<Record<string, string | undefined>>;

export type RunLogOptions = {
  flags: RunFlags["log"];
  /** `--log-file`. */
  file: string | undefined;
  env: Environment;
  /** `agent.subagent.telemetry_enabled`. */
  enabled: boolean;
  /** One line for a person, when the file cannot be written any more. */
  warn?: ((line: string) => void) | undefined;
};

/** Undefined when none is asked for. A file is made private, appended to, and never a link. */
export async function openRunLog(options: RunLogOptions): Promise<RunLog | undefined> {
  const { flags, file, env } = options;
  const level = levelOf(flags, env);
  if (file === undefined && level === undefined) return undefined;
  return logTo(file === undefined ? undefined : openLogFile(file), { ...options, level });
}

/** Of the file in the folder for state: it and the one before it have at most twice as much. */
const MAX_STATE_LOG_BYTES = 5 * 1024 * 1024;

/** As `openRunLog`, where stderr is not a place: without `--log-file` it is the file for logs, and `say` tells which. */
export async function openScreenLog(
  { file, env, enabled }: Omit<RunLogOptions, "flags" | "warn">,
  flags: RunFlags,
  say: (line: string) => void,
): Promise<RunLog | undefined> {
  const options: RunLogOptions = { flags: flags.log, file, env, enabled, warn: say };
  if (file !== undefined) return openRunLog(options);
  const level = levelOf(flags.log, env);
  if (level === undefined) return undefined;
  const why = whyNoLog(enabled, flags.keep.isEphemeral);
  if (why !== undefined) {
    say(`No log: ${why}`);
    return undefined;
  }
  try {
    const own = join(userFolder("state", env), "sous.log");
    const log = await logTo(openLogFile(own, { maxBytes: MAX_STATE_LOG_BYTES }), { ...options, level });
    say(`The log is in ${inertLine(own, 200)}`);
    return log;
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    say(`No log: ${messageOf(error)}`);
    return undefined;
  }
}

function whyNoLog(enabled: boolean, isEphemeral: boolean): string | undefined {
  if (!enabled) return "agent.subagent.telemetry_enabled is false";
  return isEphemeral ? "--ephemeral stores nothing; --log-file FILE writes one" : undefined;
}

async function logTo(
  file: LogFile | undefined,
  { flags, level, enabled, warn = tell }: RunLogOptions & { level: LogLevel | undefined },
): Promise<RunLog> {
  let isBroken = false;
  const write = (line: string): void => {
    if (file === undefined) {
      process.stderr.write(`${line}\n`);
      return;
    }
    try {
      file.write(line);
    } catch (error) {
      // A full disk must not end the run that is logged.
      if (!isBroken) warn(`warning: lines are missing in the log: ${inertLine(messageOf(error), 200)}`);
      isBroken = true;
    }
  };
  const log = await openLifecycleLog({ write, format: flags.format, level: level ?? "info", enabled });
  return {
    onEvent: log.onEvent,
    settle: (isStored) => log.settle(isStored),
    isOnStderr: file === undefined,
    [Symbol.dispose]: () => file?.[Symbol.dispose](),
  };
}

/** The same runtime, whose every run also speaks to a listener. */
export function overheard(runtime: Runtime, listener: EventListener | undefined): Runtime {
  if (listener === undefined) return runtime;
  const both = <Given extends { onEvent?: EventListener | undefined }>(given: Given | undefined): Given => {
    const onEvent: EventListener = (event) => {
      listener(event);
      given?.onEvent?.(event);
    };
    return { ...given, onEvent } as Given;
  };
  return {
    run: (definition, task, options) => runtime.run(definition, task, both(options)),
    fanOut: (definition, inputs, options) => runtime.fanOut(definition, inputs, both(options)),
    resume: (runId, options) => runtime.resume(runId, both(options)),
    fork: (runId, options) => runtime.fork(runId, both(options)),
  };
}

const LEVELS: readonly LogLevel[] = ["debug", "info", "warn", "error"];

/** The flag, then `SOUS_LOG_LEVEL`. */
function levelOf(flags: RunFlags["log"], { SOUS_LOG_LEVEL: given = "" }: Environment): LogLevel | undefined {
  const level = LEVELS.find((each) => each === given);
  if (flags.level !== undefined || given === "" || level !== undefined) return flags.level ?? level;
  throw usageError(`SOUS_LOG_LEVEL is one of ${LEVELS.join(", ")}; found ${quoted(given)}`);
}
