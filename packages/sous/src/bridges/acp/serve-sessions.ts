/** The sessions of one client: which of them a message is for, one prompt at a time, cancel, the answers. */

import { addAbortListener } from "node:events";
import {
  type AgentContext,
  type ContentBlock,
  type PromptRequest,
  type PromptResponse,
  RequestError,
} from "@agentclientprotocol/sdk";
import type { Clock } from "../../core/clock.ts";
import { messageOf, UserError } from "../../core/errors.ts";
import type { RunResult } from "../../core/runtime.ts";
import { traceIn } from "../../core/trace-context.ts";
import { endingRow, OUTCOMES } from "../../core/words/outcomes.ts";
import { editorServers } from "./editor-servers.ts";
import { type SessionClient, SessionView } from "./serve-view.ts";
import {
  configOptions,
  modelOptionId,
  modeOptionId,
  type ServedAgent,
  type ServedSession,
  stateOf,
  UnknownSession,
} from "./served-agent.ts";

/** A session that is open, and the prompt that is being answered. */
type OpenSession = { readonly session: ServedSession; readonly view: SessionView; prompt: AbortController | undefined };

type Place = {
  readonly cwd: string;
  readonly mcpServers?: readonly unknown[] | undefined;
  readonly additionalDirectories?: readonly string[] | undefined;
};

/** Codes of JSON-RPC and of the protocol. */
const WRONG_REQUEST = -32602;
const FAILED = -32603;
const UNKNOWN_SESSION = -32002;

export class ServedSessions {
  takesNotices = false;
  readonly #agent: ServedAgent;
  readonly #clock: Clock;
  readonly #open = new Map<string, OpenSession>();
  /** Stored sessions that are being opened. */
  readonly #opening = new Set<string>();
  #isClosed = false;

  constructor({ agent, clock }: { readonly agent: ServedAgent; readonly clock: Clock }) {
    this.#agent = agent;
    this.#clock = clock;
  }

  async create(place: Place, client: AgentContext) {
    const session = await this.#opened(place, client, undefined, false);
    return { sessionId: session.id, ...stateOf(session.state) };
  }

