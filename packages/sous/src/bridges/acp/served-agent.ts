/** The application behind the protocol: which sessions there are, and what one of them does. */

import type { McpServer } from "../core/configuration.ts";
import { UserError } from "../core/errors.ts";
import type { RunResult } from "../core/runtime.ts";
import type { TraceContext } from "../core/trace-context.ts";
import type { ServedState } from "./serve-state.ts";
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
  /** What was said is shown again. */
  readonly isReplayed: boolean;
  /** Servers whose tools the session may use, besides those that are configured. */
  readonly mcpServers: readonly McpServer[];
  /** What the client wants and sous does not do, in words. */
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
