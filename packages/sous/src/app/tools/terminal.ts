/** `terminal`: a command of the shell in the workspace, with a time limit and bounded output, also in the background. */

import { resolve } from "node:path";
import { z } from "zod";
import { plainText, type Redactor } from "../../core/clean-text.ts";
import { ToolFailure } from "../../core/errors.ts";
import { type ProgramRequest, type Programs, WATCHED_LENGTH } from "../../core/process.ts";
import { type Tool, type ToolContext, type ToolResult, tool } from "../../core/tool.ts";
import { toolWords } from "../../core/words/tools.ts";
import { createRedactor } from "../../runtime/secrets/redact.ts";
import { secretsOf } from "../../runtime/secrets/variables.ts";
import { BackgroundCommands, endedResult, KEPT_OUTPUT_BYTES } from "./terminal-background.ts";
import { locate, openWorkspace } from "./workspace.ts";

export type TerminalOptions = {
  readonly programs: Programs;
  /** The workspace; the working directory of the run when unset. */
  readonly root?: string | undefined;
  /** The limit when a call names none, and the most it may ask for. */
  readonly timeoutMs: number;
  /** Our variables: the secrets among them are removed from what commands print. */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
  /** Reads where git may work, relative to where a command is run, or absolute; undefined when that is not known. */
  readonly gitFolders?: ((command: string) => readonly string[] | undefined) | undefined;
  /** Keeps commands in the background, so that the end of a conversation can end them. */
  readonly background?: BackgroundCommands | undefined;
};

/** Linux takes no longer single argument than 128 KB. */
const MAX_COMMAND_LENGTH = 30_000;

export function terminalTool({ programs, root, timeoutMs, environment = process.env, ...more }: TerminalOptions): Tool {
  const input = inputSchema(timeoutMs);
  const redactor = createRedactor(secretsOf(environment));
  const background = more.background ?? new BackgroundCommands(programs, redactor);
  return tool({
    ...toolWords("terminal"),
    description:
      "Runs a command with bash (sh where there is no bash) in the workspace and returns its output, standard output and " +
      "standard error together. Every call is a shell of its own: cd and variables are forgotten afterwards. Nothing can " +
      "be typed in. Long output is cut in the middle. Whatever the command leaves running is ended with it; for a server " +
      "or a watcher use background: true, which returns an id at once, and then output_of or stop with that id. What a " +
      "subagent has started this way ends with the subagent.",
    inputSchema: input,
    async execute(call, context): Promise<ToolResult> {
      const { command, output_of, stop } = call;
      if ([command, output_of, stop].filter((each) => each !== undefined).length !== 1) {
        throw new ToolFailure("Give exactly one of command, output_of and stop.");
      }
      if (output_of !== undefined) return background.outputOf(output_of, context);
      if (stop !== undefined) return background.stop(stop, context);
      const limitMs = call.timeout === undefined ? undefined : Math.ceil(call.timeout * 1000);
      const asked = { command: command ?? "", cwd: call.cwd, root, programs, gitFolders: more.gitFolders };
      const request = await requestFor(asked, context);
      if (call.background) return background.start({ ...request, timeoutMs: limitMs }, context);
      const { signal, progress } = context;
      const onOutput = (end: string): void => progress(lastLine(end, redactor));
      return runCommand(programs, { ...request, timeoutMs: limitMs ?? timeoutMs, signal, onOutput }, redactor);
    },
  });
}

function inputSchema(timeoutMs: number) {
  const most = timeoutMs / 1000;
  return z.strictObject({
    command: z.string().min(1).max(MAX_COMMAND_LENGTH).optional().describe("The command line to run."),
    cwd: z
      .string()
      .min(1)
      .optional()
      .describe("The folder to run it in, relative to the top of the workspace; the top when unset."),
    timeout: z
      .number()
      .positive()
      .max(most)
      .optional()
      .describe(
        `Seconds until it is stopped; at most ${most}, which is also the limit when unset (in the background none).`,
      ),
    background: z.boolean().optional().describe("True: do not wait for the end, return an id."),
    output_of: z.string().optional().describe("The id of a command in the background: returns its output so far."),
    stop: z.string().optional().describe("The id of a command in the background: ends it and returns its output."),
  });
}

type Asked = Pick<TerminalOptions, "programs" | "root" | "gitFolders"> & { command: string; cwd: string | undefined };

async function requestFor(
  { command, cwd = ".", root, programs, gitFolders }: Asked,
  context: ToolContext,
): Promise<ProgramRequest> {
  if (command.includes("\0")) throw new ToolFailure("A command cannot hold a NUL byte.");
  const { real, isFolder } = await locate(await openWorkspace(root ?? context.cwd), cwd);
  if (!isFolder) throw new ToolFailure(`${cwd} is not a folder. Give a folder of the workspace as cwd.`);
  const bash = await programs.find("bash");
  return {
    program: bash === undefined ? "sh" : "bash",
    // The shell starts without start-up files: they are the user's, and untrusted in a foreign home.
    args: bash === undefined ? ["-c", command] : ["--noprofile", "--norc", "-c", command],
    cwd: real,
    environment: { TERM: "dumb", NO_COLOR: "1", PWD: real },
    mayUseProject: true,
    gitFolders: gitFolders && (gitFolders(command)?.map((folder) => resolve(real, folder)) ?? "anywhere"),
    maxOutputBytes: KEPT_OUTPUT_BYTES,
  };
}

async function runCommand(programs: Programs, request: ProgramRequest, redactor: Redactor): Promise<ToolResult> {
  const result = await programs.run(request);
  // The run was stopped: it ends with that reason, and the output is not read.
  if (result.stopped === "cancelled") request.signal?.throwIfAborted();
  return endedResult(result, request.timeoutMs, redactor);
}

/** The last whole line that says something: in one that is cut or not finished, a secret would not be known as one. */
function lastLine(output: string, redactor: Redactor): string {
  const lines = redactor.text(plainText(output)).split("\n");
  const isCut = output.length >= WATCHED_LENGTH;
  return lines.slice(isCut ? 1 : 0, -1).findLast((line) => line.trim() !== "") ?? "";
}
