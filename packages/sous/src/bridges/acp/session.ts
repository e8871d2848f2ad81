/** One session with a started agent: opened or loaded, prompted one message at a time, closed. */

import { randomBytes } from "node:crypto";
import { ignore, ModelError, messageOf, UserError } from "../../core/errors.ts";
import {
  type ExternalAnswer,
  type ExternalHost,
  type ExternalSession,
  SessionLost,
} from "../../core/external-agent.ts";
import type { ToolResult } from "../../core/tool.ts";
import { Activity } from "./activity.ts";
import { refusedBy, type StartedAgent, unknownShape } from "./agent.ts";
import { type ChoiceRequest, currentMode, modelRequest, modeRequest, skipsQuestions } from "./choices.ts";
import { AgentError, INVALID_PARAMS, METHOD_NOT_FOUND, Refusal } from "./connection.ts";
import { type CallTool, LentTools, parsed } from "./lent-tools.ts";
import { oneLine } from "./one-line.ts";
import { actionsOf, answerTo, CANCELLED, type PermissionAnswer } from "./permission.ts";
import * as schema from "./schema.ts";
import { stopOf, Turn } from "./turn.ts";
import { SessionCost, usageOf, usageOfContext } from "./usage.ts";

const QUIET_MS = 250;
const MAX_QUIET_WAITS = 40;

/** The host of a session. Without tools its requests for files and terminals are refused. */
export type SessionHost = Omit<ExternalHost, "callTool"> & Partial<Pick<ExternalHost, "callTool">>;

export type SessionStart = {
  readonly agent: StartedAgent;
  readonly cwd: string;
  /** The session to continue; a new one when unset. */
  readonly sessionId?: string | undefined;
  readonly host: SessionHost;
  /** Ends the process of the agent: set when it is this session's own. */
  readonly ownsAgent: boolean;
};

/** Opens a session, in the mode and with the model of the server's configuration. */
export async function openSession(opening: SessionStart): Promise<AcpSession> {
  const { agent, sessionId } = opening;
  const session = sessionId === undefined ? await newSession(opening) : await loadSession(opening, sessionId);
  try {
    const { model, defaultMode } = agent.server;
    if (model !== undefined) await session.setModel(model);
    if (defaultMode !== undefined) await session.setMode(defaultMode);
    session.checkMode();
    return session;
  } catch (error) {
    await session.close();
    throw error;
  }
}

async function newSession(opening: SessionStart): Promise<AcpSession> {
  const { agent, cwd } = opening;
  const answer = await agent.request("session/new", { cwd, mcpServers: [], ...agent.meta });
  const { data } = schema.newSessionResult.safeParse(answer);
  if (data === undefined) throw unknownShape(agent, "session/new");
  return new AcpSession(opening, data.sessionId).setState(data);
}

async function loadSession(opening: SessionStart, sessionId: string): Promise<AcpSession> {
  const { agent, cwd } = opening;
  const { loadSession: canLoad, sessionCapabilities } = agent.info.agentCapabilities ?? {};
  // Resuming does not send the history again, so it is preferred.
  const method = sessionCapabilities?.resume ? "session/resume" : canLoad ? "session/load" : undefined;
  if (method === undefined) {
    throw new SessionLost(
      `The agent server ${agent.server.name} cannot continue a session: it offers neither load nor resume`,
    );
  }
  // Added before it is asked for: the history is dropped. Most agents send it before the answer, gemini-cli mostly behind it.
  const session = new AcpSession(opening, sessionId);
  try {
    const params = { sessionId, cwd, mcpServers: [], ...agent.meta };
    const asked = agent.connection.request(method, params, agent.deadlines.requestMs);
    const { data } = schema.sessionState.safeParse((await asked) ?? {});
    if (data === undefined) throw unknownShape(agent, method);
    if (method === "session/load") await session.untilQuiet();
    return session.setState(data);
  } catch (error) {
    await session.close();
    if (!(error instanceof AgentError)) throw error;
    throw new SessionLost(refusedBy(agent.server.name, method, error).message, { cause: error });
  }
}

