import { resolve } from "node:path";
import { type ApprovalRequest, HAS_CHANGED } from "../../core/approval.ts";
import type { PermissionRule } from "../../core/configuration.ts";
import { type Action, type ActionOptions, readAction } from "./action.ts";

export type ActionText = {
  /** The run that asks, and the tool it wants to use. */
  readonly title: string;
  /** The whole action, one row of the terminal each. */
  readonly lines: readonly string[];
  /** The reason of the rule that has the person asked, where it gives one. */
  readonly why: readonly string[];
  /** The rule that "always for this agent" would remember: this action and no other. */
  readonly rule: PermissionRule;
};

type ActionTextOptions = Pick<ActionOptions, "realPath" | "defaultServer"> & {
  readonly width?: number | undefined;
};

const MIN_WIDTH = 20;

export function describeAction(
  request: ApprovalRequest,
  { width = 76, ...options }: ActionTextOptions = {},
): ActionText {
  const action = readAction(request, options);
  const columns = Math.max(MIN_WIDTH, width);
  const main = mainText(action);
  return {
    title: `${visibleName(request.path)} wants to use ${shownTool(request)}`,
    lines: [
      ...(main === undefined ? [] : textLines(main, columns)),
      ...fieldLines(action, main, request.input, columns),
      ...elsewhere(action, request).flatMap((path) => textLines(`leads to ${path}`, columns)),
    ],
    why: request.reason === undefined ? [] : textLines(`asked because ${request.reason}`, columns, { atWords: true }),
    rule: { effect: "allow", pattern: `${request.toolName}(=${action.exact})`, origin: "an answer in this chat" },
  };
}

/** `github › create_issue` for a tool of a server, which has chosen both names. */
function shownTool({ toolName, origin }: Pick<ApprovalRequest, "toolName" | "origin">): string {
  return origin === undefined ? visibleName(toolName) : `${visibleName(origin.server)} › ${visibleName(origin.tool)}`;
}

/** A name is on one line. */
function visibleName(name: string): string {
  return visible(name).replaceAll("\n", "<U+000A>");
}

/** The longest question that is one line. */
const MAX_SHORT = 400;
const BETWEEN = " · ";
const BEHIND_TITLE = ": ";

/**
 * The same as one text: a line of up to 400 characters, or a head and all rows below it. In one line no part holds what stands
 * between the parts, so the two cannot be confused. A question that is asked again because of a change looks like the first one, so it
 * has several lines: its answer names the digest.
 */
export function actionText(request: ApprovalRequest, options: ActionTextOptions = {}): string {
  const { title, lines, why } = describeAction(request, { ...options, width: Number.POSITIVE_INFINITY });
  const rows = [...lines, ...why];
  const line = [title, rows.join(BETWEEN)].filter((part) => part !== "").join(BEHIND_TITLE);
  const isOneLine =
    request.reason !== HAS_CHANGED &&
    rows.every((row) => !` ${row} `.includes(BETWEEN) && !row.startsWith(BREAK)) &&
    !`${title} `.includes(BEHIND_TITLE);
  return isOneLine && line.length <= MAX_SHORT ? line : [`${title}:`, ...rows.map((row) => `  ${row}`)].join("\n");
}

/** The paths of a command that lead elsewhere than where they are written. A path of another tool is shown as where it leads. */
function elsewhere(action: Action, { input, cwd, target }: ApprovalRequest): string[] {
  if (action.kind !== "command") return [];
  const { cwd: folder } = input as { cwd?: unknown };
  const written = [resolve(cwd, typeof folder === "string" ? folder : ".")];
  written.push(...action.reading.files.flatMap(({ paths }) => paths.map((path) => resolve(cwd, path))));
  return (target?.paths ?? []).filter((path) => !written.includes(path) && !isSystemProgram(path, action.command));
}

/** Systems have links between their folders of programs: `/bin/ls` is `/usr/bin/ls`. */
function isSystemProgram(path: string, command: string): boolean {
  return path.startsWith("/usr/") && command.includes(path.slice("/usr".length));
}

const UNNAMED = "a child without a definition";

