/** The descriptions of the commands that run agents: `sous chat`, `sous run`, `sous demo`, `sous resume`. */

import { LIMIT_SETTINGS } from "../../config/limit-settings.ts";
import {
  BARE,
  CONFIG,
  type CommandEntry,
  DB_PATH,
  DISPLAY,
  EPHEMERAL,
  JSON_OPTION,
  MODEL,
  type OptionEntry,
  type OptionGroup,
  oneGroup,
  REQUIRE_STORE,
} from "./entry.ts";

const LIMIT_FLAGS = Object.values(LIMIT_SETTINGS).flatMap((limit) =>
  "flag" in limit ? [{ ...limit.flag, sets: limit.key }] : [],
);

export const LIMITS = {
  title: "limits",
  options: LIMIT_FLAGS,
} as const satisfies OptionGroup;

const ALLOW = {
  name: "allow",
  value: "RULE",
  about: "do not ask about this, such as 'terminal(npm test*)'; any number of times",
} as const satisfies OptionEntry;

const YES = { name: "yes", about: "allow everything that no rule denies" } as const satisfies OptionEntry;

const PARK = {
  name: "park",
  about: "leave open what needs approval: the run stops, and sous resume --approve answers",
} as const satisfies OptionEntry;

const TOOLS = {
  name: "tools",
  value: "A,B",
  allows: "",
  about: "exactly these tools, such as read_file,subagent; '' for none",
} as const satisfies OptionEntry;

const DENY_TOOLS = {
  name: "deny-tools",
  value: "A,B",
  about: "all tools but these; subagent: no children",
} as const satisfies OptionEntry;

const NO_DELEGATE = {
  name: "no-delegate",
  about: "no children: all tools but those that start them",
} as const satisfies OptionEntry;

export const RIGHTS = {
  title: "rights",
  options: [TOOLS, DENY_TOOLS, NO_DELEGATE, ALLOW, YES],
} as const satisfies OptionGroup;

const AGENT = {
  name: "agent",
  value: "NAME",
  about: "run this agent of a file instead of sous itself, with its tools, rights and model",
} as const satisfies OptionEntry;

const STORAGE = {
  title: "model, files and runs",
  options: [AGENT, MODEL, CONFIG, BARE, DB_PATH, EPHEMERAL, REQUIRE_STORE],
} as const satisfies OptionGroup;

const LOG_FILE = {
  name: "log-file",
  value: "FILE",
  about: "append the log to this private file instead of stderr",
} as const satisfies OptionEntry;

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;

export const QUIET = { name: "quiet", about: "no progress" } as const satisfies OptionEntry;

const LOG = [
  { name: "verbose", about: "everything that happens; the same as --log-level debug" },
  {
    name: "log-format",
    value: "FORMAT",
    words: ["pretty", "json"],
    default: "pretty",
    about: "log lines for people (pretty, default) or programs (json)",
  },
  {
    name: "log-level",
    value: "LEVEL",
    words: LOG_LEVELS,
    about:
      "log lines of this level and above: debug, info, warn or error; on stderr, for a chat in a terminal in a file",
  },
  LOG_FILE,
] as const satisfies readonly OptionEntry[];

export const METRICS_PORT = {
  name: "metrics-port",
  value: "N",
  allows: "0",
  about: "serve metrics for Prometheus on this port of 127.0.0.1; 0 is any free one",
  sets: "metrics.port",
} as const satisfies OptionEntry;

const SHOW = {
  title: "what is shown",
  options: [QUIET, ...LOG, METRICS_PORT, ...DISPLAY],
} as const satisfies OptionGroup;

const HERE = {
  name: "here",
  about: "also one of another folder: it continues with the files of this one",
} as const satisfies OptionEntry;

export const CHAT = {
  name: "chat",
  about: "talk with an agent in this folder; sous alone is the same",
  text: [
    "Type, and the agent answers; its children are shown while they work. /help lists what else can be typed. In a pipe every line is a message, and the answers are on stdout.",
  ],
  usage: ["chat [options]"],
  examples: ["sous", "sous chat --continue", "sous chat --model openai/gpt-5 --budget 1"],
  groups: [
    {
      title: "earlier conversations",
      options: [
        {
          name: "continue",
          about: "continue the newest one of this folder; a run that was interrupted continues at once",
        },
        { name: "resume", value: "[ID]", about: "continue this one; without ID, choose from a list" },
        HERE,
      ],
    },
    STORAGE,
    LIMITS,
    RIGHTS,
    SHOW,
  ],
} as const satisfies CommandEntry;

