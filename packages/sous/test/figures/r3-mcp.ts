/** R3 with MCP servers: `sous run` whose programs are started by a server that ignores TERM and the end of its input. */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type OrphanOptions, REAL_COMMAND, realCommand } from "./r3-orphans.ts";

const SERVER = join(import.meta.dirname, "r3-mcp-server.mjs");

/** Half of the commands are started by the server, the others by the terminal tool beside it. */
export const MCP_COMMAND: Pick<OrphanOptions, "victim" | "endings"> = {
  ...REAL_COMMAND,
  victim(order) {
    mkdirSync(join(order.folder, "sous"));
    const stubborn = { command: process.execPath, args: [SERVER] };
    writeFileSync(join(order.folder, "sous/config.yaml"), JSON.stringify({ mcp_servers: { stubborn } }));
    return realCommand(order, ({ command, background }, index) =>
      index % 2 === 0
        ? { tool: "mcp__stubborn__start", input: { command } }
        : { tool: "terminal", input: { command, background } },
    );
  },
};
