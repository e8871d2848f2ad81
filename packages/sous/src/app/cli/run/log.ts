/** Writes the lifecycle logs of a run: to stderr when they are asked for, or to a file. */

import { closeSync, constants, fstatSync, mkdirSync, openSync, renameSync, statSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import type { LifecycleLog, LogLevel } from "../../../bridges/telemetry/log.ts";
import { messageOf } from "../../../core/errors.ts";
import type { Variables } from "../../../core/process.ts";
import { CommandError, usageError } from "../exit-codes.ts";
import { userFolder } from "../files/paths.ts";
import { withoutSecrets } from "../files/without-secrets.ts";
import { quoted } from "../table/options.ts";
import { LOG_LEVELS } from "../table/run-entries.ts";
import type { RunFlags } from "../table/run-flags.ts";
import { tell } from "../terminal/output.ts";
import { inertLine } from "../terminal/text.ts";

export type RunLog = Disposable & LifecycleLog & { readonly isOnStderr: boolean };

export type RunLogOptions = {
  flags: RunFlags["log"];
  /** `--log-file`. */
  file: string | undefined;
  env: Variables;
  /** `agent.subagent.telemetry_enabled`. */
  enabled: boolean;
  /** One line for a person, when the file can no longer be written. */
  warn?: ((line: string) => void) | undefined;
};

/** Undefined when none is asked for. A file is made private, appended to, and never a link. */
export async function openRunLog(options: RunLogOptions): Promise<RunLog | undefined> {
  const { flags, file, env } = options;
  const level = levelOf(flags, env);
  if (file === undefined && level === undefined) return undefined;
  return logTo(file === undefined ? undefined : openLogFile(file), { ...options, level });
}

/** Size limit of the log in the state folder; with its predecessor it takes at most twice as much. */
const MAX_STATE_LOG_BYTES = 5 * 1024 * 1024;

/**
 * Works like `openRunLog` where stderr cannot be used: without `--log-file` it logs to a file in the state folder, which `say`
 * names.
 */
export async function openScreenLog(
  { file, env, enabled }: Omit<RunLogOptions, "flags" | "warn">,
  flags: RunFlags,
  say: (line: string) => void,
): Promise<RunLog | undefined> {
  const options: RunLogOptions = { flags: flags.log, file, env, enabled, warn: say };
  if (file !== undefined) return openRunLog(options);
  const level = levelOf(flags.log, env);
  if (level === undefined) return undefined;
  const why = whyNoLog(enabled, flags.storage.isEphemeral);
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
  const { createLifecycleLog } = await import("../../../bridges/telemetry/log.ts");
  const log = createLifecycleLog({ write, format: flags.format, level: level ?? "info", enabled });
  return {
    onEvent: log.onEvent,
    settle: (isStored) => log.settle(isStored),
    isOnStderr: file === undefined,
    [Symbol.dispose]: () => file?.[Symbol.dispose](),
  };
}

/** The flag, then `SOUS_LOG_LEVEL`. */
function levelOf(flags: RunFlags["log"], { SOUS_LOG_LEVEL: given = "" }: Variables): LogLevel | undefined {
  const level = LOG_LEVELS.find((each) => each === given);
  if (flags.level !== undefined || given === "" || level !== undefined) return flags.level ?? level;
  throw usageError(`SOUS_LOG_LEVEL is one of ${LOG_LEVELS.join(", ")}; found ${quoted(given)}`);
}

const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
const PRIVATE_FILE = 0o600;
const PRIVATE_FOLDER = 0o700;

type LogFile = Disposable & { write(line: string): void };

/**
 * Throws a `CommandError` when it cannot be opened; `write` throws the error of the system. With `maxBytes` its folder is
 * created, and a full file becomes `FILE.1` and replaces the one before, so that both together have at most twice as much.
 * Processes may share it.
 */
export function openLogFile(file: string, { maxBytes }: { maxBytes?: number } = {}): LogFile {
  try {
    if (maxBytes !== undefined) mkdirSync(dirname(file), { recursive: true, mode: PRIVATE_FOLDER });
    return new AppendedFile(file, maxBytes ?? Number.POSITIVE_INFINITY);
  } catch (error) {
    throw new CommandError(`The log ${inertLine(file, 200)} cannot be written: ${inertLine(messageOf(error))}`);
  }
}

class AppendedFile implements LogFile {
  readonly #file: string;
  readonly #maxBytes: number;
  /** Undefined when it is closed. */
  #descriptor: number | undefined;

  constructor(file: string, maxBytes: number) {
    this.#file = file;
    this.#maxBytes = maxBytes;
    this.#descriptor = openAppended(file);
  }

  write(line: string): void {
    // A closed descriptor may belong to another file now.
    if (this.#descriptor === undefined) return;
    const bytes = Buffer.from(`${withoutSecrets(line)}\n`);
    const isFull = fstatSync(this.#descriptor).size + bytes.length > this.#maxBytes;
    writeSync(isFull ? this.#startOver(this.#descriptor, bytes.length) : this.#descriptor, bytes);
  }

  /** Another process may have done so already: then its file is used. */
  #startOver(full: number, needed: number): number {
    const current = statSync(this.#file, { throwIfNoEntry: false });
    if (current !== undefined && current.size + needed > this.#maxBytes) renameSync(this.#file, `${this.#file}.1`);
    const opened = openAppended(this.#file);
    closeSync(full);
    this.#descriptor = opened;
    return opened;
  }

  [Symbol.dispose](): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }
}

function openAppended(file: string): number {
  const descriptor = openSync(file, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, PRIVATE_FILE);
  if (fstatSync(descriptor).isFile()) return descriptor;
  closeSync(descriptor);
  throw new Error("it is not a file");
}
