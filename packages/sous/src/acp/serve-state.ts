/** What can be chosen in a session: its mode and its model. Older clients know modes, newer ones options; they get both. */

import type { NewSessionResponse, SessionConfigOption } from "@agentclientprotocol/sdk";

export type SessionChoice = { readonly id: string; readonly name: string; readonly description?: string };

export type ServedState = {
  readonly modes: { readonly current: string; readonly all: readonly SessionChoice[] };
  /** Without a model there is nothing to choose. */
  readonly models: { readonly current: string | undefined; readonly all: readonly SessionChoice[] };
};

export const modeOptionId = "mode";
export const modelOptionId = "model";

export function stateOf(state: ServedState): Pick<NewSessionResponse, "modes" | "configOptions"> {
  const { current, all } = state.modes;
  return {
    modes: { currentModeId: current, availableModes: all.map((mode) => ({ ...mode })) },
    configOptions: configOptions(state),
  };
}

export function configOptions({ modes, models }: ServedState): SessionConfigOption[] {
  const mode = select(modeOptionId, "Mode", "mode", modes.current, modes.all);
  if (models.current === undefined) return [mode];
  return [mode, select(modelOptionId, "Model", "model", models.current, models.all)];
}

function select(
  id: string,
  name: string,
  category: string,
  currentValue: string,
  choices: readonly SessionChoice[],
): SessionConfigOption {
  const options = choices.map(({ id: value, ...shown }) => ({ value, ...shown }));
  return { type: "select", id, name, category, currentValue, options };
}
