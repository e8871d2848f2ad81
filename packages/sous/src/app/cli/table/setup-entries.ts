/** The descriptions of the commands that look at how sous is set up. */

import { CONFIG, type CommandEntry, DB_PATH, DISPLAY, JSON_OPTION, MODEL, oneGroup } from "./entry.ts";

export const AGENTS = {
  name: "agents",
  about: "list, show, check and import agent files, or begin a new one",
  text: [
    "An agent file is Markdown with a few keys at its top. Those of Claude Code, gemini-cli and opencode are read unchanged. Files of a project count only after sous trust.",
  ],
  usage: [
    "agents list",
    "agents show NAME",
    "agents check [FILE …]",
    "agents new NAME [--user]",
    "agents import [--from S] [--yes]",
  ],
  examples: ["sous agents list", "sous agents new scout", "sous agents show scout"],
  words: [
    { name: "list", about: "every agent that is found, and where" },
    { name: "show", about: "one agent: its tools and rights, and where each came from", offers: "agent" },
    { name: "check", about: "what is wrong with the agent files", offers: "file" },
    { name: "new", about: "write a first file for an agent" },
    { name: "import", about: "copy your agents of Claude Code, gemini-cli and opencode" },
  ],
  groups: oneGroup(
    { name: "user", about: "with new: among your own agents, not those of the project" },
    { name: "from", value: "S", words: ["claude", "gemini", "opencode"], about: "with import: of this program only" },
    { name: "yes", about: "with import: copy what is new without asking, replace nothing" },
    JSON_OPTION,
    ...DISPLAY,
  ),
} as const satisfies CommandEntry;

export const CONFIG_COMMAND = {
  name: "config",
  about: "explain and check the settings, or print their schema",
  text: [
    "A setting comes from a flag, else a variable (SOUS_AGENT_SUBAGENT_MAX_DEPTH), else the project's .sous/config.yaml once it is trusted, else $XDG_CONFIG_HOME/sous/config.yaml, else the default.",
  ],
  usage: ["config explain [KEY]", "config check", "config schema"],
  examples: ["sous config explain agent.subagent.max_depth", "sous config check"],
  words: [
    { name: "explain", about: "what a setting is, and where it comes from" },
    { name: "check", about: "every mistake at once, with its line" },
    { name: "schema", about: "the JSON Schema for an editor" },
  ],
  groups: oneGroup(
    { name: "all", about: "explain every setting, not only those that were set" },
    CONFIG,
    JSON_OPTION,
    ...DISPLAY,
  ),
} as const satisfies CommandEntry;

export const PERMISSIONS = {
  name: "permissions",
  about: "say which rule decides about a command, and why",
  text: [
    "Reads the rules as sous run would and asks them about one command of the terminal tool, or about the call of a tool of an MCP server, mcp__SERVER__TOOL(field=value), of an agent, subagent(NAME), or a task for an external agent, subagent_delegate(NAME). Runs nothing. A command that is not understood is asked about while a rule denies or asks about commands; without a person, and with --yes, it is refused.",
  ],
  usage: ["permissions test COMMAND [--allow RULE] [--yes]"],
  examples: [
    "sous permissions test 'git push --force'",
    "sous permissions test 'npm test' --allow 'terminal(npm test*)'",
    "sous permissions test 'mcp__github__create_issue(owner=acme)'",
    "sous permissions test 'subagent(scout)'",
    "sous permissions test 'subagent_delegate(claude)'",
  ],
  words: [{ name: "test", about: "the answer of the rules to one command" }],
  groups: oneGroup(
    { name: "allow", value: "RULE", about: "with this rule, too; may be given more than once" },
    { name: "yes", about: "as if sous ran with --yes" },
    CONFIG,
    JSON_OPTION,
    ...DISPLAY,
  ),
} as const satisfies CommandEntry;

export const TRUST = {
  name: "trust",
  about: "let sous read the settings and agents of this folder",
  text: [
    "Before that the settings, agent files and notes of a project are not read, and none of its programs is started; tools read its other files all the same. Trust is for this folder as it is now: when one of these files changes, it must be given again; a note of a sub-folder that changes is only not read. Until then what the project denied or asked about still holds, and a command that cannot ask ends with 3.",
  ],
  usage: ["trust [--yes]", "trust --revoke"],
  examples: ["sous trust", "sous trust --revoke"],
  groups: oneGroup({ name: "yes", about: "do not ask" }, { name: "revoke", about: "take it back" }, ...DISPLAY),
} as const satisfies CommandEntry;

export const DOCTOR = {
  name: "doctor",
  about: "check this machine and the setup, and say what to do",
  text: [
    "Looks, and changes nothing: no program is started but those of agent_servers, to see whether they answer; no request is made unless --online asks for one, and no key is shown. Ends with 0 when nothing is a problem, 3 when the configuration is broken, 1 otherwise.",
  ],
  usage: ["doctor [--online] [--json]"],
  examples: ["sous doctor", "sous doctor --online", "sous doctor --json | jq '.checks[] | select(.state != \"ok\")'"],
  groups: oneGroup(
    { name: "online", about: "make one request to the provider, without a key" },
    MODEL,
    CONFIG,
    DB_PATH,
    JSON_OPTION,
    ...DISPLAY,
  ),
} as const satisfies CommandEntry;

export const COMPLETION = {
  name: "completion",
  about: "completion for bash, zsh or fish",
  text: ["Prints a script. The shell then completes commands, options, the words they take, run ids and agents."],
  usage: ["completion bash|zsh|fish"],
  examples: [
    'eval "$(sous completion bash)"      # in ~/.bashrc',
    'eval "$(sous completion zsh)"       # in ~/.zshrc, after compinit',
    "sous completion fish | source       # in ~/.config/fish/config.fish",
  ],
  words: [
    { name: "bash", about: "for bash 4 or newer" },
    { name: "zsh", about: "for zsh" },
    { name: "fish", about: "for fish" },
  ],
  groups: oneGroup({ name: "help", short: "h", about: "this text" }),
} as const satisfies CommandEntry;
