/** The abilities of a terminal: whether lines may move, whether there is colour, and which glyphs. */

import type { RunStatus, UnendedStatus } from "../../../core/outcome.ts";
import type { Variables } from "../../../core/process.ts";
import type { RunRecord } from "../../../core/store.ts";
import { type EndingKind, OUTCOMES, stopReasonOf, UNENDED } from "../../../core/words/outcomes.ts";

export type Style = {
  /** True when a live region may be drawn; otherwise plain lines follow each other. */
  readonly isLive: boolean;
  readonly glyphs: Glyphs;
  /** Wraps text in a colour, or leaves it as it is. */
  paint(colour: Colour | undefined, text: string): string;
};

export type Colour = "green" | "red" | "yellow" | "cyan" | "dim" | "bold";

type ShownStatus = RunStatus | UnendedStatus | "queued" | "asks" | "refused-spawn" | "damaged";

type Glyphs = Readonly<Record<"branch" | "lastBranch" | "line" | "arrow" | "back" | "dot" | "more", string>> & {
  readonly spinner: readonly string[];
  readonly status: Readonly<Record<ShownStatus, string>>;
  /** The fillings of one character of a bar, the whole one last. */
  readonly bar: readonly string[];
};

type StyleChoice = {
  color: "auto" | "always" | "never";
  isAscii: boolean;
  isTerminal: boolean;
  env: Variables;
};

export function chooseStyle({ color, isAscii, isTerminal, env }: StyleChoice): Style {
  const isLive = isTerminal && !isSet(env.CI) && env.TERM !== "dumb";
  const hasColour = wantsColour(color, env) ?? isLive;
  return {
    isLive,
    glyphs: isAscii || !isUnicode(env) ? ASCII : UNICODE,
    paint(colour, text) {
      return hasColour && colour !== undefined && text !== "" ? `\u001b[${CODES[colour]}m${text}\u001b[0m` : text;
    },
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
  return STATUSES[status].colour;
}

/** The ending of a stored run is not shown when it is damaged. */
export function shownStatus({ status, damage }: Pick<RunRecord, "status" | "damage">): ShownStatus {
  return damage === undefined ? status : "damaged";
}

/** The state of a run in a word or two. */
export function statusWords(facts: { readonly status: ShownStatus; readonly stopReason: string | undefined }): string {
  return stopReasonOf(facts)?.words ?? STATUSES[facts.status].words;
}

type Look = { readonly colour: Colour; readonly unicode: string; readonly ascii: string };

const LOOKS: Readonly<Record<EndingKind, Look>> = {
  done: { colour: "green", unicode: "✓", ascii: "+" },
  partial: { colour: "yellow", unicode: "~", ascii: "~" },
  stopped: { colour: "yellow", unicode: "-", ascii: "-" },
  limit: { colour: "red", unicode: "✗", ascii: "x" },
  fault: { colour: "red", unicode: "✗", ascii: "x" },
};

type StatusEntry = Look & { readonly words: string };

const ENDED = Object.fromEntries(
  Object.entries(OUTCOMES).map(([status, { kind, words }]) => [status, { ...LOOKS[kind], words }]),
) as Record<RunStatus, StatusEntry>;

const ASKS: Look = { colour: "yellow", unicode: "!", ascii: "!" };

const STATUSES: Readonly<Record<ShownStatus, StatusEntry>> = {
  ...ENDED,
  running: { colour: "cyan", unicode: "◐", ascii: "*", ...UNENDED.running },
  interrupted: { colour: "yellow", unicode: "?", ascii: "?", ...UNENDED.interrupted },
  waiting: { ...ASKS, ...UNENDED.waiting },
  queued: { colour: "cyan", unicode: "○", ascii: "o", words: "queued" },
  asks: { ...ASKS, words: "waits for an answer" },
  "refused-spawn": { colour: "yellow", unicode: "✗", ascii: "x", words: "refused" },
  damaged: { ...LOOKS.fault, words: "damaged" },
};

function statusGlyphs(kind: "unicode" | "ascii"): Glyphs["status"] {
  const glyphs = Object.entries(STATUSES).map(([status, entry]) => [status, entry[kind]]);
  return Object.fromEntries(glyphs) as Glyphs["status"];
}

const CODES: Readonly<Record<Colour, number>> = { green: 32, red: 31, yellow: 33, cyan: 36, dim: 2, bold: 1 };

const UNICODE: Glyphs = {
  spinner: ["◐", "◓", "◑", "◒"],
  status: statusGlyphs("unicode"),
  branch: "├─ ",
  lastBranch: "└─ ",
  line: "│  ",
  arrow: "→",
  back: "←",
  dot: " · ",
  more: "…",
  bar: ["▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"],
};

const ASCII: Glyphs = {
  spinner: ["|", "/", "-", "\\"],
  status: statusGlyphs("ascii"),
  branch: "|- ",
  lastBranch: "`- ",
  line: "|  ",
  arrow: "->",
  back: "<-",
  dot: ", ",
  more: "...",
  bar: ["#"],
};

/** The locale of characters; empty when no variable is set. */
export function localeOf({ LC_ALL, LC_CTYPE, LANG }: Variables): string {
  return LC_ALL || LC_CTYPE || LANG || "";
}

/** Assumes UTF-8 when no locale is set, as in most containers. */
export function isUnicode(env: Variables): boolean {
  const locale = localeOf(env);
  return locale === "" || /utf-?8/i.test(locale);
}
