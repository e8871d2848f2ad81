/** A started world around `hostile-server.ts`: its script, what it was sent, and calls of its tools. */

import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { openPrograms } from "../../../../src/app/process/programs.ts";
import { type McpGround, type McpTools, openMcpTools } from "../../../../src/bridges/mcp/open.ts";
import { openPinBook } from "../../../../src/bridges/mcp/pins.ts";
import type { Clock } from "../../../../src/core/clock.ts";
import type { McpServer } from "../../../../src/core/configuration.ts";
import { dataMark } from "../../../../src/core/data-mark.ts";
import { ToolFailure } from "../../../../src/core/errors.ts";
import type { Programs } from "../../../../src/core/process.ts";
import type { Tool, ToolContext, ToolResult } from "../../../../src/core/tool.ts";
import { systemClock } from "../../../../src/machine/host.ts";
import { compileSchema } from "../../../../src/runtime/schema/compile.ts";
import { compiled } from "../../app/cli/sous-process.ts";
import { contextIn, temporaryTree } from "../../app/tools/temporary-tree.ts";
import type { HostileScript } from "./hostile-server.ts";

export const SERVER_FILE: string = join(import.meta.dirname, "hostile-server.ts");

export type World = AsyncDisposable & {
  readonly folder: string;
  readonly ground: McpGround;
  /** A server that follows this script; each name has its own. */
  server(script: HostileScript, settings?: Partial<McpServer>): McpServer;
  change(name: string, script: HostileScript): void;
  /** What it was sent, and which processes it started. */
  log(name?: string): Record<string, unknown>[];
  open(...servers: McpServer[]): Promise<McpTools>;
};

export async function hostileWorld(
  given: { clock?: Clock; environment?: Record<string, string>; programs?: Programs } = {},
): Promise<World> {
  const { clock = systemClock, environment = {} } = given;
  const tree = await temporaryTree({ "workspace/": "", "state/": "" });
  const { programs = openPrograms({ environment: { PATH: process.env.PATH, ...environment } }) } = given;
  const opened: McpTools[] = [];
  const ground: McpGround = {
    programs,
    clock,
    cwd: join(tree.path, "workspace"),
    pins: openPinBook(join(tree.path, "state")),
    checkSchema: (schema) => void compileSchema(schema),
  };
  const fileOf = (name: string): string => join(tree.path, `${name}.json`);
  // In one step: the server may read it at any moment.
  const change: World["change"] = (name, script) => {
    writeFileSync(`${fileOf(name)}.draft`, JSON.stringify(script));
    renameSync(`${fileOf(name)}.draft`, fileOf(name));
  };
  return {
    folder: tree.path,
    ground,
    server(script, settings = {}) {
      const { name = "bad" } = settings;
      change(name, script);
      const args = [SERVER_FILE, fileOf(name)];
      // Half of its start is stripping its types; all but the first find them stripped.
      const env = { NODE_COMPILE_CACHE: compiled };
      const command = { command: process.execPath, args, env, cwd: undefined };
      return {
        name,
        transport: { type: "stdio", ...command },
        startTimeoutMs: 30_000,
        callTimeoutMs: 120_000,
        tools: undefined,
        deny: [],
        agents: undefined,
        isDisabled: false,
        scope: "user",
        ...settings,
      };
    },
    change,
    log(name = "bad") {
      try {
        const lines = readFileSync(`${fileOf(name)}.log`, "utf8")
          .trimEnd()
          .split("\n");
        return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
      } catch {
        return [];
      }
    },
    async open(...servers) {
      const tools = await openMcpTools(servers, ground);
      opened.push(tools);
      return tools;
    },
    async [Symbol.asyncDispose]() {
      for (const each of opened) await each[Symbol.asyncDispose]();
      await programs[Symbol.asyncDispose]();
      await tree[Symbol.asyncDispose]();
    },
  };
}

/** Calls the first tool, or the one of this name. Failures that a model reads come as results. */
export async function callTool(
  { tools }: Pick<McpTools, "tools">,
  input: Record<string, unknown> = {},
  { name, ...context }: Partial<ToolContext> & { name?: string } = {},
): Promise<ToolResult> {
  const found = name === undefined ? tools[0] : tools.find((each) => each.name === name);
  if (found === undefined) throw new Error(`There is no tool ${name}`);
  try {
    return withoutMark((await found.execute(input, { ...contextIn("."), ...context })) as ToolResult, found);
  } catch (error) {
    if (error instanceof ToolFailure && error.name !== "ApprovalNeeded") {
      return { success: false, output: "", error: error.message };
    }
    throw error;
  }
}

/** Whatever a server says, its last line is ours. */
function withoutMark({ output, error, ...rest }: ToolResult, { origin }: Tool): ToolResult {
  const mark = dataMark("MCP server", origin?.server ?? "");
  const said = rest.success ? output : (error ?? "");
  if (!said.endsWith(mark)) throw new Error(`The result does not say whose it is: ${said.slice(-200)}`);
  const own = said.slice(0, -mark.length).replace(/\n$/, "");
  return rest.success ? { ...rest, output: own } : { ...rest, output, error: own };
}

/** Waits for what another process does; fails after ten seconds. */
export async function until(isTrue: () => boolean, what: string): Promise<void> {
  for (let tries = 0; !isTrue(); tries++) {
    if (tries > 1000) throw new Error(`It never came to this: ${what}`);
    await wait(10);
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
