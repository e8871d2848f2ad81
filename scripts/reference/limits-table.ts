/** Every limit that a user can meet, with the values of the code. */

import { LIMIT_SETTINGS, type LimitSetting } from "../../packages/sous/src/app/config/limit-settings.ts";
import { DEFAULT_CONVERSATION } from "../../packages/sous/src/core/conversation.ts";
import { METERED_OUTPUT } from "../../packages/sous/src/core/limits.ts";
import { DEFAULT_LIMITS, type DelegationLimit, LIMIT_NAMES, TURNS } from "../../packages/sous/src/core/words/limits.ts";
import { constant } from "./constant.ts";

const bytes = (value: number): string =>
  value >= 1024 * 1024 && value % (1024 * 1024) === 0
    ? `${value / 1024 / 1024} MiB`
    : value >= 1024 && value % 1024 === 0
      ? `${value / 1024} KiB`
      : `${count(value)} bytes`;
const seconds = (ms: number): string => (ms >= 60_000 ? `${ms / 60_000} min` : `${ms / 1000} s`);
const count = (value: number): string => value.toLocaleString("en");
const link = (key: string): string => `[\`${key}\`](config.md#${key.replaceAll(".", "")})`;

type Row = [what: string, limit: string, beyond: string, change: string];

export const LIMITS: Record<string, Row[]> = {
  Delegation: [
    ...LIMIT_NAMES.flatMap(delegationRow),
    ["children of one tree", "none", "", "`budget.executions`, `--max-agents`"],
  ],
  Turns: [
    ["turns of a root", count(TURNS.root), "`incomplete`, `turns`", `${link("agent.max_turns")}, \`maxTurns\``],
    [
      "turns of a child with a definition",
      count(TURNS.named),
      "`incomplete`, `turns`",
      "`maxTurns`, `max_turns` of its file",
    ],
    [
      "turns that a call may ask for",
      count(constant("runtime/subagents/input.ts", "MAX_CALL_TURNS")),
      "the call is refused",
      "",
    ],
    ["`maxTurns` at most", count(TURNS.max), "a `UserError`", ""],
  ],
  "Model calls": [
    [
      "calls of one model at once",
      count(constant("runtime/model/governor.ts", "DEFAULT_CALLS_AT_ONCE")),
      "they wait",
      `${link("provider.max_concurrent_calls")}, \`maxConcurrentCalls\``,
    ],
    [
      "attempts after a passing failure",
      count(constant("runtime/model/ask.ts", "MAX_RETRIES")),
      "the run fails",
      link("provider.max_retries"),
    ],
    [
      "pause that a provider may ask for",
      seconds(constant("runtime/model/ask.ts", "MAX_RATE_WAIT_MS")),
      "the run fails",
      "",
    ],
    [
      "silence of a server",
      seconds(constant("runtime/model/resolve.ts", "SILENCE_MS")),
      "the attempt fails, and is repeated",
      link("provider.timeout"),
    ],
    [
      "one call in all",
      seconds(constant("runtime/model/ai-sdk.ts", "CALL_TIMEOUT_MS")),
      "the run fails",
      link("provider.call_timeout"),
    ],
    [
      "output tokens where tokens or money are limited",
      count(METERED_OUTPUT),
      "the answer is cut off by the provider",
      "`maxOutputTokens`",
    ],
    ["size of an answer", bytes(constant("runtime/model/check-answer.ts", "MAX_ANSWER_BYTES")), "the run fails", ""],
    [
      "characters of an answer that must be JSON",
      count(constant("runtime/loop/parse-output.ts", "MAX_LENGTH")),
      "it does not match its schema",
      "",
    ],
  ],
  Conversation: [
    [
      "tokens of a conversation",
      count(DEFAULT_CONVERSATION.maxTokens),
      `its oldest turns are dropped at ${DEFAULT_CONVERSATION.pruneThreshold * 100} %: [Long conversations](../explanation/long-conversations.md)`,
      `${link("agent.conversation.max_tokens")}, \`conversation.maxTokens\``,
    ],
    [
      "turns that stay",
      count(DEFAULT_CONVERSATION.minRetainTurns),
      "",
      `${link("agent.conversation.min_retain_turns")}, \`conversation.minRetainTurns\``,
    ],
  ],
  Tools: [
    [
      "result of a tool",
      `${count(constant("core/truncate.ts", "MAX_RESULT_BYTES"))} bytes`,
      "cut in the middle, and it says so",
      "",
    ],
    [
      "`read_file`",
      `${count(constant("app/tools/read-only.ts", "MAX_LINES"))} lines, ${bytes(constant("app/tools/read-only.ts", "MAX_BYTES"))}`,
      "the rest by its line numbers",
      "",
    ],
    [
      "`grep`: matches, size of a file",
      `${count(constant("app/tools/grep.ts", "MAX_MATCHES"))}, ${bytes(constant("app/tools/grep.ts", "MAX_FILE_BYTES"))}`,
      "it says that there are more; larger files are skipped",
      "",
    ],
    ["`glob`: files", count(constant("app/tools/read-only.ts", "MAX_FILES")), "it says that there are more", ""],
    [
      "files and folders that one search visits",
      count(constant("app/tools/walk.ts", "MAX_ENTRIES")),
      "it says that it stopped",
      "",
    ],
    ["`write_file`, `edit_file`", bytes(constant("app/tools/file-target.ts", "MAX_WRITTEN_BYTES")), "refused", ""],
    [
      "`terminal`: one command",
      seconds(constant("app/tools/built-in.ts", "DEFAULT_TERMINAL_TIMEOUT_MS")),
      "it is ended",
      link("tools.terminal.timeout"),
    ],
    [
      "`terminal`: commands in the background",
      count(constant("app/tools/terminal-background.ts", "MAX_COMMANDS")),
      "refused",
      "",
    ],
    [
      "`fetch`: page, time",
      `${bytes(constant("app/tools/fetch-page.ts", "MAX_BYTES"))}, ${seconds(constant("app/tools/fetch.ts", "DEFAULT_TIMEOUT_MS"))}`,
      "cut, or failed",
      "",
    ],
  ],
  "Files and input": [
    [
      "standard input of `sous run`",
      `${count(constant("app/cli/run/request.ts", "MAX_STDIN_BYTES"))} bytes`,
      "exit code 2",
      "",
    ],
    ["agent file", bytes(constant("app/config/read-file.ts", "MAX_AGENT_BYTES")), "`SOUS-A…`", ""],
    [
      "configuration file",
      `${count(constant("app/config/read-file.ts", "MAX_CONFIGURATION_BYTES"))} bytes`,
      "`SOUS-C…`",
      "",
    ],
    [
      "exported tree that is imported",
      `${count(constant("storage/store/import/tree.ts", "MAX_LENGTH"))} characters`,
      "refused",
      "",
    ],
  ],
  "Agents as MCP tools": [
    ["calls at work at once", count(constant("bridges/mcp/serve-calls.ts", "MAX_CALLS")), "an error result", ""],
    [
      "`task` of a call",
      `${count(constant("bridges/mcp/serve-calls.ts", "MAX_TASK"))} characters`,
      "an error result",
      "",
    ],
    [
      "report",
      `${count(constant("core/truncate.ts", "MAX_RESULT_BYTES"))} bytes`,
      "cut in the middle, and it says so; the whole is stored",
      "",
    ],
    [
      "one message",
      bytes(constant("app/cli/mcp-serve/served-agents.ts", "MAX_LINE_BYTES")),
      "skipped, with an error",
      "",
    ],
  ],
  "Events and stores": [
    [
      "events that wait for a reader of a handle",
      `${count(constant("runtime/events/iterate.ts", "DEFAULT_LIMITS", "events"))}, or ${count(constant("runtime/events/iterate.ts", "DEFAULT_LIMITS", "characters"))} characters`,
      "deltas are left out; stored events are read from the store",
      "",
    ],
    [
      "claim of a process that is gone, on another machine",
      seconds(constant("storage/store/owner.ts", "LEASE_MS")),
      "then another process may resume its runs",
      "",
    ],
    [
      "lines of the totals in one answer",
      count(constant("core/totals.ts", "DEFAULT_TALLIES")),
      "ask again with `mark`",
      "`limit`",
    ],
    [
      "one event in SQLite",
      bytes(constant("storage/store/sqlite/schema.ts", "MAX_VALUE_BYTES")),
      "the write fails",
      "",
    ],
  ],
};

/** None for a limit that is a word. */
function delegationRow(name: DelegationLimit): Row[] {
  const most = DEFAULT_LIMITS[name];
  const { key, about, beyond = "" }: LimitSetting = LIMIT_SETTINGS[`limits.${name}`];
  if (typeof most !== "number") return [];
  const what = about.charAt(0).toLowerCase() + about.slice(1).replace(/\.$/, "");
  return [[what, count(most), beyond, `${link(key)}, \`limits.${name}\``]];
}
