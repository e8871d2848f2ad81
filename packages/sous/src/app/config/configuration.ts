/** The settings of the command line once they are read, checked and merged. Times are seconds, as in the files; those of limits are milliseconds. */

import type * as z from "zod";
import type { McpServer, PermissionRule } from "../../core/configuration.ts";
import type { Budget } from "../../core/limits.ts";
import type { DelegationLimits } from "../../core/words/limits.ts";
import type { SETTINGS } from "./settings.ts";

/** An external agent that is started as a program and speaks ACP: one entry of `agent_servers`. */
export type AgentServer = {
  /** The name as it is written there: `Claude Code`. */
  readonly name: string;
  /** A program in PATH, or an absolute path. */
  readonly command: string;
  readonly args: readonly string[];
  /** The folder in which the program is started. Its sessions work in the folder of the run. */
  readonly cwd: string;
  /** The variables it gets besides the few that every program gets. */
  readonly env: Readonly<Record<string, string>>;
  /** The mode of its sessions; undefined is the agent's own. Only the user's own configuration has one. */
  readonly defaultMode: string | undefined;
  readonly model: string | undefined;
  /** The longest time that one run of it may take. */
  readonly timeoutMs: number;
  /** USD that one prompt may cost. Only the user's own configuration has it. */
  readonly maxCostUsd: number | undefined;
  /** The file and line it came from, for people. */
  readonly origin?: string | undefined;
};

/** `base_url` becomes `baseUrl`. */
type Camel<Name> = Name extends `${infer First}_${infer Rest}` ? `${First}${Capitalize<Camel<Rest>>}` : Name;

/** The values of a group of settings. */
type Values<Group> = {
  readonly [Name in keyof Group as Camel<Name>]: Group[Name] extends {
    type: z.ZodType<infer Value>;
    default: infer Default;
  }
    ? Value | (Default extends undefined ? undefined : never)
    : Values<Group[Name]>;
};

export type SettingValues = Values<typeof SETTINGS>;

/** Every setting by its place in the files, and the limits by the options of `run()` that they are for. */
export type Configuration = Omit<SettingValues, "agent" | "permissions" | "agentServers" | "mcpServers"> & {
  readonly agent: SettingValues["agent"] & {
    readonly maxTurns: number;
    /** The budget of the whole tree. */
    readonly budget: Budget;
    readonly limits: DelegationLimits;
  };
  readonly permissions: readonly PermissionRule[];
  /** The agent servers by name, those of the user first. */
  readonly agentServers: Readonly<Record<string, AgentServer>>;
  /** The MCP servers by name, those of the user first; includes those that are disabled. */
  readonly mcpServers: Readonly<Record<string, McpServer>>;
};

/** Settings of the data that leaves the process besides logs. Only the user's own configuration has them. */
export type TelemetrySettings = Pick<Configuration, "metrics" | "telemetry">;
