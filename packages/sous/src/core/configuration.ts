/** The parts of a configuration that more than one room uses: rules about calls, and servers of tools. */

export type PermissionEffect = "allow" | "ask" | "deny";

/** One rule: `terminal(git status*)`, `write_file(.env*)`, `fetch(example.com)`, or a tool alone. */
export type PermissionRule = {
  readonly effect: PermissionEffect;
  readonly pattern: string;
  /** The file and line, the flag or the answer it came from, for people. */
  readonly origin: string;
  /** The folder that its paths are relative to, for a rule of a project; the workspace when unset. */
  readonly root?: string | undefined;
};

/** A server of tools that speaks MCP. */
export type McpServer = {
  readonly name: string;
  readonly transport: McpTransport;
  /** The time limit from its start, or the first request, to its list of tools. */
  readonly startTimeoutMs: number;
  /** The time limit of one call. */
  readonly callTimeoutMs: number;
  /** The tools of it that are offered, as it names them; may hold `*`. Undefined is all. */
  readonly tools: readonly string[] | undefined;
  /** The tools of it that are not offered, in the same way. */
  readonly deny: readonly string[];
  /** The agents that get its tools, by name; `sous` is the root. Undefined is every agent that may use them. */
  readonly agents: readonly string[] | undefined;
  readonly isDisabled: boolean;
  /** The reason why it cannot be started as it is written, such as a variable that is not set; it is disabled then. For people. */
  readonly problem?: string | undefined;
  /** The owner of the file that names it. */
  readonly scope: "user" | "project";
  /** The file and line it came from, for people. */
  readonly origin?: string | undefined;
};

/** The timeouts of a server whose entry does not say. */
export const MCP_TIMEOUTS = { startTimeoutMs: 30_000, callTimeoutMs: 120_000 } as const;

/** The way to a server: a program that is started, or an address. `http` tries SSE when the server knows nothing newer. */
export type McpTransport =
  | {
      readonly type: "stdio";
      readonly command: string;
      readonly args: readonly string[];
      /** The variables it gets besides the few that every program gets. */
      readonly env: Readonly<Record<string, string>>;
      /** Undefined is the workspace. */
      readonly cwd: string | undefined;
    }
  | { readonly type: "http" | "sse"; readonly url: string; readonly headers: Readonly<Record<string, string>> };
