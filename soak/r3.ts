/** R3 in full: processes that a run has started, after INT, TERM and KILL. */

import { MCP_COMMAND } from "../packages/sous/test/figures/r3-mcp.ts";
import { REAL_COMMAND, runOrphanKills } from "../packages/sous/test/figures/r3-orphans.ts";
import type { Figure } from "./main.ts";

export const ORPHANS: readonly Figure[] = [
  {
    name: "R3 1,000 kills of processes with programs running",
    async measure(seed) {
      const figure = await runOrphanKills({ seed, kills: 1_000 });
      return { figure, isReached: figure.orphans.length === 0 };
    },
  },
  {
    name: "R3 200 kills of sous run with programs running",
    async measure(seed) {
      const figure = await runOrphanKills({ seed, kills: 200, ...REAL_COMMAND });
      return { figure, isReached: figure.orphans.length === 0 };
    },
  },
  {
    name: "R3 200 kills of sous run with MCP servers that ignore TERM",
    async measure(seed) {
      const figure = await runOrphanKills({ seed, kills: 200, ...MCP_COMMAND });
      return { figure, isReached: figure.orphans.length === 0 };
    },
  },
];
