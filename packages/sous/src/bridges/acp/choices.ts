/** The mode and the model of a session: what the agent offers, and how one of them is chosen. */

import { UserError } from "../../core/errors.ts";
import type { ConfigOption, SessionSettings } from "./schema.ts";

/** The request that makes a choice. */
export type ChoiceRequest = { readonly method: string; readonly params: object };

/**
 * Modes in which an agent does not ask for all that it does. Only the configuration of its server chooses one of them, and a session that is in
 * one by itself is not used.
 */
const SKIPS_QUESTIONS: ReadonlySet<string> = new Set([
  "bypasspermissions",
  "yolo",
  "fullaccess",
  "dangerfullaccess",
  "autoapprove",
  "dontask",
  // These skip the questions about files.
  "acceptedits",
  "autoedit",
]);

export function skipsQuestions(mode: string): boolean {
  return SKIPS_QUESTIONS.has(mode.toLowerCase().replaceAll(/[^a-z]/g, ""));
}

/** A mode by `session/set_mode`, or where the agent has none by its option of that category. */
export function modeRequest(serverName: string, state: SessionSettings, mode: string): ChoiceRequest {
  const modes = state.modes?.availableModes ?? [];
  if (modes.some(({ id }) => id === mode)) return { method: "session/set_mode", params: { modeId: mode } };
  const option = optionOf(state, "mode");
  if (option?.options.some(({ value }) => value === mode)) return optionRequest(option, mode);
  const offered = [...modes.map(({ id }) => id), ...(option?.options.map(({ value }) => value) ?? [])];
  throw notOffered(serverName, "mode", mode, offered);
}

/** A model is an option of the session; the former list `models` of some agents cannot be chosen from any more. */
export function modelRequest(serverName: string, state: SessionSettings, model: string): ChoiceRequest {
  const option = optionOf(state, "model");
  const found = option?.options.find(({ value, name }) => value === model || name === model);
  if (option !== undefined && found !== undefined) return optionRequest(option, found.value);
  throw notOffered(serverName, "model", model, option?.options.map(({ value }) => value) ?? []);
}

/** The mode that a session is in, if it says so. */
export function currentMode(state: SessionSettings): string | undefined {
  return state.modes?.currentModeId ?? optionOf(state, "mode")?.currentValue;
}

function optionOf({ configOptions }: SessionSettings, category: string): ConfigOption | undefined {
  return configOptions.find((option) => option.category === category);
}

function optionRequest(option: ConfigOption, value: string): ChoiceRequest {
  return { method: "session/set_config_option", params: { configId: option.id, value } };
}

const MAX_LISTED = 12;

function notOffered(serverName: string, what: "mode" | "model", asked: string, offered: readonly string[]): UserError {
  const listed = offered.slice(0, MAX_LISTED).map((each) => JSON.stringify(each.slice(0, 60)));
  const has = listed.length === 0 ? `offers no choice of ${what}` : `offers: ${listed.join(", ")}`;
  return new UserError(`The agent server ${serverName} has no ${what} ${JSON.stringify(asked)}; it ${has}`);
}
