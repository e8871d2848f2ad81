/**
 * A question of an agent as actions of our own tools, so that the rules of the user apply to it. What does not say exactly what it
 * will do, or has a field that is not known here, becomes an action that only a person can allow, who sees all of it.
 */

import { isIP } from "node:net";
import { basename } from "node:path";
import type { ExternalAction } from "../../core/external-agent.ts";
import { isRecord } from "../../core/schema.ts";
import { hostOf, readFetchUrl } from "../../core/web-address.ts";
import type { OpenCall } from "./activity.ts";
import { EXPLANATIONS, isExplanation, isFlat } from "./explanations.ts";
import { filesOfPatch, foldersOfPattern, otherNames } from "./named-files.ts";
import { oneLine, shellLine } from "./one-line.ts";
import type { PermissionRequest, ToolCallData } from "./schema.ts";

type Asked = Pick<ExternalAction, "toolName" | "input" | "otherPaths" | "unclear">;
type Fields = Readonly<Record<string, unknown>>;

/** The terminal takes no longer command. */
const MAX_COMMAND = 30_000;
/** More are not asked one by one. */
const MAX_PATHS = 20;
/** The prefix of the name of an action that has no tool of ours: no built-in tool begins so. */
const UNKNOWN_PREFIX = "outside_";

/** All of them must be allowed. There is always one. */
export function actionsOf({ data }: OpenCall): Asked[] {
  const { rawInput, unread } = data;
  const kind = KINDS.get(data.kind ?? "");
  if (unread !== undefined) return [unknownAction(data, "it has a part that sous does not know")];
  if (kind === undefined) return [unknownAction(data, "sous does not know what an action of this kind does")];
  if (rawInput !== undefined && rawInput !== null && !isRecord(rawInput))
    return [unknownAction(data, "its input is no object")];
  const fields: Fields = rawInput ?? {};
  const unknown = Object.entries(fields).find(([name, value]) => {
    const isOfKind = kind.fields.has(name) && (NESTED.has(name) || isFlat(value));
    return isSet(value) && !isOfKind && !isExplanation(name, value);
  })?.[0];
  if (unknown !== undefined)
    return [unknownAction(data, `it has a field that sous does not know: ${oneLine(unknown, 60)}`)];
  if (data.kind !== "edit" && data.content?.some(({ type }) => type === "diff"))
    return [unknownAction(data, "it shows a change, and its kind makes none")];
  const actions = kind.actions(data, fields);
  if (actions.length > 0 && actions.length <= MAX_PATHS) return actions;
  return [unknownAction(data, "it does not say exactly what it does")];
}

/** Agents send fields that are not used as `null` or `false`. */
function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false;
}

type Kind = {
  /** All that it may have; with any other field it is not what it seems. */
  readonly fields: ReadonlySet<string>;
  /** None when the input does not say exactly what is done. */
  actions(data: ToolCallData, fields: Fields): Asked[];
};

const PATHS = "path file_path filePath filepath abs_path absolute_path notebook_path";
const MOVES = "source destination from to old_path new_path";
/** Texts and numbers of a change, in the words of several agents. */
const CHANGES =
  "content text file_text new_content old_string new_string oldString newString old_str new_str old_text new_text oldText " +
  "newText replace_all replaceAll diff patch instruction expected_replacements insert_line insert_text edit_mode cell_id " +
  "cell_type new_source";

/** The changes of an edit are looked through on their own. */
const NESTED: ReadonlySet<string> = new Set(["edits", "changes"]);

function kind(fields: string, actions: Kind["actions"]): Kind {
  return { fields: new Set(fields.split(" ")), actions };
}

