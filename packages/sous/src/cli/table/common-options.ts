/** The options that several commands have. */

import type { OptionEntry } from "./command-entry.ts";

export const JSON_OPTION = { name: "json", about: "one object for scripts" } as const satisfies OptionEntry;

export const DB_PATH = {
  name: "db-path",
  value: "FILE",
  offers: "file",
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
  offers: "file",
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
