import type { ApprovalRequest } from "../../core/approval.ts";
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
  return {
    title: `${visible(request.path)} wants to use ${shownTool(request)}`,
    lines: [...mainLines(action, columns), ...fieldLines(action, request.input, columns)],
    why: request.reason === undefined ? [] : textLines(`asked because ${request.reason}`, columns, { atWords: true }),
    rule: { effect: "allow", pattern: `${request.toolName}(=${action.exact})`, origin: "an answer in this chat" },
  };
}

/** `github › create_issue` for a tool of a server, which has chosen both names. */
function shownTool({ toolName, origin }: Pick<ApprovalRequest, "toolName" | "origin">): string {
  return origin === undefined ? visible(toolName) : `${visible(origin.server)} › ${visible(origin.tool)}`;
}

/** The same in one line: who wants to use which tool, on what, and why the person is asked. */
export function actionLine(request: ApprovalRequest, options: ActionTextOptions = {}): string {
  const { title, lines, why } = describeAction(request, { ...options, width: Number.POSITIVE_INFINITY });
  const action = lines.length === 0 ? title : `${title}: ${lines.join(" ")}`;
  return why.length === 0 ? action : `${action} (${why.join(" ")})`;
}

/** The command, the path, the host: shown whole, whatever its length. */
function mainLines(action: Action, columns: number): string[] {
  switch (action.kind) {
    case "command":
      return textLines(action.command, columns);
    case "path": {
      const isLink = action.path !== action.named;
      return textLines(isLink ? `${action.path} (asked for as ${action.named})` : action.path, columns);
    }
    case "host":
      return textLines(action.origin, columns);
    case "agents":
      return textLines(action.names.map((name) => name || "a child without a definition").join(", "), columns);
    case "server":
      return textLines(`${action.name} (an external agent, with tools of its own)`, columns);
    case "fields":
    case "follow-up":
    case "unknown":
      return [];
  }
}

/** Fields that the main lines already show. */
const SHOWN: Partial<Record<Action["kind"], string>> = {
  command: "command",
  path: "path",
  agents: "agent",
  server: "serverName",
};

/** The rest of the input. A long text, such as the content of a file, is shown by its head and its tail. */
function fieldLines(action: Action, input: unknown, columns: number): string[] {
  if (typeof input !== "object" || input === null) return textLines(JSON.stringify(input) ?? "", columns);
  return Object.entries(input)
    .filter(([name, value]) => value !== undefined && name !== SHOWN[action.kind])
    .flatMap(([name, value]) => {
      const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
      return textLines(`${name}: ${headAndTail(text)}`, columns);
    });
}

const SHOWN_LENGTH = 2000;

function headAndTail(text: string): string {
  if (text.length <= SHOWN_LENGTH) return text;
  const half = SHOWN_LENGTH / 2;
  const hidden = text.length - SHOWN_LENGTH;
  return `${text.slice(0, half)}\n(${hidden} characters are not shown here)\n${text.slice(-half)}`;
}

/**
 * Wraps and never cuts. What follows a line break or the end of a row begins with a mark that says so. `atWords` is for sentences:
 * rows of an action are full, so that no space at their end is unseen.
 */
function textLines(text: string, columns: number, { atWords = false } = {}): string[] {
  const lines = text
    .toWellFormed()
    .replace(/\r\n/g, "\n")
    .replace(/\n{3,}/g, (breaks) => `\n(${breaks.length - 1} empty lines)\n`)
    .split("\n");
  return lines.flatMap((line, index) => wrapped(visible(line), columns - 2, index === 0 ? "" : "| ", atWords));
}

function wrapped(line: string, columns: number, firstMark: string, atWords: boolean): string[] {
  const rows: string[] = [];
  let row = "";
  let used = 0;
  for (const character of line) {
    const taken = widthOf(character);
    if (used + taken > columns) {
      const end = atWords && character !== " " ? row.lastIndexOf(" ") + 1 : 0;
      rows.push(end === 0 ? row : row.slice(0, end));
      row = end === 0 ? "" : row.slice(end);
      used = widthOf(row);
    }
    row += character;
    used += taken;
  }
  rows.push(row);
  return rows.map((each, index) => (index === 0 ? firstMark : "  ") + each);
}

/** Anything but ASCII may be two columns wide, and no row may be too long. */
function widthOf(text: string): number {
  return [...text].reduce((width, character) => width + (/^[ -~]$/.test(character) ? 1 : 2), 0);
}

/**
 * Writes characters that act on a terminal, hide or reorder as their number, and a gap as its length. `core/clean-text.ts`
 * removes them and allows for normal text; here a person approves every character, so none is left out.
 */
function visible(text: string): string {
  return text
    .replace(
      INVISIBLE,
      (character) => `<U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}>`,
    )
    .replace(/ {9,}/g, (gap) => ` <${gap.length - 2} spaces> `);
}

const INVISIBLE = /(?! )[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/gu;
