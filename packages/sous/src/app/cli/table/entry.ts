/** The description of commands and options, and the options that several commands have. The parser, help and completion use it. */

export type OptionEntry = {
  /** The name without its dashes. */
  readonly name: string;
  readonly short?: string;
  /** The name of its value, which also says how it is read; a switch has none. */
  readonly value?: ValueName;
  /** All that the value can be, when it is one of a few words. */
  readonly words?: readonly string[];
  /** The value when the option is not given, as it would be typed. */
  readonly default?: string;
  /** A value that this kind otherwise refuses: the number 0, or the empty string. */
  readonly allows?: "0" | "";
  readonly about: string;
  /** The setting that it stands in for. */
  readonly sets?: string;
};

/** `A,B`, `RULE`, `QID[:DIGEST]` and `QID[=WHY]` may be given more than once. */
export type ValueName =
  | ("FILE" | "FOLDER" | "SCHEMA" | "ID" | "[ID]" | "ID ID" | "P/M" | "FORMAT" | "LEVEL" | "S" | "GROUP" | "NAME")
  | "WORKER"
  | ("N" | "TURN" | "USD" | "TIME" | "WHEN" | "AGE")
  | ("A,B" | "RULE" | "QID[:DIGEST]" | "QID[=WHY]");

/** Things that a shell can look up: files, stored runs, agents. */
export type Offer = "file" | "run" | "agent";

/** The completions that a shell offers for a value. */
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
type WordEntry = { readonly name: string; readonly about: string; readonly offers?: Offer };

export type CommandEntry = {
  readonly name: string;
  /** The purpose, in half a line. */
  readonly about: string;
  /** Paragraphs that a person should read before the options. */
  readonly text: readonly string[];
  /** The usage lines without `sous` before them. */
  readonly usage: readonly string[];
  readonly examples: readonly string[];
  readonly words?: readonly WordEntry[];
  /** The completions that a shell offers for words without dashes. */
  readonly offers?: Offer;
  readonly groups: readonly OptionGroup[];
};

export const JSON_OPTION = { name: "json", about: "one object for scripts" } as const satisfies OptionEntry;

export const DB_PATH = {
  name: "db-path",
  value: "FILE",
  about:
    "the database of runs, a file or postgres://…; else agent.subagent.persistence_path, else $XDG_DATA_HOME/sous/sous.db; also SOUS_DB_PATH",
  sets: "agent.subagent.persistence_path",
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
  sets: "model",
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