export class AcpSession implements ExternalSession {
  readonly id: string;
  readonly agent: StartedAgent;
  readonly #host: SessionHost;
  readonly #ownsAgent: boolean;
  readonly #tools: LentTools | undefined;
  readonly #cost: SessionCost;
  /** The prefix of the ids of its calls, so that no other session has the same. */
  readonly #tag: string = randomBytes(4).toString("hex");
  #state: schema.SessionSettings = { modes: undefined, configOptions: [] };
  #calls = 0;
  /** The tokens that the agent has reported during the prompt. */
  #contextTokens = 0;
  #updates = 0;
  #turn: Turn | undefined;
  /** The agent still works on a prompt that was given up: what it says could belong to the next. */
  #isStuck = false;
  #isClosed = false;

  constructor({ agent, host, ownsAgent, sessionId }: SessionStart, id: string) {
    this.id = id;
    this.agent = agent;
    this.#host = host;
    this.#ownsAgent = ownsAgent;
    this.#cost = new SessionCost(sessionId === undefined);
    if (host.callTool !== undefined)
      this.#tools = new LentTools((action) => this.#callTool(action), agent.clock, agent.name);
    this.agent.add(id, {
      update: (kind, update) => this.#update(kind, update),
      request: (method, params) => this.#request(method, params),
    });
  }

