/** One session of an editor: an application for its folder, a conversation in it, a mode and a model. */

import { stat } from "node:fs/promises";
import { isAbsolute } from "node:path";
import type { SessionView } from "../../../bridges/acp/serve-view.ts";
import { type ServedOpening, type ServedSession, UnknownSession } from "../../../bridges/acp/served-agent.ts";
import type { ApprovalAnswer, ApprovalRequest, Approve } from "../../../core/approval.ts";
import { EXTERNAL_PROVIDER } from "../../../core/model.ts";
import { type RunResult, withoutRun } from "../../../core/runtime.ts";
import type { Store } from "../../../core/store.ts";
import { readTraceContext, type TraceContext } from "../../../core/trace-context.ts";
import { canResume } from "../../../core/words/outcomes.ts";
import { type Application, openApplication } from "../application/open.ts";
import { findTrust, trustWarning } from "../application/project.ts";
import { RIGHTS_MODES, type RightsMode } from "../application/rules.ts";
import type { RunTelemetry } from "../application/telemetry.ts";
import { ChatConversation } from "../chat/conversation.ts";
import { findConversation, readConversation, type StoredChat } from "../chat/stored-conversation.ts";
import { CommandError, EXIT } from "../exit-codes.ts";
import { changeTo, type ProcessContext, thisFolder } from "../files/paths.ts";
import { withoutValuesIn } from "../files/without-secrets.ts";
import type { RunFlags } from "../table/run-flags.ts";
import { tell } from "../terminal/output.ts";
import { inertLine } from "../terminal/text.ts";

type ServeParts = {
  readonly flags: RunFlags;
  readonly env: ProcessContext["env"];
  /** Undefined when nothing is stored. */
  readonly store: Store | undefined;
  readonly telemetry: RunTelemetry;
  readonly newId: () => string;
};

const MODES: Readonly<Record<RightsMode, { name: string; description: string }>> = {
  ask: { name: "Ask", description: "Asks before anything that no rule allows" },
  "read-only": { name: "Read only", description: "Reads and searches; changes no file and runs no command" },
  allow: { name: "Allow", description: "Allows everything that no rule denies, as --yes does" },
};

/** Throws a `CommandError` when there can be no such session. */
export async function openSession(
  opening: ServedOpening,
  view: SessionView,
  parts: ServeParts,
): Promise<ServedSession> {
  const { cwd, sessionId, isReplayed, mcpServers } = opening;
  const { flags, env, store, telemetry } = parts;
  await checkFolder(cwd, parts);
  const stored = sessionId === undefined ? undefined : await storedChat(sessionId, cwd, parts);
  const warn = (line: string): void => {
    tell(line);
    view.notice(line);
  };
  const now: SessionState = { mode: "ask", trace: undefined };
  const ask: Approve = (asked, signal) => askClient(application, view, asked, signal);
  const mode = (): RightsMode => now.mode;
  const trace = (): TraceContext | undefined => now.trace ?? readTraceContext(env);
  const given = { telemetry, warn, trace, mcpServers };
  const application: Application = await openApplication({ flags, cwd, env, ask, mode, store, ...given });
  for (const sentence of opening.ignored) warn(`warning: ${sentence}`);
  for (const event of stored?.events ?? []) {
    if (isReplayed) view.replay(event);
    else view.skip(event);
  }
  const id = sessionId ?? parts.newId();
  const reservedId = stored === undefined ? id : undefined;
  const conversation = new ChatConversation(application, { onEvent: view.onEvent }, reservedId);
  return new Session(id, { application, conversation, now, stored });
}

/** Everything but a yes is a no. */
async function askClient(
  application: Application,
  view: SessionView,
  asked: ApprovalRequest,
  signal: AbortSignal,
): Promise<ApprovalAnswer> {
  const { title, lines, why, rule } = application.describe(asked);
  const request = { ...asked, input: withoutValuesIn(asked.input) };
  const end = `end of the question ${asked.digest ?? ""}`.trimEnd();
  const question = { request, lines: [title, ...lines, ...why, end], always: rule?.pattern };
  const answer = await view.ask(question, signal);
  if (answer === "always" && rule !== undefined) application.remember(rule, asked);
  return { allow: answer !== "no" };
}