/** The command, the path, the host: shown whole, whatever its length. */
function mainText(action: Action): string | undefined {
  switch (action.kind) {
    case "command":
      return action.command;
    case "path":
      return action.path;
    case "host":
      return action.origin;
    case "agents":
      return action.names.map((name) => name || UNNAMED).join(", ");
    case "server":
      return `${action.name} (an external agent, with tools of its own)`;
    case "fields":
    case "follow-up":
    case "unknown":
      return undefined;
  }
}

/** Fields that the main rows show as they are; a path that leads elsewhere is shown as it was given, too. */
const SHOWN: Partial<Record<Action["kind"], string>> = {
  command: "command",
  path: "path",
  agents: "agent",
  server: "serverName",
};

/** The rest of the input: `name: ` before a text as it stands, `name = ` before any other value as JSON. */
function fieldLines(action: Action, main: string | undefined, input: unknown, columns: number): string[] {
  if (typeof input !== "object" || input === null || Array.isArray(input))
    return textLines(JSON.stringify(input) ?? "", columns);
  return Object.entries(input)
    .filter(([name, value]) => value !== undefined && !(name === SHOWN[action.kind] && isShownBy(main, action, value)))
    .flatMap(([name, value]) => {
      const label = /^[\w$-]+$/.test(name) ? name : JSON.stringify(name);
      const text = typeof value === "string" ? `${label}: ${value}` : `${label} = ${JSON.stringify(value) ?? ""}`;
      return textLines(text, columns);
    });
}

function isShownBy(main: string | undefined, action: Action, value: unknown): boolean {
  return value === (action.kind === "server" ? action.name : main) && value !== UNNAMED;
}

/** Before what follows a line break; the end of a row that was too long is followed by two blanks. */
const BREAK = "| ";

/**
 * Wraps and never cuts. What follows a line break or the end of a row begins with a mark that says so. `atWords` is for sentences:
 * rows of an action are full, so that no space at their end is unseen.
 */
function textLines(text: string, columns: number, { atWords = false } = {}): string[] {
  const lines = visible(text)
    .replace(/\n{3,}/g, (breaks) => `\n<${breaks.length - 1} empty lines>\n`)
    .split("\n");
  return lines.flatMap((line, index) => wrapped(line, columns - 2, index === 0 ? "" : BREAK, atWords));
}

function wrapped(line: string, columns: number, firstMark: string, atWords: boolean): string[] {
  const rows: string[] = [];
  let row = "";
  let used = 0;
  for (const character of columns === Number.POSITIVE_INFINITY ? "" : line) {
    const taken = widthOf(character);
    if (used + taken > columns) {
      const end = atWords && character !== " " ? row.lastIndexOf(" ") + 1 : 0;
      rows.push(end === 0 ? row : row.slice(0, end));
      row = end === 0 ? "" : row.slice(end);
      used = [...row].reduce((width, each) => width + widthOf(each), 0);
    }
    row += character;
    used += taken;
  }
  rows.push(columns === Number.POSITIVE_INFINITY ? line : row);
  return rows.map((each, index) => (index === 0 ? firstMark : "  ") + each);
}

/** Anything but ASCII may be two columns wide, and no row may be too long. */
function widthOf(character: string): number {
  return /^[ -~]$/.test(character) ? 1 : 2;
}

/**
 * Writes characters that act on a terminal, hide or reorder as their number, and a gap as its length; a text that looks like such
 * a mark begins with the number of `<`, so that every mark can be undone. `core/clean-text.ts` removes them and allows for normal
 * text; here a person approves every character, so none is left out. Line breaks stay.
 */
export function visible(text: string): string {
  return text
    .replace(MARK, "<U+003C>")
    .replace(
      INVISIBLE,
      (character) => `<U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}>`,
    )
    .replace(/ {9,}/g, (gap) => ` <${gap.length - 2} spaces> `);
}

const MARK = /<(?=U\+[\dA-F]{4,6}>|\d{1,10} (?:spaces|empty lines)>)/g;
const INVISIBLE = /(?![ \n])[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/gu;
