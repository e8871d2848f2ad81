/**
 * The function behind a command, called in this process as `main.ts` calls it: the same words and the same code without a
 * process to start. For what a command prints and does. Signals, pipes, terminals and `main.ts` itself need `sous-process.ts`.
 */

import { Readable, Writable } from "node:stream";
import { alsoHide, guardStreams } from "../../../../src/app/cli/files/without-secrets.ts";
import { reportError } from "../../../../src/app/cli/report-error.ts";
import type { RunProcess } from "./run-process.ts";
import { type Ended as EndedProcess, PACKAGE, type ProcessOptions } from "./sous-process.ts";

type Command = (parameters: readonly string[]) => Promise<number>;

const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  acp: async () => (await import("../../../../src/app/cli/commands/acp.ts")).acp,
  agents: async () => (await import("../../../../src/app/cli/commands/agents.ts")).agents,
  cancel: async () => (await import("../../../../src/app/cli/commands/cancel.ts")).cancel,
  chat: async () => (await import("../../../../src/app/cli/commands/chat.ts")).chat,
  completion: async () => (await import("../../../../src/app/cli/commands/completion.ts")).completion,
  config: async () => (await import("../../../../src/app/cli/commands/config.ts")).config,
  demo: async () => (await import("../../../../src/app/cli/commands/demo.ts")).demo,
  doctor: async () => (await import("../../../../src/app/cli/commands/doctor.ts")).doctor,
  mcp: async () => (await import("../../../../src/app/cli/commands/mcp.ts")).mcp,
  metrics: async () => (await import("../../../../src/app/cli/commands/metrics.ts")).metrics,
  permissions: async () => (await import("../../../../src/app/cli/commands/permissions.ts")).permissions,
  replay: async () => (await import("../../../../src/app/cli/commands/replay.ts")).replay,
  resume: async () => (await import("../../../../src/app/cli/commands/resume.ts")).resume,
  run: async () => (await import("../../../../src/app/cli/commands/run.ts")).run,
  stats: async () => (await import("../../../../src/app/cli/commands/stats.ts")).stats,
  trust: async () => (await import("../../../../src/app/cli/commands/trust.ts")).trust,
  worker: async () => (await import("../../../../src/app/cli/commands/worker.ts")).worker,
};

export type InProcess = Pick<ProcessOptions, "cwd" | "env" | "signalAt"> & {
  /** What stdin holds; nothing without it. */
  input?: string;
};

/** `both` has what went to either stream, in the order of a terminal. */
export type Ended = EndedProcess & { both: string };

export async function inProcess(words: readonly string[], options: InProcess = {}): Promise<Ended> {
  const { input = "", signalAt } = options;
  const said = { stdout: "", stderr: "", both: "" };
  let isSent = false;
  const stream = (name: "stdout" | "stderr"): Writable =>
    new Heard((text) => {
      said[name] += text;
      said.both += text;
      if (signalAt === undefined || isSent || name === "stdout" || !said.stderr.includes(signalAt.text)) return;
      isSent = true;
      // Not in the middle of what it says.
      setImmediate(() => command.signal(signalAt.signal));
    });
  const stdin = Readable.from(input === "" ? [] : [Buffer.from(input)]);
  const command = perform(words, options, { stdin, stdout: stream("stdout"), stderr: stream("stderr") });
  const { code, milliseconds } = await command.ended;
  return { code, milliseconds, ...said };
}

/** With the folders that `runProcess` gives. */
export function runInProcess({
  cwd,
  parameters,
  env = {},
  ...more
}: Omit<RunProcess, "acts"> & Pick<InProcess, "signalAt">): Promise<Ended> {
  const folders = { XDG_DATA_HOME: cwd, XDG_CONFIG_HOME: cwd, XDG_STATE_HOME: cwd };
  return inProcess(parameters, { ...more, cwd, env: { ...folders, ...env } });
}

export type Streams = { stdin: Readable; stdout: Writable; stderr: Writable };

export type Performed = {
  ended: Promise<{ code: number; milliseconds: number }>;
  /** What the command itself does about a signal; other listeners of this process hear nothing. */
  signal(name: NodeJS.Signals): void;
};

/** A process has one folder, one environment and one stdout, so the commands take turns. */
let last: Promise<unknown> = Promise.resolve();

export function perform(
  words: readonly string[],
  options: Pick<InProcess, "cwd" | "env">,
  streams: Streams,
): Performed {
  let others: readonly unknown[] = [];
  const turn = async (): Promise<{ code: number; milliseconds: number }> => {
    const [name = "", ...parameters] = words;
    const load = COMMANDS[name];
    if (load === undefined) throw new Error(`No command is called ${name}`);
    // Before the environment is another one: sources are found by it.
    const command = await load();
    using _folder = inFolder(options.cwd ?? PACKAGE);
    using _variables = withVariables(options.env ?? {});
    using _streams = withProperties({ ...streams, argv: [process.execPath, "sous", ...words] });
    others = (["SIGINT", "SIGTERM", "SIGHUP"] as const).flatMap((signal) => process.listeners(signal));
    // What is hidden depends on the variables; this makes them be read again.
    alsoHide({});
    guardStreams();
    const started = performance.now();
    const code = await command(parameters).catch((error) => reportError(error, parameters.includes("--json")));
    return { code, milliseconds: performance.now() - started };
  };
  const ended = last.then(turn);
  last = ended.catch(() => {});
  return {
    ended,
    signal(name) {
      const own = process.listeners(name).filter((listener) => !others.includes(listener));
      if (own.length === 0) throw new Error(`Nothing listens to ${name}: it would end the process`);
      for (const listener of own) listener(name);
    },
  };
}

/** A pipe that is always read. */
class Heard extends Writable {
  readonly #hear: (text: string) => void;

  constructor(hear: (text: string) => void) {
    super({ decodeStrings: false });
    this.#hear = hear;
  }

  override _write(chunk: string | Buffer, _encoding: string, done: () => void): void {
    this.#hear(String(chunk));
    done();
  }
}

function inFolder(folder: string): Disposable {
  const before = process.cwd();
  process.chdir(folder);
  return { [Symbol.dispose]: () => process.chdir(before) };
}

/** Changes the variables themselves: the time zone and the home are read from them, and programs inherit them. */
function withVariables(variables: Readonly<Record<string, string>>): Disposable {
  const before = { ...process.env };
  const replace = (next: Readonly<Record<string, string | undefined>>): void => {
    for (const name of Object.keys(process.env)) delete process.env[name];
    Object.assign(process.env, next);
  };
  // Another test of the suite may make a temporary folder meanwhile.
  const { TMPDIR } = before;
  replace({ ...(TMPDIR === undefined ? {} : { TMPDIR }), ...variables });
  return { [Symbol.dispose]: () => replace(before) };
}

/** The runner of the tests has its own reference to stdout, and reports to it undisturbed. */
function withProperties(values: Readonly<Record<string, unknown>>): Disposable {
  const before = Object.keys(values).map((name) => [name, Object.getOwnPropertyDescriptor(process, name)] as const);
  for (const [name, value] of Object.entries(values)) {
    Object.defineProperty(process, name, { value, configurable: true, writable: true, enumerable: true });
  }
  return {
    [Symbol.dispose]() {
      for (const [name, descriptor] of before)
        if (descriptor !== undefined) Object.defineProperty(process, name, descriptor);
    },
  };
}
