/** The client of agent servers, with the programs and the clock of this machine. */

import type { AcpDeadlines } from "./acp/agent.ts";
import { AcpClient } from "./acp/client.ts";
import type { AcpPermissionPolicy } from "./acp/library-session.ts";
import type { AcpServer } from "./acp/server-entry.ts";
import type { Clock } from "./core/clock.ts";
import { checkOptions, type OptionNames } from "./core/options.ts";
import type { Programs } from "./core/process.ts";
import { systemHost } from "./host.ts";
import { openPrograms } from "./process/programs.ts";

/** The servers, and what may be replaced. */
export type CreateAcpClientOptions = {
  /** By name; the first one is the default. */
  readonly servers: Readonly<Record<string, AcpServer>>;
  readonly defaultServer?: string | undefined;
  /** Where sessions work that name no folder; the working directory when unset. */
  readonly cwd?: string | undefined;
  /** For the sessions of this client; those of a runtime follow its rules. `deny` when unset. */
  readonly permissions?: AcpPermissionPolicy | undefined;
  readonly deadlines?: Partial<AcpDeadlines> | undefined;
  /** What starts the servers; closed with the client only when it is the client's own. */
  readonly programs?: Programs | undefined;
  readonly clock?: Clock | undefined;
};

const OPTIONS: OptionNames<CreateAcpClientOptions> = {
  ...{ servers: true, defaultServer: true, cwd: true, permissions: true, deadlines: true, programs: true, clock: true },
};

/** Starts nothing: a server is started when it is first used. Close the client with `dispose`, or open it with `await using`. */
export function createAcpClient(options: CreateAcpClientOptions): AcpClient {
  checkOptions("createAcpClient()", options, OPTIONS);
  const host = systemHost();
  const { programs = openPrograms({ environment: host.environment }), clock = host.clock, cwd = host.cwd } = options;
  const close = async (): Promise<void> => {
    if (options.programs === undefined) await programs[Symbol.asyncDispose]();
  };
  return new AcpClient({ ...options, cwd }, { programs, clock }, close);
}
