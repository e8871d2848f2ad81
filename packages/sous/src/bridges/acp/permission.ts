/**
 * A question of an agent as actions of our own tools, so that the rules of the user apply to it. What does not say exactly what
 * it will do becomes an action that no rule of a tool matches: only a person can allow it.
 */

import { createHash } from "node:crypto";
import { plainText } from "../../core/clean-text.ts";
import type { ExternalAction } from "../../core/external-agent.ts";
import { truncateUtf8 } from "../../core/truncate.ts";
import { boundedJson, type OpenCall } from "./activity.ts";
import { oneLine, shellLine } from "./one-line.ts";
import type { PermissionRequest, ToolCallData } from "./schema.ts";

type Asked = Pick<ExternalAction, "toolName" | "input">;
type Fields = Readonly<Record<string, unknown>>;

const MAX_SHOWN_BYTES = 16 * 1024;
const MAX_TITLE = 4000;
/** The terminal takes no longer command. */
const MAX_COMMAND = 30_000;
/** More are not asked one by one. */
const MAX_PATHS = 20;
/** The prefix of the name of an action that has no tool of ours: no built-in tool begins so. */
const UNKNOWN_PREFIX = "outside_";

/** All of them must be allowed. There is always one. */
export function actionsOf({ data }: OpenCall): Asked[] {
  const fields: Fields = typeof data.rawInput === "object" && data.rawInput !== null ? { ...data.rawInput } : {};
  const known = knownActions(data, fields);
  return known.length > 0 && known.length <= MAX_PATHS ? known : [unknownAction(data)];
}

function knownActions(data: ToolCallData, fields: Fields): Asked[] {
  const command = commandOf(fields);
  // A call of another kind that brings a command is not what it says.
  if (command !== undefined && data.kind !== "execute") return [];
  switch (data.kind) {
    case "execute":
      return command === undefined ? [] : [{ toolName: "terminal", input: { ...settingsOf(fields), command } }];
    case "read":
      return pathsOf(data, fields).map((path) => ({ toolName: "read_file", input: { path } }));
    case "edit":
    case "delete":
      return pathsOf(data, fields).map((path) => write(path, contentOf(path, data, fields)));
    case "move": {
      const paths = pathsOf(data, fields);
      return paths.length < 2 ? [] : paths.map((path) => write(path, "[the agent moves a file from or to here]"));
    }
    case "search":
      return searchOf(data, fields);
    case "fetch":
      return typeof fields.url === "string" ? [{ toolName: "fetch", input: { url: fields.url } }] : [];
    default:
      return [];
  }
}

/** A line for a shell, or a program with its arguments; codex sends `["bash", "-lc", line]`. */
function commandOf(fields: Fields): string | undefined {
  const given = fields.command ?? fields.cmd;
  if (typeof given === "string") return isCommand(given) ? given : undefined;
  if (!Array.isArray(given) || !given.every((part) => typeof part === "string") || given.length === 0) return undefined;
  const [program = "", option = "", line] = given;
  const isShell = /^(?:\/bin\/|\/usr\/bin\/)?(?:ba|z)?sh$/.test(program) && /^-l?c$/.test(option) && given.length === 3;
  const command = isShell && line !== undefined ? line : shellLine(given);
  return isCommand(command) ? command : undefined;
}

function isCommand(text: string): boolean {
  return text.trim() !== "" && text.length <= MAX_COMMAND && !text.includes("\0");
}

/**
 * Fields that only explain a command, or name the question itself; codex sends most of them. Every other setting stays, and a rule
 * that does not know it does not match.
 */
const EXPLANATIONS: ReadonlySet<string> = new Set([
  ...["command", "cmd", "parsed_cmd", "description", "reason", "justification", "timeout"],
  ...["call_id", "turn_id", "process_id", "approval_id", "source", "started_at_ms"],
  // Offers for other answers than "once", which are never given.
  ...["available_decisions", "proposed_execpolicy_amendment"],
]);

function settingsOf(fields: Fields): Fields {
  const settings = Object.entries(fields).filter(
    ([name, value]) => !EXPLANATIONS.has(name) && value !== undefined && value !== null && value !== false,
  );
  return Object.fromEntries(settings.map(([name, value]) => [name === "workdir" ? "cwd" : name, value]));
}

