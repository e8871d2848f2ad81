/** The keys about how an agent asks its model. A temperature or an effort that is not understood is a warning: it takes no rights. */

import { messageOf } from "../../../core/errors.ts";
import { readMcpName } from "../../../core/mcp-names.ts";
import { checkProviderOptions, EFFORTS, isTemperature, MAX_TEMPERATURE } from "../../../core/model-options.ts";
import { nearest } from "../../../core/nearest.ts";
import { isRecord } from "../../../core/schema.ts";
import type { Path } from "../yaml/value.ts";
import type { AgentDraft, KeyReader } from "./draft.ts";
import { OUR_TOOLS } from "./tools.ts";

/** A number that was written, or quoted to make the front matter YAML. */
export const readTemperature: KeyReader = (draft, key) => {
  const given = draft.settings[key];
  if (given === null) return;
  const value = typeof given === "string" && /^\d{1,2}(?:\.\d{1,9})?$/.test(given) ? Number(given) : given;
  if (isTemperature(value)) draft.set("temperature", value, [key]);
  else {
    const message = `${key} is a number from 0 to ${MAX_TEMPERATURE}, so this one has no effect`;
    draft.warn("SOUS-A003", [key], message, `write \`${key}: 0.2\``, "value");
  }
};

export const readEffort: KeyReader = (draft, key) => setEffort(draft, draft.settings[key], [key]);

export function setEffort(draft: AgentDraft, given: unknown, path: Path): void {
  if (given === null) return;
  const word = typeof given === "string" ? given.trim().toLowerCase() : "";
  const effort = EFFORTS.find((each) => each === word);
  if (effort !== undefined) {
    draft.set("effort", effort, path);
    return;
  }
  const meant = nearest(word, EFFORTS);
  const fix = meant === undefined ? "write one of them" : `did you mean ${meant}?`;
  const message = `${path.join(".")} is one of ${EFFORTS.join(", ")}, so this one has no effect`;
  draft.warn("SOUS-A003", path, message, fix, "value");
}

/** `auto`, `none`, `required`, or a tool by its name. `none` takes all tools away, so what is not understood may be meant so. */
export const readToolChoice: KeyReader = (draft, key) => {
  const given = draft.settings[key];
  if (given === null) return;
  const word = isRecord(given) && Object.keys(given).length === 1 ? given.tool : given;
  if (word === "auto" || word === "none" || word === "required") draft.set("toolChoice", word, [key]);
  else if (typeof word === "string" && (OUR_TOOLS.includes(word) || isMcpTool(word)))
    draft.set("toolChoice", { tool: word }, [key], word);
  else {
    const meant = typeof word === "string" ? nearest(word, OUR_TOOLS) : undefined;
    const fix = meant === undefined ? `write \`${key}: required\`` : `did you mean ${meant}?`;
    draft.refuse("SOUS-A003", [key], `${key} is auto, none, required or a tool of sous`, fix);
  }
};

/** A run finds out when it begins whether the server has it. */
function isMcpTool(word: string): boolean {
  return readMcpName(word)?.tool !== undefined && !word.includes("*");
}

/** Runs at the end, when it is known which tools the agent has. */
export function warnOfChoice(draft: AgentDraft): void {
  const choice = draft.settings.tool_choice;
  const word = isRecord(choice) ? choice.tool : choice;
  if (!draft.has("toolChoice") || typeof word !== "string" || !OUR_TOOLS.includes(word)) return;
  const isLeft = (draft.granted?.includes(word) ?? true) && !draft.isDenied(word);
  if (isLeft) return;
  const message = `tool_choice names ${word}, which the agent does not have, so it has no effect`;
  draft.warn("SOUS-A003", ["tool_choice"], message, `add ${word} to tools, or remove tool_choice`, "value");
}

/** They can name servers that read the conversation, and replace the model: only the user may say so. */
export const readProviderOptions: KeyReader = (draft, key) => {
  const given = draft.settings[key];
  if (given === null) return;
  if (draft.source.scope === "project") {
    const message = `${key} has no effect in a file of a project: such options can send what the agent reads elsewhere`;
    draft.warn("SOUS-A007", [key], message, "write them in an agent file of your own");
    return;
  }
  try {
    checkProviderOptions(given, key);
    draft.set("providerOptions", given, [key], Object.keys(given).join(", "));
  } catch (error) {
    draft.refuse("SOUS-A003", [key], messageOf(error), `write \`${key}: { openai: { serviceTier: flex } }\``);
  }
};