const KINDS: ReadonlyMap<string, Kind> = new Map([
  ["execute", kind("command cmd cwd workdir background run_in_background source", commandActions)],
  [
    "read",
    kind(`${PATHS} offset limit line lines start_line end_line pages`, (data, fields) =>
      pathsOf(data, fields).map((path) => ({ toolName: "read_file", input: { path } })),
    ),
  ],
  ["edit", kind(`${PATHS} ${CHANGES} edits changes`, editActions)],
  [
    "delete",
    kind(PATHS, (data, fields) => pathsOf(data, fields).map((path) => write({ path, action: "deletes this file" }))),
  ],
  [
    "move",
    kind(`${PATHS} ${MOVES}`, (data, fields) => {
      const paths = pathsOf(data, fields);
      return paths.length < 2 ? [] : paths.map((path) => write({ path, action: "moves a file from or to here" }));
    }),
  ],
  [
    "search",
    kind(
      `${PATHS} pattern glob include exclude type output_mode -i -n -A -B -C context head_limit limit multiline literal`,
      searchActions,
    ),
  ],
  [
    "fetch",
    kind("url prompt format", ({ locations = [] }, { url }) =>
      locations.length === 0 && isPage(url) ? [{ toolName: "fetch", input: { url } }] : [],
    ),
  ],
]);

/** A line for a shell, or a program with its arguments; codex sends `["bash", "-lc", line]`. */
function commandActions({ locations = [] }: ToolCallData, { command, cmd, ...fields }: Fields): Asked[] {
  const line = lineOf(command ?? cmd);
  // Two that differ: which one is run, is not known.
  if (line === undefined || (isSet(command) && isSet(cmd) && lineOf(cmd) !== line)) return [];
  const cwd = isSet(fields.cwd) ? fields.cwd : fields.workdir;
  const background = isSet(fields.background) ? fields.background : fields.run_in_background;
  if (isSet(fields.workdir) && cwd !== fields.workdir) return [];
  // A file that the command does not name is one that it does not say.
  if (!locations.every(({ path }) => path === cwd || line.includes(basename(path) || "/"))) return [];
  const settings = { ...(isSet(cwd) && { cwd }), ...(isSet(background) && { background }) };
  return [{ toolName: "terminal", input: { ...settings, command: line } }];
}

