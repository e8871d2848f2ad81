/** What a terminal can show: whether lines may move, whether there is colour, and which glyphs. */

import type { RunStatus } from "../../core/outcome.ts";

export type Style = {
  /** True when a live region may be drawn; otherwise plain lines follow each other. */
  readonly isLive: boolean;
  readonly glyphs: Glyphs;
  /** Wraps text in a colour, or leaves it as it is. */
  paint(colour: Colour, text: string): string;
};

export type Colour = "green" | "red" | "yellow" | "cyan" | "dim" | "bold";

type ShownStatus = RunStatus | "running" | "waiting" | "interrupted" | "refused-spawn";

type Glyphs = {
  readonly spinner: readonly string[];
  readonly status: Readonly<Record<ShownStatus | "asks", string>>;
  readonly branch: string;
  readonly lastBranch: string;
  readonly line: string;
  readonly arrow: string;
  readonly back: string;
  readonly dot: string;
  readonly more: string;
};

type StyleChoice = {
  color: "auto" | "always" | "never";
  isAscii: boolean;
  isTerminal: boolean;
  env: Readonly<Record<string, string | undefined>>;
};

export function chooseStyle({ color, isAscii, isTerminal, env }: StyleChoice): Style {
  const isLive = isTerminal && !isSet(env.CI) && env.TERM !== "dumb";
  const hasColour = wantsColour(color, env) ?? isLive;
  return {
    isLive,
    glyphs: isAscii || !isUnicode(env) ? ASCII : UNICODE,
    paint: (colour, text) => (hasColour && text !== "" ? `\u001b[${CODES[colour]}m${text}\u001b[0m` : text),
  };
}

/** The flag, then `NO_COLOR`, then `FORCE_COLOR`; undefined when none of them says anything. */
function wantsColour(flag: StyleChoice["color"], env: StyleChoice["env"]): boolean | undefined {
  if (flag !== "auto") return flag === "always";
  if (isSet(env.NO_COLOR)) return false;
  if (isSet(env.FORCE_COLOR)) return env.FORCE_COLOR !== "0" && env.FORCE_COLOR !== "false";
  return undefined;
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== "";
}

export function colourOf(status: ShownStatus): Colour {
  switch (status) {
    case "running":
    case "waiting":
      return "cyan";
    case "completed":
      return "green";
    case "incomplete":
    case "cancelled":
    case "interrupted":
    case "refused-spawn":
      return "yellow";
    case "budget_exceeded":
    case "timeout":
    case "refused":
    case "failed":
      return "red";
    default:
      return status satisfies never;
  }
}

const CODES: Readonly<Record<Colour, number>> = { green: 32, red: 31, yellow: 33, cyan: 36, dim: 2, bold: 1 };

const UNICODE: Glyphs = {
  spinner: ["◐", "◓", "◑", "◒"],
  status: {
    completed: "✓",
    incomplete: "~",
    budget_exceeded: "✗",
    timeout: "✗",
    cancelled: "-",
    refused: "✗",
    failed: "✗",
    running: "◐",
    waiting: "○",
    interrupted: "?",
    "refused-spawn": "✗",
    asks: "!",
  },
  branch: "├─ ",
  lastBranch: "└─ ",
  line: "│  ",
  arrow: "→",
  back: "←",
  dot: " · ",
  more: "…",
};

const ASCII: Glyphs = {
  spinner: ["|", "/", "-", "\\"],
  status: {
    completed: "+",
    incomplete: "~",
    budget_exceeded: "x",
    timeout: "x",
    cancelled: "-",
    refused: "x",
    failed: "x",
    running: "*",
    waiting: "o",
    interrupted: "?",
    "refused-spawn": "x",
    asks: "!",
  },
  branch: "|- ",
  lastBranch: "`- ",
  line: "|  ",
  arrow: "->",
  back: "<-",
  dot: ", ",
  more: "...",
};

type Environment = Readonly<Record<string, string | undefined>>;

/** The locale of characters; empty when no variable is set. */
export function localeOf({ LC_ALL, LC_CTYPE, LANG }: Environment): string {
  return LC_ALL || LC_CTYPE || LANG || "";
}

/** Where nothing is set, as in most containers, terminals understand it. */
export function isUnicode(env: Environment): boolean {
  const locale = localeOf(env);
  return locale === "" || /utf-?8/i.test(locale);
}
