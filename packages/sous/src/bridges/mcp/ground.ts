/** The parts that servers need, passed from the application to every part of the client. */

import type { Clock } from "../../core/clock.ts";
import type { McpServer } from "../../core/configuration.ts";
import type { Programs } from "../../core/process.ts";
import type { CheckSchema } from "./definitions.ts";
import type { PinBook } from "./pins.ts";

export type McpGround = {
  /** Starts servers that are programs. */
  readonly programs: Programs;
  readonly clock: Clock;
  /** The workspace; also the only root that servers are told. */
  readonly cwd: string;
  /** The approved definitions. */
  readonly pins: PinBook;
  /** Variables of started servers that no setting of a server changes: the trace, and limits. */
  readonly environment?: Readonly<Record<string, string>> | undefined;
  /** True when a server of a project may be on this host although its address is not public; none may when unset. */
  readonly mayReach?: ((host: string) => boolean) | undefined;
  /** Throws for a schema that the runtime could not use; the tool is left out then. */
  readonly checkSchema?: CheckSchema | undefined;
};

/**
 * Adds the folder that a program of a project starts in: two projects may have different servers that are started by the same
 * words, and what was approved in one says nothing about the other.
 */
export function located(server: McpServer, { cwd }: Pick<McpGround, "cwd">): McpServer {
  const { transport, scope } = server;
  if (transport.type !== "stdio" || scope === "user" || transport.cwd !== undefined) return server;
  return { ...server, transport: { ...transport, cwd } };
}