function lineOf(given: unknown): string | undefined {
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

/** Every path that the call names anywhere; an agent that says two different ones needs both. None when one is not a text. */
function pathsOf(data: ToolCallData, fields: Fields): string[] {
  const all = allPaths(data, fields);
  return all.every((path) => typeof path === "string" && path !== "") ? [...new Set(all as string[])] : [];
}

function allPaths({ content = [], locations = [] }: ToolCallData, fields: Fields): unknown[] {
  const named = `${PATHS} ${MOVES}`.split(" ").flatMap((name) => (isSet(fields[name]) ? [fields[name]] : []));
  const diffs = content.flatMap((each) => (each.type === "diff" ? [each.path] : []));
  const changed = isRecord(fields.changes) ? Object.keys(fields.changes) : [];
  return [...diffs, ...locations.map(({ path }) => path), ...changed, ...patchedFiles(fields), ...named];
}

/** The files that patches name in their texts; undefined for a patch that is not understood. */
function patchedFiles({ edits, changes, ...fields }: Fields): (string | undefined)[] {
  const parts = [fields, ...(Array.isArray(edits) ? edits : []), ...Object.values(isRecord(changes) ? changes : {})];
  const texts = parts.filter(isRecord).flatMap(({ diff, patch, unified_diff }) => [diff, patch, unified_diff].flat());
  return texts
    .filter((each) => typeof each === "string")
    .flatMap((text): (string | undefined)[] => filesOfPatch(text) ?? [undefined]);
}

/** One action for each change, or for a file whose change is not shown. */
function editActions(data: ToolCallData, fields: Fields): Asked[] {
  if (!isEditList(fields.edits) || !isChangeMap(fields.changes)) return [];
  const diffs = (data.content ?? []).flatMap((each) => (each.type === "diff" ? [each] : []));
  const shown = new Set<unknown>(diffs.flatMap(({ oldText, newText }) => [oldText, newText]));
  // The rest of what the agent has sent: a person sees all of it.
  const rest = Object.entries(fields).filter(
    ([name, value]) => isSet(value) && !shown.has(value) && !EXPLANATIONS.has(name) && !PATHS.split(" ").includes(name),
  );
  const patched = new Set(patchedFiles(fields));
  return pathsOf(data, fields).flatMap((path) => {
    const others = patched.has(path) ? otherNames(path) : [];
    const own = diffs.filter((each) => each.path === path);
    const more = Object.fromEntries(rest);
    if (own.length === 0) {
      const said = rest.length === 0 ? { action: "writes this file and does not say what" } : more;
      return [write({ path, ...said }, others)];
    }
    const input = rest.length === 0 ? {} : { input: more };
    return own.map(({ oldText, newText }) =>
      write({ path, ...(oldText ? { old: oldText } : {}), content: newText, ...input }, others),
    );
  });
}

/** Changes of one file, each with fields of a change only: none of them names another file. */
function isEditList(edits: unknown): boolean {
  if (!isSet(edits)) return true;
  const known = CHANGES.split(" ");
  const isPart = ([name, value]: [string, unknown]) => known.includes(name) && isFlat(value);
  const isEdit = (each: unknown) => isRecord(each) && Object.entries(each).every(isPart);
  return Array.isArray(edits) && edits.every(isEdit);
}

/** The changes of codex by their paths, as far as they stay where they are. */
function isChangeMap(changes: unknown): boolean {
  if (!isSet(changes)) return true;
  const known = ["type", "content", "unified_diff"];
  const isPart = ([name, value]: [string, unknown]) =>
    !isSet(value) || (known.includes(name) && typeof value === "string");
  const isChange = (each: unknown) => isRecord(each) && Object.entries(each).every(isPart);
  return isRecord(changes) && Object.values(changes).every(isChange);
}

function write(input: Fields, otherPaths: readonly string[] = []): Asked {
  return { toolName: "write_file", input, ...(otherPaths.length > 0 && { otherPaths }) };
}

function searchActions(data: ToolCallData, fields: Fields): Asked[] {
  const { pattern, glob, include, output_mode } = fields;
  if (typeof pattern !== "string" || pattern === "") return [];
  const words = `${data.name ?? ""} ${data.title ?? ""}`;
  const toolName = /glob|find|list/i.test(words) ? "glob" : "grep";
  // Only a search that says so looks for a text: the pattern of any other one may be of files.
  const isForText = toolName === "grep" && (/grep|\brg\b/i.test(words) || [glob, include, output_mode].some(isSet));
  const patterns = [glob, include, isForText ? undefined : pattern].filter(isSet);
  if (!patterns.every((each) => typeof each === "string")) return [];
  const folders = patterns.map((each) => foldersOfPattern(each));
  const paths = pathsOf(data, fields);
  if (folders.includes(undefined) || (paths.length === 0 && allPaths(data, fields).length > 0)) return [];
  const tops = paths.length === 0 ? [undefined] : paths;
  // A pattern leads through a link as a path does.
  const below = tops.flatMap((top) => folders.flat().map((each) => (top === undefined ? each : `${top}/${each}`)));
  return [...tops, ...below].map((path) => ({ toolName, input: { pattern, ...(path !== undefined && { path }) } }));
}

/** A page of the web by the name of its host, as our own tool takes it: nothing that is on this machine or in its network. */
function isPage(url: unknown): boolean {
  const read = typeof url === "string" ? readFetchUrl(url) : { problem: "" };
  return "url" in read && isIP(hostOf(read.url)) === 0;
}

/** Named after what it says, with all that was said. */
function unknownAction(
  { title, name, kind, rawInput, locations = [], content = [], unread }: ToolCallData,
  unclear: string,
): Asked {
  const word = oneLine(name ?? kind ?? "action", 40).replaceAll(/[^A-Za-z0-9_-]/g, "_");
  return {
    toolName: `${UNKNOWN_PREFIX}${word === "" ? "action" : word}`,
    input: {
      title: title ?? "",
      kind: kind ?? "other",
      paths: locations.map(({ path }) => path),
      input: rawInput ?? {},
      ...(content.length === 0 ? {} : { content }),
      ...(unread === undefined ? {} : { unread }),
    },
    unclear,
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
