/** How commands and options are described, and the options that several commands have. The parser, help and completion use it. */

export type OptionEntry = {
  /** Without its dashes. */
  readonly name: string;
  readonly short?: string;
  /** What its value is called, which also says how it is read; a switch has none. */
  readonly value?: ValueName;
  /** All that the value can be, when it is one of a few words. */
  readonly words?: readonly string[];
  /** The value when the option is not given, as it would be typed. */
  readonly default?: string;
  /** What a value of this kind can otherwise not be: the number 0, or the empty string. */
  readonly allows?: "0" | "";
  readonly about: string;
};

/** `A,B`, `RULE`, `QID` and `QID[=WHY]` may be given more than once. */
export type ValueName =
  | ("FILE" | "FOLDER" | "SCHEMA" | "ID" | "[ID]" | "ID ID" | "P/M" | "FORMAT" | "LEVEL" | "S" | "GROUP" | "NAME")
  | ("N" | "TURN" | "USD" | "TIME" | "WHEN" | "AGE")
  | ("A,B" | "RULE" | "QID" | "QID[=WHY]");

/** What a shell can look up: files, stored runs, agents. */
export type Offer = "file" | "run" | "agent";

/** What a shell offers for a value. */
export const OFFERS: Readonly<Partial<Record<ValueName, Offer>>> = {
  FILE: "file",
  FOLDER: "file",
  SCHEMA: "file",
  ID: "run",
  "[ID]": "run",
  "ID ID": "run",
  NAME: "agent",
};

export type OptionGroup = { readonly title: string; readonly options: readonly OptionEntry[] };

/** The groups of a command with few options. */
export function oneGroup<const Options extends readonly OptionEntry[]>(...options: Options) {
  return [{ title: "options", options }] as const;
}

/** The first word behind a command, where it takes one of a few. */
export type WordEntry = { readonly name: string; readonly about: string; readonly offers?: Offer };

export type CommandEntry = {
  readonly name: string;
  /** What it is good for, in half a line. */
  readonly about: string;
  /** What a person should know before the options, in paragraphs. */
  readonly text: readonly string[];
  /** Without `sous` before them. */
  readonly usage: readonly string[];
  readonly examples: readonly string[];
  readonly words?: readonly WordEntry[];
  /** What a shell offers for words without dashes. */
  readonly offers?: Offer;
  readonly groups: readonly OptionGroup[];
};

export const JSON_OPTION = { name: "json", about: "one object for scripts" } as const satisfies OptionEntry;

export const DB_PATH = {
  name: "db-path",
  value: "FILE",
  about:
    "the database of runs; else agent.subagent.persistence_path, else $XDG_DATA_HOME/sous/sous.db; also SOUS_DB_PATH",
} as const satisfies OptionEntry;

export const EPHEMERAL = { name: "ephemeral", about: "do not store this run" } as const satisfies OptionEntry;

export const REQUIRE_STORE = {
  name: "require-store",
  about: "fail if the run cannot be stored (default: continue without)",
} as const satisfies OptionEntry;

export const CONFIG = {
  name: "config",
  value: "FILE",
  about: "this configuration instead of $XDG_CONFIG_HOME/sous/config.yaml; also SOUS_CONFIG",
} as const satisfies OptionEntry;

export const MODEL = {
  name: "model",
  short: "m",
  value: "P/M",
  about: "provider/model, such as anthropic/claude-sonnet-4-5; also SOUS_MODEL",
} as const satisfies OptionEntry;

export const BARE = {
  name: "bare",
  about: "ignore the project's settings, agents and notes",
} as const satisfies OptionEntry;

export const DISPLAY = [
  { name: "ascii", about: "plain glyphs; also where the locale is not UTF-8" },
  {
    name: "color",
    value: "WHEN",
    words: ["auto", "always", "never"],
    default: "auto",
    about: "auto (default), always or never; NO_COLOR and FORCE_COLOR count too",
  },
  { name: "help", short: "h", about: "this text" },
] as const satisfies readonly OptionEntry[];
