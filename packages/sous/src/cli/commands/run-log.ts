/** Where the lifecycle logs of a run go: to stderr when they are asked for, or to a file. */

import { closeSync, constants, fstatSync, openSync, writeSync } from "node:fs";
import { messageOf } from "../../core/errors.ts";
import type { EventListener } from "../../core/event.ts";
import type { Runtime } from "../../runtime.ts";
import { type LifecycleLog, openLifecycleLog } from "../assemble.ts";
import { CommandError, usageError } from "../exit-codes.ts";
import { inertLine } from "../inert.ts";
import { quoted } from "../options.ts";
import type { LogLevel, RunFlags } from "../run-flags.ts";
import { withoutSecrets } from "../without-secrets.ts";

export type RunLog = Disposable & LifecycleLog & { readonly isOnStderr: boolean };

export type RunLogOptions = {
  flags: RunFlags["log"];
  file: string | undefined;
  env: Readonly<Record<string, string | undefined>>;
  /** `agent.subagent.telemetry_enabled`. */
  enabled: boolean;
};

/** Undefined when nobody wants any. A file is made private, appended to, and never a link. */
export async function openRunLog({ flags, file, env, enabled }: RunLogOptions): Promise<RunLog | undefined> {
  const level = flags.level ?? levelFrom(env.SOUS_LOG_LEVEL ?? "");
  if (file === undefined && level === undefined) return undefined;
  const descriptor = file === undefined ? undefined : openLog(file);
  const write = (line: string): void => {
    if (descriptor === undefined) process.stderr.write(`${line}\n`);
    else writeSync(descriptor, `${withoutSecrets(line)}\n`);
  };
  const log = await openLifecycleLog({ write, format: flags.format, level: level ?? "info", enabled });
  return {
    onEvent: log.onEvent,
    settle: (isKept) => log.settle(isKept),
    isOnStderr: descriptor === undefined,
    [Symbol.dispose]: () => {
      if (descriptor !== undefined) closeSync(descriptor);
    },
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

function levelFrom(given: string): LogLevel | undefined {
  const level = LEVELS.find((each) => each === given);
  if (level === undefined && given !== "")
    throw usageError(`SOUS_LOG_LEVEL is one of ${LEVELS.join(", ")}; found ${quoted(given)}`);
  return level;
}

const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
const PRIVATE = 0o600;

function openLog(file: string): number {
  try {
    const descriptor = openSync(file, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, PRIVATE);
    if (fstatSync(descriptor).isFile()) return descriptor;
    closeSync(descriptor);
    throw new Error("it is not a file");
  } catch (error) {
    throw new CommandError(`The log ${inertLine(file, 200)} cannot be written: ${inertLine(messageOf(error))}`);
  }
}