  /** Waits until nothing has come for a moment: what belongs to the history must not be taken for the next answer. */
  async untilQuiet(): Promise<void> {
    for (let wait = 0; wait < MAX_QUIET_WAITS; wait++) {
      const before = this.#updates;
      await new Promise<void>((resolve) => this.agent.clock.timer(QUIET_MS, resolve));
      if (this.#updates === before) return;
    }
  }

  /** Takes its choices and settings, as the agent says when it is opened. */
  setState(state: schema.SessionSettings): this {
    this.#state = state;
    return this;
  }

  async prompt(text: string, signal: AbortSignal): Promise<ExternalAnswer> {
    const { server, info } = this.agent;
    this.checkFree();
    signal.throwIfAborted();
    const turn = new Turn(this.agent, this.id, new Activity(this.#host, () => this.#newId()));
    this.#turn = turn;
    this.#cost.startPrompt();
    this.#contextTokens = 0;
    try {
      const answer = await turn.answer(text, signal, (late) => this.#giveUp(late));
      if (turn.failure !== undefined) throw turn.failure;
      const { data } = schema.promptResult.safeParse(answer);
      if (data === undefined) throw unknownShape(this.agent, "session/prompt");
      const stop = turn.isCancelled ? "cancelled" : stopOf(data.stopReason);
      const usage = usageOf(data, info.agentInfo?.name) ?? usageOfContext(this.#contextTokens);
      return { stop, usage, costUsd: this.#cost.ofPrompt };
    } catch (error) {
      throw error instanceof AgentError ? refusedBy(server.name, "the prompt", error) : error;
    } finally {
      turn.activity.end();
      this.#turn = undefined;
    }
  }

  async setMode(mode: string): Promise<void> {
    const { server } = this.agent;
    if (skipsQuestions(mode) && server.defaultMode !== mode) {
      throw new UserError(
        `The mode ${mode} of ${server.name} does not ask all questions: only default_mode of its entry in agent_servers can choose it`,
      );
    }
    await this.#choose(modeRequest(server.name, this.#state, mode));
    if (this.#state.modes !== undefined) this.#state.modes.currentModeId = mode;
  }

  async setModel(model: string): Promise<void> {
    await this.#choose(modelRequest(this.agent.server.name, this.#state, model));
  }

  /** Throws when the session is in a mode that skips questions and that the configuration does not name. */
  checkMode(): void {
    const mode = currentMode(this.#state);
    const { name, defaultMode } = this.agent.server;
    if (mode === undefined || !skipsQuestions(mode) || mode === defaultMode) return;
    throw new UserError(
      `${name} is in its mode ${oneLine(mode, 60)}, which does not ask all questions. Set default_mode of its entry in agent_servers to that mode to allow it, or to another one`,
    );
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#turn?.cancel();
    await this.#tools?.close();
    this.agent.remove(this.id);
    if (this.#ownsAgent) return await this.agent.close();
    if (this.agent.info.agentCapabilities?.sessionCapabilities?.close) {
      await this.agent.request("session/close", { sessionId: this.id }).catch(ignore);
    }
  }

  /** Throws when it cannot take a prompt now. */
  checkFree(): void {
    const why = this.#isClosed
      ? "is closed"
      : this.#isStuck
        ? "still works on a prompt that was given up"
        : this.#turn !== undefined
          ? "works on another prompt"
          : undefined;
    if (why === undefined) return;
    throw new ModelError("unknown", `The session with ${this.agent.server.name} ${why}: open a new one`);
  }

  /** A process of its own is ended, with all that the agent may still do. Others share it, so only the session is lost. */
  #giveUp(late: Promise<unknown>): void {
    this.#isStuck = true;
    if (this.#ownsAgent) void this.agent.close();
    const isFree = (): void => {
      this.#isStuck = false;
    };
    late.then(isFree, isFree);
  }

  async #choose({ method, params }: ChoiceRequest): Promise<void> {
    const answer = await this.agent.request(method, { sessionId: this.id, ...params });
    const { data } = schema.configUpdate.safeParse(answer);
    if (data !== undefined && data.configOptions.length > 0) this.#state.configOptions = data.configOptions;
  }

  async #callTool(action: Parameters<CallTool>[0]): Promise<ToolResult> {
    const result = await this.#host.callTool?.({ ...action, callId: this.#newId() });
    if (result === undefined) throw new Refusal(METHOD_NOT_FOUND, "Method not found");
    return result;
  }

  #newId(): string {
    this.#calls += 1;
    return `acp-${this.#tag}-${this.#calls}`;
  }

  #update(kind: string, update: unknown): void {
    this.#updates += 1;
    const turn = this.#turn;
    switch (kind) {
      case "usage_update": {
        const { used, cost } = schema.usageUpdate.safeParse(update).data ?? {};
        if (used !== undefined) this.#contextTokens = used;
        if (cost !== undefined) this.#cost.report(cost);
        const costUsd = this.#cost.ofPrompt;
        if (turn !== undefined && costUsd !== undefined) this.#host.onUsage({ tokens: undefined, costUsd });
        return;
      }
      case "current_mode_update": {
        const { data } = schema.modeUpdate.safeParse(update);
        const { modes } = this.#state;
        if (data !== undefined) this.#state.modes = { availableModes: modes?.availableModes ?? [], ...data };
        this.#modeChanged();
        return;
      }
      case "config_option_update": {
        const { data } = schema.configUpdate.safeParse(update);
        if (data !== undefined) this.#state.configOptions = data.configOptions;
        this.#modeChanged();
        return;
      }
      default:
        // Outside of a prompt there is only the history of a loaded session, or what comes too late.
        turn?.activity.update(kind, update);
    }
  }

  /** An agent that stops asking by itself is stopped. */
  #modeChanged(): void {
    try {
      this.checkMode();
    } catch (error) {
      this.#turn?.cancel(new ModelError("unknown", messageOf(error), { afterOutput: true }));
    }
  }

  async #request(method: string, params: unknown): Promise<unknown> {
    const turn = this.#turn;
    if (method === "session/request_permission") return await this.#permission(params, turn);
    if (this.#tools === undefined) throw new Refusal(METHOD_NOT_FOUND, "Method not found");
    // Tools of the run work only while a prompt is worked on.
    if (turn === undefined || turn.isCancelled) throw new Refusal(INVALID_PARAMS, "The session has no prompt");
    return await this.#tools.request(method, params);
  }

  async #permission(params: unknown, turn: Turn | undefined): Promise<PermissionAnswer> {
    const request = parsed(schema.permissionRequest, params);
    if (turn === undefined || turn.isCancelled) return CANCELLED;
    for (const action of actionsOf(turn.activity.known(request.toolCall))) {
      // A broken broker counts as a denial.
      const approval = this.#host.approve({ ...action, callId: this.#newId() }).catch(() => false);
      const isAllowed = await Promise.race([approval, turn.cancelled]);
      // The prompt may have ended while a person was asked.
      if (this.#turn !== turn || turn.isCancelled) return CANCELLED;
      if (isAllowed !== true) return answerTo(request, false);
    }
    return answerTo(request, true);
  }
}