async function checkFolder(cwd: string, { flags, env }: ServeParts): Promise<void> {
  const shown = inertLine(cwd, 1000);
  if (!isAbsolute(cwd)) throw new CommandError(`The folder of a session must be an absolute path; found ${shown}`);
  const found = await stat(cwd).catch(() => undefined);
  if (found?.isDirectory() !== true) throw new CommandError(`The folder ${shown} does not exist: open one that does`);
  if (flags.isBare) return;
  const trust = await findTrust({ cwd, env });
  const warning = trustWarning(trust);
  if (warning === undefined) return;
  const how = `Run "${changeTo(trust.root)} && sous trust" in a terminal, then open the session again`;
  throw new CommandError(inertLine(`No session in ${shown}: ${warning}. ${how}`, 3000), EXIT.configuration);
}

async function storedChat(sessionId: string, cwd: string, { store }: ServeParts): Promise<StoredChat> {
  const id = inertLine(sessionId, 60);
  if (store === undefined)
    throw new CommandError(`The session ${id} cannot be loaded, because sous stores nothing here: start a new one`);
  const record = await store.run(sessionId);
  if (record === undefined || record.rootId !== sessionId)
    throw new UnknownSession(`Unknown session ${id}: session/list shows those of a folder`);
  const last = await findConversation(store, sessionId, [], {
    cwd: thisFolder(cwd),
    elsewhere: "refuse",
    takenBy: (runId) => `sous chat --resume ${runId} --here`,
  });
  return readConversation(store, last);
}

/** Changes while the application is open. */
type SessionState = {
  /** The rights without a question. */
  mode: RightsMode;
  /** The trace that the client names for the prompt at work. */
  trace: TraceContext | undefined;
};

type SessionParts = {
  readonly application: Application;
  readonly conversation: ChatConversation;
  readonly now: SessionState;
  readonly stored: StoredChat | undefined;
};

class Session implements ServedSession {
  readonly id: string;
  readonly #application: Application;
  readonly #conversation: ChatConversation;
  readonly #now: SessionState;
  /** A stored conversation whose last run the next prompt continues first. */
  #interrupted: StoredChat | undefined;

  constructor(id: string, { application, conversation, now, stored }: SessionParts) {
    this.id = id;
    this.#application = application;
    this.#conversation = conversation;
    this.#now = now;
    if (stored !== undefined && canResume(stored.last.status)) this.#interrupted = stored;
    else if (stored !== undefined) conversation.resumeFrom(stored);
  }

  get state(): ServedSession["state"] {
    const { model, models } = this.#application.configuration;
    const { model: current = model } = this.#conversation.agent;
    const name = typeof current === "string" ? current : undefined;
    const named = [name, model, ...models.allow].filter((each) => each !== undefined);
    const all = [...new Set(named)].filter((each) => !each.endsWith("/*") && !each.startsWith(`${EXTERNAL_PROVIDER}/`));
    return {
      modes: { current: this.#now.mode, all: RIGHTS_MODES.map((id) => ({ id, ...MODES[id] })) },
      models: { current: name, all: all.map((id) => ({ id, name: id })) },
    };
  }

  setMode(mode: string): void {
    this.#now.mode = RIGHTS_MODES.find((each) => each === mode) ?? this.#now.mode;
  }

  async setModel(model: string): Promise<void> {
    await this.#application.checkModel(model);
    this.#conversation.continueAs(this.#conversation.agent.with({ model }));
  }

  async prompt(text: string, signal: AbortSignal, trace?: TraceContext): Promise<RunResult> {
    this.#now.trace = trace;
    const conversation = this.#conversation;
    const cancel = (): void => void conversation.cancel(undefined, "stop");
    signal.addEventListener("abort", cancel, { once: true });
    try {
      await this.#finishInterrupted();
      if (signal.aborted) return NOT_BEGUN;
      return await conversation.say(text);
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  }

  /** Finishes what a crash has left before anything new is said. A run that cannot continue is tried again with the next prompt. */
  async #finishInterrupted(): Promise<void> {
    if (this.#interrupted === undefined) return;
    await this.#conversation.resumeInterrupted(this.#interrupted);
    this.#interrupted = undefined;
  }

  async close(): Promise<void> {
    this.#conversation.cancel(undefined, "stop");
    await this.#conversation.settled;
    await this.#application[Symbol.asyncDispose]();
  }
}

const NOT_BEGUN: RunResult = withoutRun("cancelled", { type: "cancelled", message: "The prompt was cancelled" });
