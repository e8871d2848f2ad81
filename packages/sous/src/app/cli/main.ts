#!/usr/bin/env node
/** The command `sous`. Everything is imported late: `--version` and `--help` load nothing but this and their own text. */

import type { StopSignal } from "./terminal/interrupts.ts";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  process.stderr.write(`sous needs Node 22.18 or newer; this is ${process.versions.node}.\n`);
  process.exit(1);
}

/** The reader of a pipe went away: no message can be shown. */
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    // A command that has something to bring to an end first listens itself.
    if (stream.listenerCount("error") > 1) return;
    if (error.code === "EPIPE") process.exit(141);
    if (stream === process.stdout) process.stderr.write(`error: the output cannot be written: ${error.message}\n`);
    process.exit(1);
  });
}

/** `earlier` gives the signals that came while the command was being loaded. */
type Command = (parameters: readonly string[], earlier?: () => StopSignal[]) => Promise<number>;

const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  acp: async () => (await import("./commands/acp.ts")).acp,
  agents: async () => (await import("./commands/agents.ts")).agents,
  cancel: async () => (await import("./commands/cancel.ts")).cancel,
  chat: async () => (await import("./commands/chat.ts")).chat,
  completion: async () => (await import("./commands/completion.ts")).completion,
  doctor: async () => (await import("./commands/doctor.ts")).doctor,
  config: async () => (await import("./commands/config.ts")).config,
  demo: async () => (await import("./commands/demo.ts")).demo,
  mcp: async () => (await import("./commands/mcp.ts")).mcp,
  metrics: async () => (await import("./commands/metrics.ts")).metrics,
  permissions: async () => (await import("./commands/permissions.ts")).permissions,
  replay: async () => (await import("./commands/replay.ts")).replay,
  resume: async () => (await import("./commands/resume.ts")).resume,
  run: async () => (await import("./commands/run.ts")).run,
  stats: async () => (await import("./commands/stats.ts")).stats,
  trust: async () => (await import("./commands/trust.ts")).trust,
  worker: async () => (await import("./commands/worker.ts")).worker,
};

const USAGE = 2;
/** The time a command that has ended may still take. With that of telemetry before it, it is less than a second. */
const MAX_EXIT_MS = 250;
/** They leave connections behind: to models, and to a collector. */
const CONNECTS: ReadonlySet<string> = new Set(["run", "chat", "resume", "worker"]);
process.exitCode = await main(process.argv.slice(2));

async function main(given: readonly string[]): Promise<number> {
  const [name = "", ...rest] = withCommand(given);
  const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (load !== undefined) return rest.some(isHelp) ? help(name) : run(load, rest, name);
  switch (name) {
    case "--version":
    case "-V": {
      const { default: manifest } = await import("../../../package.json", { with: { type: "json" } });
      process.stdout.write(`${manifest.version}\n`);
      return 0;
    }
    case "--help":
    case "-h":
    case "help":
      return rest[0] === undefined || Object.hasOwn(COMMANDS, rest[0]) ? help(rest[0]) : complain(rest[0]);
    default:
      return complain(name);
  }
}

async function complain(name: string): Promise<number> {
  const { complaintAbout } = await import("./report-error.ts");
  process.stderr.write(complaintAbout(name, Object.keys(COMMANDS)));
  return USAGE;
}

/** `-p` is a way to write `run`, also behind other options. */
function withCommand(given: readonly string[]): readonly string[] {
  const [first] = given;
  const print = first?.startsWith("-") === true ? given.findIndex((each) => each === "-p" || each === "--print") : -1;
  if (print !== -1) return ["run", ...given.toSpliced(print, 1)];
  return isChat(first) ? ["chat", ...given] : given;
}

/** Nothing but options, or nothing at all: at a terminal that means chat. */
function isChat(first: string | undefined): boolean {
  const isOption = first !== undefined && /^-(?:-[a-z]|m$)/.test(first) && !/^--(?:help|version)$/.test(first);
  // The terminal is checked last: looking at stdin takes time that --version does not have.
  return (first === undefined || isOption) && process.stdin.isTTY === true;
}

function isHelp(parameter: string): boolean {
  return parameter === "--help" || parameter === "-h";
}

async function help(command: string | undefined): Promise<number> {
  const { helpOn } = await import("./table/help.ts");
  process.stdout.write(helpOn(command));
  return 0;
}

/** `run` reports a result even when it is stopped, so no signal ends it while it is loaded. */
async function run(load: () => Promise<Command>, parameters: readonly string[], name: string): Promise<number> {
  try {
    const held = name === "run" ? holdSignals() : undefined;
    const { guardStreams } = await import("./files/without-secrets.ts");
    guardStreams();
    const command = await load();
    const code = await command(parameters, held);
    if (CONNECTS.has(name)) exitSoon();
    return code;
  } catch (error) {
    const { reportError } = await import("./report-error.ts");
    return reportError(error, parameters.includes("--json"));
  }
}

/** The next listener calls what this returns, and gets the signals that came until then. */
function holdSignals(): () => StopSignal[] {
  const came: StopSignal[] = [];
  const holds = (["SIGINT", "SIGTERM", "SIGHUP"] as const).map((name) => {
    const hold = (): void => void came.push(name);
    process.on(name, hold);
    return () => process.off(name, hold);
  });
  return () => {
    for (const release of holds) release();
    return came;
  };
}

/** Ends the process soon: nothing is left to write, and an idle connection would keep it alive. */
function exitSoon(): void {
  setTimeout(() => process.exit(), MAX_EXIT_MS).unref();
}