export const OUTPUT_FORMATS = ["text", "json", "stream-json"] as const;

export const RUN = {
  name: "run",
  about: "one task, one answer on stdout; for scripts and pipes",
  text: [
    "What is piped in is added to the task; - takes the task itself from there. Progress is on stderr. It never prompts: an action that needs approval is refused unless a rule or --allow allows it, and then the command ends with 7.",
  ],
  usage: ['run "TASK" [options]', '-p "TASK" [options]'],
  examples: [
    'sous run "Why does npm test fail?"',
    'git diff | sous run "Review this" --budget 0.50',
    'sous run "Run the tests" --allow "terminal(npm test*)"',
    'sous run "Count the files" --json | jq -r .result',
    'sous run --detach "Update the changelog"',
  ],
  groups: [
    {
      title: "answer",
      options: [
        {
          name: "output-format",
          value: "FORMAT",
          words: OUTPUT_FORMATS,
          about: "text (default), json: one object, or stream-json: one event a line, the result last",
        },
        { name: "json", about: "the same as --output-format json" },
        {
          name: "output-schema",
          value: "SCHEMA",
          about: "a JSON Schema that the answer must match: a file, or the schema itself",
        },
        { name: "require-all", about: "fail when a child fails, whatever the answer is" },
        { name: "detach", about: "leave the run to a worker (sous worker), print its id and end" },
      ],
    },
    STORAGE,
    LIMITS,
    { ...RIGHTS, options: [...RIGHTS.options, PARK] },
    SHOW,
  ],
} as const satisfies CommandEntry;

export const DEMO = {
  name: "demo",
  about: "a real tree of agents on a scripted model: no key, no network",
  text: [
    "The model is scripted: no key, no network. Agents, tools, limits and files are real. The run is stored, and sous replay shows it again.",
  ],
  usage: ["demo [options]"],
  examples: ["sous demo", "sous replay --tree --id last"],
  groups: oneGroup(EPHEMERAL, REQUIRE_STORE, DB_PATH, CONFIG, ...DISPLAY),
} as const satisfies CommandEntry;

export const RESUME = {
  name: "resume",
  about: "continue an interrupted or stopped run",
  text: [
    "What is finished is not done again. The answer is on stdout, progress on stderr, and the exit code is that of the run. Two processes cannot continue one run.",
    'ID is a whole id, at least 6 characters of its beginning, or "last". Without one it is the newest run that was interrupted or waits for an answer.',
    "The open questions of a run that was made with --park are answered by --approve and --deny; what is still open then stays open. With all and no open questions the run continues. A yes counts for what was read: a question of one line is approved by its id, any other by ID:DIGEST, which stands behind its last line. What leads elsewhere by then, such as a folder that has become a link, is asked again.",
    "A run belongs to the folder it was made in. In another folder it is refused unless --here is given.",
  ],
  usage: ["resume [ID] [options]"],
  examples: [
    "sous resume",
    "sous resume 01K2F8Q6ZV --add-budget 0.50",
    "sous resume last --approve 17 --deny '23=not on a Friday'",
    "sous resume last --approve 21:9f2c41aa",
    "sous resume last --fork --at 2",
  ],
  offers: "run",
  groups: oneGroup(
    { name: "last", about: "the newest run of this folder, whatever its status" },
    HERE,
    {
      name: "approve",
      value: "QID[:DIGEST]",
      about: "allow what this open question is about; all for those of one line; may be repeated",
    },
    { name: "deny", value: "QID[=WHY]", about: "do not allow it; the model reads why; may be repeated" },
    PARK,
    { name: "fork", about: "continue in a copy that belongs to this folder, and leave the run as it is" },
    { name: "at", value: "TURN", allows: "0", about: "with --fork: continue after this turn" },
    { name: "add-budget", value: "USD", about: "raise its limit of money by this, such as 0.50" },
    { name: "add-tokens", value: "N", about: "raise its limit of tokens by this, such as 20000" },
    { ...LIMIT_SETTINGS.maxTurns.flag, about: "turns of the root, instead of its earlier limit" },
    { name: "timeout", value: "TIME", about: "a new time limit from now, such as 90s, 5m or 2h" },
    { ...TOOLS, about: "of the tools it had, only these" },
    DENY_TOOLS,
    NO_DELEGATE,
    ALLOW,
    YES,
    CONFIG,
    BARE,
    REQUIRE_STORE,
    DB_PATH,
    JSON_OPTION,
    QUIET,
    ...LOG,
    ...DISPLAY,
  ),
} as const satisfies CommandEntry;
