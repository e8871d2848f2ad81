/** Tools of MCP servers for programs, with the programs and the clock of this machine. */

import { openPrograms } from "./app/process/programs.ts";
import { openMcpTools } from "./bridges/mcp/open.ts";
import { openPinFile } from "./bridges/mcp/pins.ts";
import { type McpServerOptions, readServerOptions } from "./bridges/mcp/server-options.ts";
import { UserError } from "./core/errors.ts";
import { FLAG, type OptionKinds, SIGNAL, TEXT } from "./core/option-kinds.ts";
import { checkOptions } from "./core/options.ts";
import type { Tool } from "./core/tool.ts";
import { readTraceContext, traceVariables } from "./core/trace-context.ts";
import { systemHost } from "./machine/host.ts";
import { compileSchema } from "./runtime/schema/compile.ts";

/** The options of `mcpTools()` besides the servers. */
export type McpToolsOptions = {
  /** The workspace: where servers start, and the only root they are told; the working directory when unset. */
  readonly cwd?: string | undefined;
  /**
   * A private file that stores which tools were approved, for the next process, too. Without one this process alone remembers them.
   */
  readonly pinFile?: string | undefined;
  /** True: a server that cannot be started is a sentence in `problems`. False (the default): `mcpTools()` rejects. */
  readonly optional?: boolean | undefined;
  /** Aborting it ends the start: `mcpTools()` rejects with its reason. Later it has no effect. */
  readonly signal?: AbortSignal | undefined;
};

const OPTIONS: OptionKinds<McpToolsOptions> = { cwd: TEXT, pinFile: TEXT, optional: FLAG, signal: SIGNAL };

/** The tools of servers, until they are disposed. */
export type McpToolSet = AsyncDisposable & {
  /** The tools for any number of agents, which share the servers. Each call needs approval: a rule, or `approve` of `run()`. */
  readonly tools: readonly Tool[];
  /** One sentence each: tools that were left out, and with `optional` servers that could not be started. */
  readonly problems: readonly string[];
  /** Ends the servers. Later calls of the tools fail. */
  dispose(): Promise<void>;
};

/**
 * Starts the servers and returns their tools, named `mcp__server__tool`. Rejects with a `UserError` for options that are
 * wrong, and for a server that cannot be started unless `optional`. Open it with `await using`, or call `dispose()`.
 */
export async function mcpTools(
  servers: Readonly<Record<string, McpServerOptions>>,
  options: McpToolsOptions = {},
): Promise<McpToolSet> {
  checkOptions("mcpTools()", options, OPTIONS);
  const all = readServerOptions("mcpTools()", servers);
  const { environment, clock, cwd: here } = systemHost();
  const { cwd = here, pinFile, optional = false, signal } = options;
  const programs = openPrograms({ environment });
  const trace = readTraceContext(environment);
  const ground = {
    ...{ programs, clock, cwd, pins: openPinFile(pinFile), environment: trace && traceVariables(trace) },
    checkSchema: (schema: object) => void compileSchema(schema),
  };
  try {
    const opened = await openMcpTools(all, ground, { signal });
    const dispose = async (): Promise<void> => {
      await opened[Symbol.asyncDispose]();
      await programs[Symbol.asyncDispose]();
    };
    if (opened.failed.length > 0 && !optional) {
      await dispose();
      throw new UserError(opened.problems.join("\n"));
    }
    return { tools: opened.tools, problems: opened.problems, dispose, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await programs[Symbol.asyncDispose]();
    throw error;
  }
}
