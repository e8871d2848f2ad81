/** Agent files of opencode, `.opencode/agent(s)/*.md`. The name is that of the file. */

import type { AgentDraft, KeyReader, KeyReaders } from "./agent-draft.ts";
import { readDescription, readMaxTurns } from "./agent-fields.ts";
import { hasNoEffect, isIgnored } from "./agent-keys.ts";
import { readModel } from "./agent-models.ts";

const readMode: KeyReader = (draft, key) => {
  const mode = draft.settings[key];
  if (["subagent", "all", "primary", null].includes(mode as string | null)) return;
  draft.refuse("SOUS-A003", [key], "mode is primary, subagent or all", "write `mode: subagent`");
};

const readDisable: KeyReader = (draft, key) => {
  const value = draft.settings[key];
  if (typeof value !== "boolean" && value !== null)
    draft.refuse("SOUS-A003", [key], `${key} is true or false`, `write \`${key}: true\``);
};

/** Agents that are not meant to be called by others. */
export function withholdOpencode(draft: AgentDraft): void {
  const { mode, disable, disabled } = draft.settings;
  if (disable === true || disabled === true) {
    const key = disable === true ? "disable" : "disabled";
    draft.withhold("SOUS-A008", [key], "the agent is switched off, so it is not loaded", `remove ${key}`);
  } else if (mode === "primary")
    draft.withhold(
      "SOUS-A008",
      ["mode"],
      "a primary agent is not called by others, so it is not loaded",
      "write `mode: all`",
    );
}

const checkName: KeyReader = (draft, key) => {
  const name = draft.settings[key];
  const file = draft.source.file;
  if (typeof name === "string" && file.endsWith(`/${name}.md`)) return;
  draft.warn(
    "SOUS-A005",
    [key],
    "the name of the agent is that of its file; this one has no effect",
    "remove it, or rename the file",
  );
};

const refusePrompt: KeyReader = (draft, key) =>
  draft.refuse(
    "SOUS-A003",
    [key],
    "the instructions are read from the text below the front matter only",
    `move ${key} there`,
    "key",
  );

/** `tools` and `permission` are read together, in `dialect-opencode-rights.ts`. */
export const OPENCODE_KEYS: KeyReaders = {
  name: checkName,
  description: readDescription,
  mode: readMode,
  model: readModel,
  tools: isIgnored,
  permission: isIgnored,
  steps: readMaxTurns,
  maxSteps: readMaxTurns,
  disable: readDisable,
  disabled: readDisable,
  prompt: refusePrompt,
  color: isIgnored,
  hidden: isIgnored,
  options: hasNoEffect("options of the provider are not passed on"),
  reasoningEffort: hasNoEffect("the model's own effort is used"),
  temperature: hasNoEffect("the provider's own temperature is used"),
  textVerbosity: hasNoEffect("options of the provider are not passed on"),
  thinking: hasNoEffect("options of the provider are not passed on"),
  top_p: hasNoEffect("the provider's own value is used"),
  variant: hasNoEffect("options of the provider are not passed on"),
};
