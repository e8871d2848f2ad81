/** The agent servers that a client knows: how each is started, and what may be left out. */

import { UserError } from "../core/errors.ts";
import { outsideName } from "../core/outside-agent.ts";

/** How an agent is started, and what its sessions begin with. */
export type AcpServer = {
  /** A program, looked for in PATH, or an absolute path; not a line for a shell. */
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  /** Where the program is started; the folder of its first session when unset. */
  readonly cwd?: string | undefined;
  /** Besides the few variables that every program gets. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Only here a mode that skips questions can be chosen. */
  readonly defaultMode?: string | undefined;
  readonly model?: string | undefined;
  /** Of one run or one prompt; 30 minutes when unset. */
  readonly timeoutMs?: number | undefined;
  /** USD that a prompt may cost. */
  readonly maxCostUsd?: number | undefined;
};

export type Server = AcpServer & {
  readonly name: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
};

const DEFAULT_TIMEOUT_MS = 30 * 60_000;

export class ServerBook {
  readonly #servers: readonly Server[];
  readonly defaultName: string | undefined;

  constructor(servers: Readonly<Record<string, AcpServer>>, defaultServer: string | undefined) {
    this.#servers = Object.entries(servers).map(([name, server]) => checked(name, server));
    this.defaultName = defaultServer === undefined ? this.#servers[0]?.name : this.find(defaultServer).name;
  }

  get names(): readonly string[] {
    return this.#servers.map(({ name }) => name);
  }

  /** By its name, or as it is written behind `external/`; the default one when none is named. */
  find(name: string | undefined): Server {
    const wanted = name ?? this.defaultName;
    const found =
      this.#servers.find((server) => server.name === wanted) ??
      this.#servers.find((server) => outsideName(server.name) === wanted);
    if (found !== undefined) return found;
    if (this.#servers.length === 0) throw new UserError("No agent server is configured: add one to agent_servers");
    throw new UserError(`Unknown agent server ${JSON.stringify(wanted)}; agent_servers has: ${this.names.join(", ")}`);
  }

  /** The server that an agent's id names, if it names one. */
  named(agentId: string): Server | undefined {
    return this.#servers.find(({ name }) => name === agentId || outsideName(name) === agentId);
  }
}

function checked(name: string, given: AcpServer): Server {
  if (typeof given.command !== "string" || given.command.trim() === "") {
    throw new UserError(`The agent server ${name} has no command: give the program that starts it`);
  }
  const { timeoutMs = DEFAULT_TIMEOUT_MS } = given;
  if (!(timeoutMs > 0)) throw new UserError(`The timeout of the agent server ${name} must be greater than 0`);
  return { ...given, name, args: given.args ?? [], env: given.env ?? {}, timeoutMs };
}
