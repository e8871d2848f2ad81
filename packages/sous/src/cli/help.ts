/** What `sous --help` prints, and what is said about a command this build does not have. */

import { inertLine } from "./inert.ts";

export const HELP = `sous: agents that delegate

usage: sous <command> [options]

commands
  demo            a real tree of agents over the files of this folder, on a scripted model: no key, no network

options of demo
  --ascii         plain glyphs
  --color WHEN    auto (default), always or never; NO_COLOR and FORCE_COLOR are heard too

options
  -h, --help      this text
  -V, --version   the version

Everything else sous can do so far is in the library: import { agent, run, tool } from "sous".
`;

/** The commands of the contract that are still to come. */
const LATER = [
  "chat",
  "run",
  "-p",
  "replay",
  "resume",
  "view",
  "agents",
  "acp",
  "mcp",
  "metrics",
  "worker",
  "config",
  "trust",
  "doctor",
  "completion",
];

export function complaintAbout(command: string | undefined): string {
  const name = command === undefined ? "chat" : inertLine(command, 60);
  const found = LATER.includes(name)
    ? `sous ${name} is not in this build.`
    : `There is no command ${JSON.stringify(name)}.`;
  return `error: ${found} Try sous demo, or sous --help.\n`;
}
