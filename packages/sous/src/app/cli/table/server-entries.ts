/** The descriptions of `sous acp` and `sous mcp`: external agents, tools of MCP servers, and sous as either of them. */

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
import { LIMITS, RIGHTS } from "./run-entries.ts";

export const MCP = {
  name: "mcp",
  about: "list and check MCP servers, or serve agents as MCP tools",
  text: [
    "MCP is the Model Context Protocol. The servers of mcp_servers in the configuration and of .mcp.json have tools that agents can use; those of a project count only after sous trust.",
    "check starts a server, asks for its tools and ends it; no tool is called. It ends with 0 when the server answers, and with 1 when it does not.",
    "serve offers each agent as a tool: a call is a run of its own in this folder, stored like any other, and its result is the report. It never prompts: an action that no rule allows is refused. Limits hold for each call; within another run of sous all calls together keep its limits.",
  ],
  usage: ["mcp list [--json]", "mcp check NAME [--approve] [--json]", "mcp serve [--agents A,B] [options]"],
  examples: [
    "sous mcp list",
    "sous mcp check github",
    "sous mcp serve --agents reviewer,scout --budget 0.50",
    "sous mcp serve --agents tester --allow 'terminal(npm test*)'",
  ],
  words: [
    { name: "list", about: "every server, how it is reached, and which of its tools are approved" },
    { name: "check", about: "start one server, and show its tools" },
    { name: "serve", about: "speak MCP on stdin and stdout, with agents as tools" },
  ],
  groups: [
    { title: "options", options: [CONFIG, BARE, JSON_OPTION, ...DISPLAY] },
    {
      title: "with check",
      options: [{ name: "approve", about: "approve all tools of the server as they are shown" }],
    },
    {
      title: "with serve",
      options: [
        {
          name: "agents",
          value: "A,B",
          about: "only these agents; sous is the root (default: it and all that agents may call)",
        },
        { name: "cwd", value: "FOLDER", about: "work in this folder instead of the one it is started in" },
        MODEL,
        DB_PATH,
        EPHEMERAL,
        REQUIRE_STORE,
      ],
    },
    { title: "limits of each call, with serve", options: LIMITS.options },
    { title: "rights, with serve", options: RIGHTS.options },
  ],
} as const satisfies CommandEntry;

export const ACP = {
  name: "acp",
  about: "list and check external agents, or serve sous to an editor",
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
