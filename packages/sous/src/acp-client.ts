/** The client of agent servers, with the programs and the clock of this machine. */

import { openPrograms } from "./app/process/programs.ts";
import type { AcpDeadlines } from "./bridges/acp/agent.ts";
import { AcpClient } from "./bridges/acp/client.ts";
import type { AcpServer } from "./bridges/acp/client-types.ts";
import type { AcpPermissionPolicy } from "./bridges/acp/library-session.ts";
import type { Clock } from "./core/clock.ts";
import {
  eitherOf,
  functionOf,
  type OptionKinds,
  objectOf,
  recordOf,
  TEXT,
  withFunctions,
  wordOf,
} from "./core/option-kinds.ts";
import { checkOptions } from "./core/options.ts";
import type { Programs } from "./core/process.ts";
import { systemHost } from "./machine/host.ts";

/** The servers, and what may be replaced. */
export type CreateAcpClientOptions = {
  /** The servers by name; the first one is the default. */
  readonly servers: Readonly<Record<string, AcpServer>>;
  readonly defaultServer?: string | undefined;
  /** The folder of sessions that name none; the working directory when unset. */
  readonly cwd?: string | undefined;
  /** The policy for sessions of this client; sessions of a runtime follow its rules. `deny` when unset. */
  readonly permissions?: AcpPermissionPolicy | undefined;
  readonly deadlines?: Partial<AcpDeadlines> | undefined;
  readonly clock?: Clock | undefined;
};

const OPTIONS: OptionKinds<CreateAcpClientOptions> = {
  servers: recordOf("servers", objectOf()),
  defaultServer: TEXT,
  cwd: TEXT,
  permissions: eitherOf(wordOf("deny", "allow"), functionOf<Exclude<AcpPermissionPolicy, string>>()),
  deadlines: objectOf(),
  clock: withFunctions("now", "monotonic", "timer"),
};

/** Starts nothing: a server is started when it is first used. Close the client with `dispose`, or open it with `await using`. */
export function createAcpClient(options: CreateAcpClientOptions): AcpClient {
  const programs = openPrograms({ environment: systemHost().environment });
  return acpClientOn(programs, options, async () => await programs[Symbol.asyncDispose]());
}

/** A client whose servers are started by programs of the caller, who closes them. */
export function acpClientOn(
  programs: Programs,
  options: CreateAcpClientOptions,
  onDispose: () => Promise<void> = async () => {},
): AcpClient {
  checkOptions("createAcpClient()", options, OPTIONS);
  const host = systemHost();
  const { clock = host.clock, cwd = host.cwd } = options;
  return new AcpClient({ ...options, cwd }, { programs, clock }, onDispose);
}
