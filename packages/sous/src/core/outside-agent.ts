/**
 * The port to an agent outside of this process. It works in a session: opened, prompted, closed. `acp/` stands behind it. To
 * the gate for children such an agent is a model, marked as one that acts by itself.
 */

import { ModelError, UserError } from "./errors.ts";
import { isOutsideModel, type Model, OUTSIDE_PROVIDER } from "./model.ts";
import type { ToolResult } from "./tool.ts";
import type { TraceContext } from "./trace-context.ts";
import type { Usage } from "./usage.ts";

/** The agents outside that a runtime knows, by the names of their servers. */
export type OutsideAgents = {
  readonly serverNames: readonly string[];
  /** The default one when neither is named. Throws a `UserError` for one that is not known. Starts nothing. */
  outsideAgent(serverName?: string, agentId?: string): OutsideAgent;
};

/** One agent outside: what it may cost and take, and how a session with it is opened. */
export type OutsideAgent = {
  readonly serverName: string;
  /** USD that a prompt may cost: its reservation under a limit of money, and its bill when the agent reports none. */
  readonly maxCostUsd: number | undefined;
  /** How long one run of it may take. */
  readonly timeoutMs: number | undefined;
  /** Starts the agent and opens a session, new or recorded. Throws a `SessionLost` when the recorded one cannot be continued. */
  open(request: SessionRequest, host: OutsideHost): Promise<OutsideSession>;
};

/** What a session is opened for. */
export type SessionRequest = {
  /** Where it works. */
  readonly cwd: string;
  /** A session that was opened earlier and is to continue. */
  readonly sessionId: string | undefined;
  /** What it and everything it starts may still do. */
  readonly allowance: OutsideAllowance;
  /** The trace that it works in, for the spans of its own. */
  readonly trace?: TraceContext | undefined;
  readonly signal: AbortSignal;
};

/** Handed on in a variable, so that a runtime inside of the agent can only narrow it. */
export type OutsideAllowance = {
  /** The level of the agent in our tree, and the deepest level there may be. */
  readonly depth: number;
  readonly maxDepth: number;
  /** What is left of each limit; undefined where there is none. */
  readonly tokens: number | undefined;
  readonly costUsd: number | undefined;
  readonly seconds: number | undefined;
};

/** One conversation with the agent. */
export type OutsideSession = {
  readonly id: string;
  /**
   * Sends one message and waits for the end of the agent's turn. Aborting the signal cancels the turn; it then resolves with
   * what is known, or rejects when the agent does not stop in time. Rejects with a `ModelError` for every other failure.
   */
  prompt(text: string, signal: AbortSignal): Promise<OutsideAnswer>;
  /** Ends the session here and its process, if it has one of its own. Never rejects. */
  close(): Promise<void>;
};

/** How a prompt ended, and what it used. */
export type OutsideAnswer = {
  readonly stop: "done" | "refused" | "length" | "turns" | "cancelled";
  /** Of this prompt; undefined when the agent did not say. */
  readonly usage: Usage | undefined;
  /** Of this prompt; undefined when the agent did not say. Never a made-up zero. */
  readonly costUsd: number | undefined;
};

/** What the run lends to a session. All of it may be called until the session is closed. */
export type OutsideHost = {
  onText(text: string): void;
  onThought(text: string): void;
  onPlan(steps: readonly string[]): void;
  /** A call that the agent makes itself, when it begins and when it has ended. */
  onCall(call: OutsideCall): void;
  /** What this prompt has used so far, as far as it is known. */
  onUsage(spent: { readonly tokens: number | undefined; readonly costUsd: number | undefined }): void;
  /** May it do this? The rights of the run, the rules of the user, then the person. */
  consent(action: OutsideAction): Promise<boolean>;
  /** Which of the run's tools may be called; all three when unset. The agent is offered no others. */
  readonly lends?: readonly LentToolName[] | undefined;
  /** The run's own `read_file`, `write_file` or `terminal`, under its rights, rules and limits. */
  callTool(action: OutsideAction): Promise<ToolResult>;
};

/** Tools of a run that an outside agent may call. */
export type LentToolName = "read_file" | "write_file" | "terminal";

/** What the agent does, in the words of our own tools: exactly what a rule or a person decides about. */
export type OutsideAction = {
  readonly callId: string;
  readonly toolName: string;
  readonly input: unknown;
  /** Only asks how an earlier action stands: not recorded. */
  readonly isPoll?: true | undefined;
};

/** Something that the agent does by itself. */
export type OutsideCall = {
  readonly callId: string;
  readonly phase: "start" | "end";
  /** As the agent names it. */
  readonly name: string;
  /** What it is about: `read`, `edit`, `execute`, `search`, … */
  readonly kind: string;
  /** For people. */
  readonly title: string;
  readonly input: unknown;
  /** At the end: what came of it, and whether it failed. */
  readonly output?: string | undefined;
  readonly isError?: boolean | undefined;
};

/** The recorded session cannot be continued: the agent cannot load one, or does not know it any more. */
export class SessionLost extends Error {
  override name = "SessionLost";
}

/** An outside agent as the gate for children sees it. */
export function outsideModel(outside: OutsideAgent): Model {
  const id = `${OUTSIDE_PROVIDER}/${outsideName(outside.serverName)}`;
  return {
    id,
    outside,
    answer: () => Promise.reject(new ModelError("unknown", `${id} works in sessions and does not answer questions`)),
  };
}

/** A server's name as it is written behind `external/`: `Claude Code` becomes `claude-code`. */
export function outsideName(serverName: string): string {
  return serverName
    .toLowerCase()
    .replace(/[^a-z0-9._]+/g, "-")
    .replace(/^[^a-z0-9]+/, "");
}

/** The agent behind `external/NAME`; undefined for any other model. Throws a `UserError` when there is no such agent. */
export function outsideModelFor(choice: unknown, agents: OutsideAgents | undefined): Model | undefined {
  if (typeof choice !== "string" || !isOutsideModel(choice)) return undefined;
  const name = choice.slice(OUTSIDE_PROVIDER.length + 1);
  const known = agents?.serverNames ?? [];
  const server = known.find((each) => each === name || outsideName(each) === name);
  if (agents !== undefined && server !== undefined) return outsideModel(agents.outsideAgent(server));
  const hint = known.length === 0 ? "no agent_servers are set (models.outside in code)" : `known: ${known.join(", ")}`;
  throw new UserError(`There is no agent server for the model ${choice}: ${hint}`);
}
