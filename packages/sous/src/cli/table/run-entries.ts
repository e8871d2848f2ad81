/** The descriptions of the commands that run agents: `sous chat`, `sous run`, `sous demo`, `sous resume`. */

import type { CommandEntry, OptionEntry, OptionGroup } from "./command-entry.ts";
import { BARE, CONFIG, DB_PATH, DISPLAY, EPHEMERAL, JSON_OPTION, MODEL, REQUIRE_STORE } from "./common-options.ts";

const MAX_TURNS: OptionEntry = { name: "max-turns", value: "N", about: "model calls of the root (50)" };

const LIMITS: OptionGroup = {
  title: "limits, for the whole tree",
  options: [
    MAX_TURNS,
    { name: "max-depth", value: "N", about: "the deepest level of children, 1 to 10 (3)" },
    { name: "max-agents", value: "N", about: "children that may start" },
    { name: "max-concurrent", value: "N", about: "children at the same time (5)" },
    { name: "max-tokens-total", value: "N", about: "tokens, in and out" },
    { name: "budget", value: "USD", about: "money, such as 0.50" },
    { name: "timeout", value: "TIME", about: "time, such as 90s, 5m or 2h" },
  ],
};

const ALLOW: OptionEntry = {
  name: "allow",
  value: "RULE",
  about: "do not ask about this, such as 'terminal(npm test*)'; any number of times",
};

const YES: OptionEntry = { name: "yes", about: "allow everything that no rule denies" };

const RIGHTS: OptionGroup = {
  title: "rights",
  options: [
    { name: "tools", value: "A,B", about: "only these tools" },
    { name: "deny-tools", value: "A,B", about: "all tools but these" },
    ALLOW,
    YES,
  ],
};

const KEEP: OptionGroup = {
  title: "model, files and runs",
  options: [MODEL, CONFIG, BARE, DB_PATH, EPHEMERAL, REQUIRE_STORE],
};

const LOG_FILE: OptionEntry = {
  name: "log-file",
  value: "FILE",
  offers: "file",
  about: "append the log to this private file instead of stderr",
};

const QUIET: OptionEntry = { name: "quiet", about: "no progress" };

const SHOW: OptionGroup = {
  title: "what is shown",
  options: [
    QUIET,
    { name: "verbose", about: "everything that happens; the same as --log-level debug" },
    {
      name: "log-format",
      value: "FORMAT",
      words: ["pretty", "json"],
      about: "log lines for people (pretty, default) or programs (json)",
    },
    {
      name: "log-level",
      value: "LEVEL",
      words: ["debug", "info", "warn", "error"],
      about: "log lines of this weight: debug, info, warn or error; on stderr",
    },
    LOG_FILE,
    ...DISPLAY,
  ],
};

export const CHAT: CommandEntry = {
  name: "chat",
  about: "talk with an agent in this folder; sous alone is the same",
  text: [
    "Type, and the agent answers; its children are shown while they work. /help lists what else can be typed. In a pipe every line is a message, and the answers are on stdout.",
  ],
  usage: ["chat [options]"],
  examples: ["sous", "sous chat --continue", "sous chat --model openai/gpt-5 --budget 1"],
  groups: [
    {
      title: "go on",
      options: [
        { name: "continue", about: "with the newest conversation" },
        { name: "resume", value: "ID", offers: "run", about: "with this one" },
      ],
    },
    KEEP,
    LIMITS,
    RIGHTS,
    SHOW,
  ],
};

export const RUN: CommandEntry = {
  name: "run",
  about: "one task, one answer on stdout; for scripts and pipes",
  text: [
    "What is piped in is added to the task; - takes the task itself from there. Progress is on stderr. Nobody can be asked: what needs consent is refused unless a rule or --allow allows it, and then the command ends with 7.",
  ],
  usage: ['run "TASK" [options]', '-p "TASK" [options]'],
  examples: [
    'sous run "Why does npm test fail?"',
    'git diff | sous run "Review this" --budget 0.50',
    'sous run "Run the tests" --allow "terminal(npm test*)"',
    'sous run "Count the files" --json | jq -r .result',
  ],
  groups: [
    {
      title: "answer",
      options: [
        {
          name: "output-format",
          value: "FORMAT",
          words: ["text", "json", "stream-json"],
          about: "text (default), json: one object, or stream-json: one event a line, the result last",
        },
        { name: "json", about: "the same as --output-format json" },
        {
          name: "output-schema",
          value: "SCHEMA",
          offers: "file",
          about: "a JSON Schema that the answer must match: a file, or the schema itself",
        },
      ],
    },
    KEEP,
    LIMITS,
    RIGHTS,
    SHOW,
  ],
};

export const DEMO: CommandEntry = {
  name: "demo",
  about: "a real tree of agents on a scripted model: no key, no network",
  text: [
    "The model is scripted: no key, no network. Agents, tools, limits and files are real. The run is kept, and sous replay shows it again.",
  ],
  usage: ["demo [options]"],
  examples: ["sous demo", "sous replay --tree --id last"],
  groups: [{ title: "options", options: [EPHEMERAL, REQUIRE_STORE, DB_PATH, ...DISPLAY] }],
};

export const RESUME: CommandEntry = {
  name: "resume",
  about: "go on with a run after a crash or a stop",
  text: [
    "What is finished is not done again. The answer is on stdout, progress on stderr, and the exit code is that of the run. Two processes cannot go on with one run.",
    'ID is a whole id, at least 6 characters of its beginning, or "last". Without one it is the newest run that was interrupted.',
  ],
  usage: ["resume [ID] [options]"],
  examples: ["sous resume", "sous resume 01K2F8Q6ZV --budget +20000", "sous resume last --fork --at 2"],
  offers: "run",
  groups: [
    {
      title: "options",
      options: [
        { name: "last", about: "the newest root, whatever became of it" },
        { name: "fork", about: "go on in a copy, and leave the run as it is" },
        { name: "at", value: "TURN", about: "with --fork: go on behind this turn" },
        { name: "budget", value: "+TOKENS", about: "so many tokens more than it was given" },
        { ...MAX_TURNS, about: "model calls of the root, instead of what it was given" },
        { name: "timeout", value: "TIME", about: "so long from now, such as 90s, 5m or 2h" },
        ALLOW,
        YES,
        CONFIG,
        BARE,
        REQUIRE_STORE,
        DB_PATH,
        JSON_OPTION,
        QUIET,
        ...DISPLAY,
      ],
    },
  ],
};
