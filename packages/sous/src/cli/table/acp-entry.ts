/** The description of `sous acp`: agents of others that sous delegates to, and sous as an agent of an editor. */

import {
  BARE,
  CONFIG,
  type CommandEntry,
  DB_PATH,
  DISPLAY,
  EPHEMERAL,
  JSON_OPTION,
  MODEL,
  REQUIRE_STORE,
} from "./entry.ts";

export const ACP = {
  name: "acp",
  about: "list and check agents of others, or serve sous to an editor",
  text: [
    "ACP is the Agent Client Protocol. The servers of agent_servers in the configuration are agents that sous can delegate to; those of a project count only after sous trust.",
    "check starts the program of a server, as a delegation would, asks for its abilities and ends it; no prompt is sent. It ends with 0 when the server answers, and with 1 when it does not.",
  ],
  usage: ["acp list [--json]", "acp check NAME [--json]", "acp serve"],
  examples: ["sous acp list", 'sous acp check "Claude Code"', "sous acp serve"],
  words: [
    { name: "list", about: "every server, its command, and whether the program is found" },
    { name: "check", about: "start one server, and say what it can do" },
    { name: "serve", about: "speak ACP on stdin and stdout, for an editor" },
  ],
  groups: [
    { title: "options", options: [CONFIG, BARE, JSON_OPTION, ...DISPLAY] },
    { title: "with serve", options: [MODEL, DB_PATH, EPHEMERAL, REQUIRE_STORE] },
  ],
} as const satisfies CommandEntry;