  async continue(given: Place & { sessionId: string }, client: AgentContext, isReplayed: boolean) {
    const { sessionId } = given;
    const open = this.#open.get(sessionId);
    if (open?.prompt !== undefined) throw wrongRequest(`The session ${sessionId} is at work: cancel it first`);
    if (this.#opening.has(sessionId)) throw wrongRequest(`The session ${sessionId} is being opened`);
    this.#opening.add(sessionId);
    try {
      if (open !== undefined) await this.close(sessionId);
      const session = await this.#opened(given, client, sessionId, isReplayed);
      return stateOf(session.state);
    } finally {
      this.#opening.delete(sessionId);
    }
  }

  async #opened(place: Place, client: AgentContext, sessionId: string | undefined, isReplayed: boolean) {
    let id = sessionId;
    const sessionClient = this.#clientFor(client, () => id ?? "");
    const view = new SessionView(sessionClient, place.cwd, this.#clock);
    const { servers: mcpServers, problems } = editorServers(place.mcpServers ?? []);
    const ignored = [...problems, ...ignoredIn(place)];
    const opening = { cwd: place.cwd, sessionId, isReplayed, mcpServers, ignored };
    const session = await this.#agent.open(opening, view).catch(refuse);
    id = session.id;
    await view.drain();
    if (this.#isClosed) await session.close();
    else this.#open.set(session.id, { session, view, prompt: undefined });
    return session;
  }

  #clientFor(client: AgentContext, sessionId: () => string): SessionClient {
    return {
      update: (update) => client.notify("session/update", { sessionId: sessionId(), update }),
      ask: (question, cancellationSignal) =>
        client.request(
          "session/request_permission",
          { ...question, sessionId: sessionId() },
          { cancellationSignal, stopWaitingOnCancel: true },
        ),
      takesNotices: this.takesNotices,
    };
  }

  async list({ cwd, cursor }: { cwd?: string | null | undefined; cursor?: string | null | undefined }) {
    const { sessions, nextCursor } = await this.#agent.list(cwd ?? undefined, cursor ?? undefined).catch(refuse);
    return { sessions: [...sessions], ...(nextCursor === undefined ? {} : { nextCursor }) };
  }

  /** One prompt at a time. It is always answered, also when it is cancelled before its run has begun. */
  async prompt({ sessionId, prompt: blocks, _meta }: PromptRequest, signal: AbortSignal): Promise<PromptResponse> {
    const open = this.#find(sessionId);
    if (open.prompt !== undefined)
      throw wrongRequest("This session is at work: wait for its answer, or cancel it first");
    const prompt = new AbortController();
    open.prompt = prompt;
    using _cancel = addAbortListener(signal, () => prompt.abort());
    try {
      const text = promptText(blocks);
      open.view.showNotices();
      // Earlier spending, such as by a conversation that is loaded, does not belong to this prompt.
      open.view.takeBill();
      const result = await open.session.prompt(text, prompt.signal, traceIn(_meta ?? {}));
      const stopReason = prompt.signal.aborted ? "cancelled" : this.#stopReason(result, open.view);
      return { stopReason, ...billOf(open.view) };
    } catch (error) {
      if (prompt.signal.aborted) return { stopReason: "cancelled", ...billOf(open.view) };
      return refuse(error);
    } finally {
      await open.view.drain();
      open.prompt = undefined;
    }
  }

  #stopReason(result: RunResult, view: SessionView): PromptResponse["stopReason"] {
    const { status, error } = result;
    const { editor } = endingRow(result);
    if (editor === undefined) throw new RequestError(FAILED, error?.message ?? "The run failed");
    if (OUTCOMES[status].kind === "limit") {
      const text = `\n\n${error?.message ?? "A limit was reached"}. The answer may not be complete.`;
      view.add({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
    }
    return editor;
  }

  cancel(sessionId: string): void {
    this.#open.get(sessionId)?.prompt?.abort();
  }

  setMode({ sessionId, modeId }: { sessionId: string; modeId: string }): object {
    const { session, view } = this.#find(sessionId);
    this.#checkKnown(modeId, session.state.modes.all, "mode");
    session.setMode(modeId);
    view.add({ sessionUpdate: "config_option_update", configOptions: configOptions(session.state) });
    return {};
  }

  async setOption(given: { sessionId: string; configId: string; value: string | boolean }) {
    const { session, view, prompt } = this.#find(given.sessionId);
    const value = String(given.value);
    const { modes, models } = session.state;
    if (given.configId === modeOptionId) {
      this.#checkKnown(value, modes.all, "mode");
      session.setMode(value);
      view.add({ sessionUpdate: "current_mode_update", currentModeId: value });
    } else if (given.configId === modelOptionId) {
      this.#checkKnown(value, models.all, "model");
      if (prompt !== undefined)
        throw wrongRequest("The model can be changed when the session is not at work: cancel it first");
      await session.setModel(value).catch(refuse);
    } else {
      throw wrongRequest(`Unknown option ${given.configId}: there are ${modeOptionId} and ${modelOptionId}`);
    }
    return { configOptions: configOptions(session.state) };
  }

  async close(sessionId: string): Promise<object> {
    const open = this.#find(sessionId);
    this.#open.delete(sessionId);
    open.prompt?.abort();
    await open.session.close();
    return {};
  }

  async closeAll(): Promise<void> {
    this.#isClosed = true;
    for (const { view } of this.#open.values()) view.close();
    await Promise.all([...this.#open.keys()].map((id) => this.close(id)));
  }

  #find(sessionId: string): OpenSession {
    const open = this.#open.get(sessionId);
    if (open !== undefined) return open;
    const message = `The session ${sessionId} is not open: session/new makes one, session/load opens one`;
    throw new RequestError(UNKNOWN_SESSION, message);
  }

  #checkKnown(id: string, known: readonly { id: string }[], what: string): void {
    if (known.some((each) => each.id === id)) return;
    const names = known.map((each) => each.id).join(", ");
    throw wrongRequest(`Unknown ${what} ${id}: it can be ${names || "none"}`);
  }
}

function wrongRequest(message: string): RequestError {
  return new RequestError(WRONG_REQUEST, message);
}

/** Throws an error of the protocol: the client shows the sentence. */
function refuse(error: unknown): never {
  if (error instanceof RequestError) throw error;
  const code = error instanceof UnknownSession ? UNKNOWN_SESSION : error instanceof UserError ? WRONG_REQUEST : FAILED;
  throw new RequestError(code, messageOf(error));
}

function ignoredIn({ additionalDirectories = [] }: Place): string[] {
  if (additionalDirectories.length === 0) return [];
  return ["Further folders are not used: a session of sous works in one folder, so open another session for them"];
}

/** The bill of the prompt for the whole tree. The protocol has no field for it yet; `quota` is what other agents use. */
function billOf(view: SessionView): Pick<PromptResponse, "_meta"> {
  const { usage, costUsd } = view.takeBill();
  const token_count = { input_tokens: usage.inputTokens, output_tokens: usage.outputTokens };
  return { _meta: { quota: { token_count }, sous: { usage, costUsd } } };
}

/** The text that a run is given. Throws a `UserError` for what cannot be read. */
function promptText(blocks: readonly ContentBlock[]): string {
  const text = blocks.map(blockText).join("\n\n");
  if (text.trim() === "") throw new UserError("The prompt is empty: write what is to be done");
  return text;
}

function blockText(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "resource_link":
      return `[${block.name}](${block.uri})`;
    case "resource": {
      const { resource } = block;
      if (!("text" in resource))
        throw new UserError(`${resource.uri} is not text: sous reads text only, so name the file instead`);
      return `<resource uri=${JSON.stringify(resource.uri)}>\n${resource.text}\n</resource>`;
    }
    case "image":
    case "audio":
      throw new UserError(`sous cannot read ${NAMES[block.type]} in a prompt: save it as a file and name that`);
    default:
      throw new UserError("The prompt has a part of a kind that sous does not know: send text or resources");
  }
}

const NAMES = { image: "an image", audio: "audio" } as const;
