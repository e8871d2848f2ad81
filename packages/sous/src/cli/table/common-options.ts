/** The descriptions of options that several commands have. */

import type { OptionEntry } from "./command-entry.ts";

export const JSON_OPTION: OptionEntry = { name: "json", about: "one object for scripts" };

export const DB_PATH: OptionEntry = {
  name: "db-path",
  value: "FILE",
  offers: "file",
  about:
    "the database of runs; else agent.subagent.persistence_path, else $XDG_DATA_HOME/sous/sous.db; also SOUS_DB_PATH",
};

export const EPHEMERAL: OptionEntry = { name: "ephemeral", about: "do not store this run" };

export const REQUIRE_STORE: OptionEntry = {
  name: "require-store",
  about: "fail if the run cannot be stored (default: continue without)",
};

export const CONFIG: OptionEntry = {
  name: "config",
  value: "FILE",
  offers: "file",
  about: "this configuration instead of $XDG_CONFIG_HOME/sous/config.yaml; also SOUS_CONFIG",
};

export const MODEL: OptionEntry = {
  name: "model",
  short: "m",
  value: "P/M",
  about: "provider/model, such as anthropic/claude-sonnet-4-5; also SOUS_MODEL",
};

export const BARE: OptionEntry = { name: "bare", about: "ignore the project's settings, agents and notes" };

export const DISPLAY: readonly OptionEntry[] = [
  { name: "ascii", about: "plain glyphs; also where the locale is not UTF-8" },
  {
    name: "color",
    value: "WHEN",
    words: ["auto", "always", "never"],
    about: "auto (default), always or never; NO_COLOR and FORCE_COLOR count too",
  },
  { name: "help", short: "h", about: "this text" },
];