const PATH_FIELDS = ["path", "file_path", "filePath", "filepath", "abs_path", "absolute_path", "notebook_path"];
const MOVE_FIELDS = ["source", "destination", "from", "to", "old_path", "new_path"];

/** Every path that the call names anywhere; an agent that says two different ones needs both. */
function pathsOf({ content = [], locations = [] }: ToolCallData, fields: Fields): string[] {
  const named = [...PATH_FIELDS, ...MOVE_FIELDS].map((field) => fields[field]);
  const diffs = content.flatMap((each) => (each.type === "diff" ? [each.path] : []));
  const all = [...diffs, ...locations.map(({ path }) => path), ...named];
  return [...new Set(all.filter((path): path is string => typeof path === "string" && path !== ""))];
}

function write(path: string, content: string): Asked {
  return { toolName: "write_file", input: { path, content } };
}

/** The text that a person is shown: the new one, or what is known of the change. */
function contentOf(path: string, data: ToolCallData, fields: Fields): string {
  if (data.kind === "delete") return "[the agent deletes this file]";
  const diffs = (data.content ?? []).flatMap((each) => (each.type === "diff" && each.path === path ? [each] : []));
  const said =
    diffs.length > 0
      ? diffs.map(changeOf).join("\n")
      : [fields.content, fields.diff, fields.patch].find((each) => typeof each === "string");
  const { text, truncated } = truncateUtf8(said ?? "[the agent does not say what it writes]", MAX_SHOWN_BYTES);
  return truncated ? `${text}… [cut]` : text;
}

function changeOf({ oldText, newText }: { oldText?: string | undefined; newText: string }): string {
  return oldText === undefined || oldText === "" ? newText : `[replaces]\n${oldText}\n[with]\n${newText}`;
}

function searchOf(data: ToolCallData, fields: Fields): Asked[] {
  const { pattern } = fields;
  if (typeof pattern !== "string" || pattern === "") return [];
  const toolName = /glob|find|list/i.test(`${data.name ?? ""} ${data.title ?? ""}`) ? "glob" : "grep";
  const paths = pathsOf(data, fields);
  if (paths.length === 0) return [{ toolName, input: { pattern } }];
  return paths.map((path) => ({ toolName, input: { pattern, path } }));
}

/** Named after what it says. The hash tells two inputs apart that look the same when cut. */
function unknownAction({ title = "", name, kind, rawInput, locations = [], content = [] }: ToolCallData): Asked {
  const word = oneLine(name ?? kind ?? "action", 40).replaceAll(/[^A-Za-z0-9_-]/g, "_");
  const shown = boundedJson(rawInput, MAX_SHOWN_BYTES);
  const isCut =
    typeof shown === "string" || title.length > MAX_TITLE || locations.length > MAX_PATHS || content.length > 0;
  const whole = () => JSON.stringify({ title, rawInput, locations, content });
  return {
    toolName: `${UNKNOWN_PREFIX}${word === "" ? "action" : word}`,
    input: {
      // The title keeps its line breaks: they can part two commands.
      title: plainText(title.slice(0, MAX_TITLE)) + (title.length > MAX_TITLE ? "… [cut]" : ""),
      kind: oneLine(kind ?? "other", 20),
      paths: locations.slice(0, MAX_PATHS).map(({ path }) => oneLine(path, 1000)),
      input: shown,
      ...(isCut ? { sha256: createHash("sha256").update(whole()).digest("hex") } : {}),
    },
  };
}

/** The answer of the protocol. */
export type PermissionAnswer = {
  outcome: { outcome: "cancelled" } | { outcome: "selected"; optionId: string };
};

export const CANCELLED: PermissionAnswer = { outcome: { outcome: "cancelled" } };

/**
 * Only options for this one time are ever chosen: "always" is remembered on our side. An option whose id is used twice could
 * mean the other one and is not chosen.
 */
export function answerTo({ options }: PermissionRequest, isAllowed: boolean): PermissionAnswer {
  const optionFor = (kind: string) =>
    options.find(
      (option) => option.kind === kind && options.filter(({ optionId }) => optionId === option.optionId).length === 1,
    );
  const chosen = (isAllowed ? optionFor("allow_once") : undefined) ?? optionFor("reject_once");
  return chosen === undefined ? CANCELLED : { outcome: { outcome: "selected", optionId: chosen.optionId } };
}
