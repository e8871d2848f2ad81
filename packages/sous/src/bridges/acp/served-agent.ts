/** The application behind the protocol: which sessions there are, and what one of them does. */

import type { NewSessionResponse, SessionConfigOption } from "@agentclientprotocol/sdk";
import type { McpServer } from "../../core/configuration.ts";
import { UserError } from "../../core/errors.ts";
import type { RunResult } from "../../core/runtime.ts";
import type { TraceContext } from "../../core/trace-context.ts";
import type { SessionView } from "./serve-view.ts";

/** The sessions of an application. */
export type ServedAgent = {
  readonly version: string;
  /** Throws with one sentence for the person when there can be no such session. */
  open(request: ServedOpening, view: SessionView): Promise<ServedSession>;
  list(cwd: string | undefined, cursor: string | undefined): Promise<ServedList>;
};

export type ServedOpening = {
  readonly cwd: string;
  /** The session to continue; undefined for a new one. */
  readonly sessionId: string | undefined;
  /** True when the earlier messages are shown again. */
  readonly isReplayed: boolean;
  /** Servers whose tools the session may use, besides those that are configured. */
  readonly mcpServers: readonly McpServer[];
  /** Wishes of the client that sous does not fulfil, in words. */
  readonly ignored: readonly string[];
};

export type ServedList = {
  readonly sessions: readonly { sessionId: string; cwd: string; title: string; updatedAt: string }[];
  readonly nextCursor: string | undefined;
};

export type ServedSession = {
  readonly id: string;
  readonly state: ServedState;
  setMode(mode: string): void;
  setModel(model: string): Promise<void>;
  /** Resolves when the run has ended, however it ends; rejects when it could not begin. Aborting `signal` cancels it. */
  prompt(text: string, signal: AbortSignal, trace?: TraceContext): Promise<RunResult>;
  /** Cancels what is live. Never rejects. */
  close(): Promise<void>;
};

/** No conversation with this id is stored. */
export class UnknownSession extends UserError {
  override name = "UnknownSession";
}

export type SessionChoice = { readonly id: string; readonly name: string; readonly description?: string };

export type ServedState = {
  readonly modes: { readonly current: string; readonly all: readonly SessionChoice[] };
  /** Without a model there is nothing to choose. */
  readonly models: { readonly current: string | undefined; readonly all: readonly SessionChoice[] };
};

/** Older clients know modes, newer ones options; they get both. */
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
