/** The client's view of one session, and the questions to it. */

import type {
  PermissionOption,
  RequestPermissionRequest,
  RequestPermissionResponse,
  SessionUpdate,
} from "@agentclientprotocol/sdk";
import type { ApprovalRequest } from "../../core/approval.ts";
import type { Clock } from "../../core/clock.ts";
import type { SousEvent } from "../../core/event.ts";
import { oneLine } from "./one-line.ts";
import { callTitle, diffOf, fenced, kindOf, locationsOf } from "./serve-calls.ts";
import { type Bill, callIdOf, UpdateMap } from "./serve-map.ts";
import { UpdateQueue } from "./serve-updates.ts";

/** A question to a person: the call, and the exact action in words. */
export type ServedQuestion = {
  readonly request: ApprovalRequest;
  /** All of it, and why it is asked. */
  readonly lines: readonly string[];
  /** The rule that "always" would remember; undefined when it cannot be offered. */
  readonly always: string | undefined;
};

export type ServedAnswer = "once" | "always" | "no";

/** The client as one session needs it. */
export type SessionClient = {
  update(update: SessionUpdate): Promise<void>;
  ask(question: Omit<RequestPermissionRequest, "sessionId">, signal: AbortSignal): Promise<RequestPermissionResponse>;
  /** It shows notices. */
  readonly takesNotices: boolean;
};

const MAX_RULE = 120;

export class SessionView {
  readonly #client: SessionClient;
  readonly #cwd: string;
  readonly #map: UpdateMap;
  readonly #queue: UpdateQueue;
  #notices: string[] = [];

  constructor(client: SessionClient, cwd: string, clock: Clock) {
    this.#client = client;
    this.#cwd = cwd;
    this.#map = new UpdateMap(cwd);
    this.#queue = new UpdateQueue({ send: (update) => client.update(update), clock });
  }

  readonly onEvent = (event: SousEvent): void => {
    for (const update of this.#map.updates(event)) this.#queue.add(update);
  };

  /** An event of the conversation so far. All of them are sent at once. */
  replay(event: SousEvent): void {
    this.#queue.hurry();
    for (const update of this.#map.updates(event, true)) this.#queue.add(update);
  }

  /** Returns the bill of the session since this was called last. */
  takeBill(): Bill {
    return this.#map.takeBill();
  }

  /** Counts an event of the conversation so far, which the client has seen. */
  skip(event: SousEvent): void {
    this.#map.updates(event, true);
  }

  add(update: SessionUpdate): void {
    this.#queue.add(update);
  }

  /** One sentence for the person, shown with the next prompt: before that the client may not know the session. */
  notice(sentence: string): void {
    if (this.#client.takesNotices) this.#notices.push(sentence);
  }

  showNotices(): void {
    const notices = this.#notices;
    this.#notices = [];
    for (const title of notices) this.#queue.add({ sessionUpdate: "notice", severity: "warning", title });
  }

  drain(): Promise<void> {
    return this.#queue.drain();
  }

  close(): void {
    this.#queue.close();
  }

  /** Everything but a clear yes is a no. */
  async ask({ request, lines, always }: ServedQuestion, signal: AbortSignal): Promise<ServedAnswer> {
    const { toolName, input } = request;
    // The client is to see what led to the question.
    await this.#queue.drain();
    if (signal.aborted) return "no";
    const who = { path: request.path, depth: request.above.length };
    const diff = diffOf(toolName, input, this.#cwd);
    const text = fenced(lines.join("\n"));
    const toolCall = {
      toolCallId: callIdOf(request),
      title: callTitle(who, toolName, input),
      kind: kindOf(toolName),
      status: "pending" as const,
      locations: locationsOf(input, this.#cwd),
      content: [{ type: "content" as const, content: { type: "text" as const, text } }, ...(diff ? [diff] : [])],
      rawInput: input,
    };
    const options = optionsFor(request.agent, always);
    const answered = await this.#client.ask({ toolCall, options }, signal).catch(() => undefined);
    if (signal.aborted || answered?.outcome.outcome !== "selected") return "no";
    const { optionId } = answered.outcome;
    const chosen = options.find((option) => option.optionId === optionId)?.optionId;
    return chosen === "once" || chosen === "always" ? chosen : "no";
  }
}

function optionsFor(agent: string, always: string | undefined): PermissionOption[] {
  const once: PermissionOption = { optionId: "once", name: "Allow once", kind: "allow_once" };
  const no: PermissionOption = { optionId: "no", name: "Reject", kind: "reject_once" };
  if (always === undefined) return [once, no];
  const name = `Always for ${oneLine(agent, 60)}: ${oneLine(always, MAX_RULE)}`;
  return [once, { optionId: "always", name, kind: "allow_always" }, no];
}
