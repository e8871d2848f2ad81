/** Clients and hosts for the tests of agents in other processes. */

import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { fileURLToPath } from "node:url";
import { type CreateAcpClientOptions, createAcpClient } from "../../../../src/acp-client.ts";
import type { AcpClient } from "../../../../src/bridges/acp/client.ts";
import type {
  ExternalAction,
  ExternalHost,
  ExternalSession,
  SessionRequest,
} from "../../../../src/core/external-agent.ts";
import type { ToolResult } from "../../../../src/core/tool.ts";
import { compiled } from "../../../support/app/cli/sous-process.ts";
import type { BadStart, Step } from "./bad-agent.ts";

/** A folder that is there for the tests of one file. */
export function temporaryFolder(name: string): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), `sous-${name}-`)));
  after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

export function badServer(start: BadStart = {}) {
  const file = fileURLToPath(import.meta.resolve("./bad-agent.ts"));
  // Half of its start is stripping its types; all but the first find them stripped.
  return { command: process.execPath, args: [file, JSON.stringify(start)], env: { NODE_COMPILE_CACHE: compiled } };
}

const METHODS = ["initialize", "session/new", "session/prompt"] as const;

const ANSWERS = {
  initialize: { protocolVersion: 1, agentInfo: { name: "bad", version: "1" }, agentCapabilities: {} },
  "session/new": { sessionId: "s1" },
  "session/prompt": { stopReason: "end_turn" },
};

const WRONG = { sessionId: 5, protocolVersion: "one", stopReason: [] };
const REFUSAL = { code: -32603, message: "Internal error", data: "on purpose" };

/**
 * An agent that breaks the protocol at one method and follows it before that. A shell with its answers written out: it takes
 * a tenth of the time of a Node, and the tests start many.
 */
export function shellServer(method: (typeof METHODS)[number], how: "silent" | "dies" | "wrong" | "refuses") {
  const before = METHODS.slice(0, METHODS.indexOf(method));
  const id = before.length + 1;
  const say = (message: object): string => `echo '${JSON.stringify({ jsonrpc: "2.0", ...message })}'`;
  const breaks = {
    silent: ":",
    dies: "printf '\\033[31mout of memory\\n' >&2; exit 7",
    wrong: say({ id, result: WRONG }),
    refuses: say({ id, error: REFUSAL }),
  };
  const follows = before.map((each, index) => `read -r line; ${say({ id: index + 1, result: ANSWERS[each] })}`);
  const lines = [...follows, "read -r line", breaks[how], "while read -r line; do :; done"];
  return { command: "/bin/sh", args: ["-c", lines.join("\n")] };
}

export const sdkServer = {
  command: process.execPath,
  args: [fileURLToPath(import.meta.resolve("./sdk-agent.ts"))],
  env: { NODE_COMPILE_CACHE: compiled },
};

/** So long that no test fails because the machine is slow. */
export const PATIENT = { startMs: 60_000, requestMs: 60_000, silenceMs: 60_000, graceMs: 60_000 };

export function badClient(start: BadStart = {}, options: Partial<CreateAcpClientOptions> = {}): AcpClient {
  return createAcpClient({ servers: { bad: badServer(start) }, deadlines: PATIENT, ...options });
}

/** What a turn of the bad agent does, as its prompt. */
export function script(...steps: Step[]): string {
  return JSON.stringify(steps);
}

/** Records what a session says and does. Every question is denied and every tool refused, unless told otherwise. */
export class RecordingHost implements ExternalHost {
  readonly texts: string[] = [];
  readonly thoughts: string[] = [];
  readonly plans: (readonly string[])[] = [];
  readonly calls: Parameters<ExternalHost["onCall"]>[0][] = [];
  readonly spent: Parameters<ExternalHost["onUsage"]>[0][] = [];
  readonly questions: ExternalAction[] = [];
  readonly tools: ExternalAction[] = [];
  allow: (action: ExternalAction) => boolean | Promise<boolean> = () => false;
  run: (action: ExternalAction) => Promise<ToolResult> = () =>
    Promise.resolve({ success: false, output: "", error: "refused" });

  get text(): string {
    return this.texts.join("");
  }

  onText(text: string): void {
    this.texts.push(text);
  }

  onThought(text: string): void {
    this.thoughts.push(text);
  }

  onPlan(steps: readonly string[]): void {
    this.plans.push(steps);
  }

  onCall(call: Parameters<ExternalHost["onCall"]>[0]): void {
    this.calls.push(call);
  }

  onUsage(spent: Parameters<ExternalHost["onUsage"]>[0]): void {
    this.spent.push(spent);
  }

  async approve(action: ExternalAction): Promise<boolean> {
    this.questions.push(action);
    return await this.allow(action);
  }

  callTool(action: ExternalAction): Promise<ToolResult> {
    this.tools.push(action);
    return this.run(action);
  }

  clear(): void {
    for (const list of [this.texts, this.thoughts, this.plans, this.calls, this.spent, this.questions, this.tools]) {
      list.length = 0;
    }
  }
}

export const never: AbortSignal = new AbortController().signal;

export function sessionRequest(cwd: string, more: Partial<SessionRequest> = {}): SessionRequest {
  const allowance = { depth: 1, maxDepth: 3, tokens: 900, costUsd: undefined, durationMs: 60_000 };
  return { cwd, sessionId: undefined, allowance, signal: never, ...more };
}

/** A session as the runtime opens one. */
export function openExternal(client: AcpClient, host: ExternalHost, cwd: string): Promise<ExternalSession> {
  return client.externalAgent().open(sessionRequest(cwd), host);
}
