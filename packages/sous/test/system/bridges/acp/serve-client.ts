/** An editor for tests: a client of the SDK that drives a real `sous acp serve`. */

import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import {
  type ClientContext,
  client,
  type NewSessionResponse,
  ndJsonStream,
  type RequestPermissionRequest,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";
import { compiled, MAIN } from "../../../support/app/cli/sous-process.ts";

/** What a person at the editor answers: the id of an option, or nothing. */
export type Person = (question: RequestPermissionRequest) => string | undefined | Promise<string | undefined>;

export type Editor = AsyncDisposable & {
  readonly agent: ClientContext;
  readonly process: ChildProcess;
  readonly stderr: () => string;
  /** Everything that went over standard output. */
  readonly stdout: () => string;
  /** Writes to its standard input beside the client; resolves when that is taken. */
  write(text: string): Promise<void>;
  readonly ended: Promise<number | null>;
  /** The updates of a session so far. */
  updates(sessionId: string): readonly SessionUpdate[];
  /** Resolves with the first update, past or to come, that fits. */
  until(sessionId: string, fits: (update: SessionUpdate) => boolean): Promise<SessionUpdate>;
  /** Answers the questions of a session from now on. Without a person a question stays open. */
  answer(sessionId: string, person: Person): void;
};

export type Home = AsyncDisposable & {
  readonly path: string;
  /** A folder for a session whose model plays this script. */
  project(name: string, script: object): Promise<string>;
};

export async function home(): Promise<Home> {
  const path = await mkdtemp(join(tmpdir(), "sous-serve-"));
  return {
    path,
    async project(name, script) {
      const cwd = join(path, name);
      await mkdir(cwd);
      await writeFile(join(cwd, "script.json"), JSON.stringify(script));
      await writeFile(join(cwd, "pay.ts"), "export const retries = 3;\n");
      return cwd;
    },
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 5 }),
  };
}

/** Code in the process that prints to standard output with every new session, as a package in use might. */
const NOISE = `--import=data:text/javascript,${encodeURIComponent(
  `const { parse } = JSON;
  JSON.parse = (text, ...rest) => {
    if (String(text).includes('"session/new"')) console.log("noise on standard output");
    return parse(text, ...rest);
  };`,
)}`;

/** Each session plays the script of its folder. */
export async function editor(
  { path }: Pick<Home, "path">,
  parameters: readonly string[] = ["--model", "script/script.json"],
  more: Readonly<Record<string, string>> = {},
): Promise<Editor> {
  const process_ = spawn(process.execPath, [MAIN, "acp", "serve", ...parameters], {
    cwd: path,
    env: {
      NODE_COMPILE_CACHE: compiled,
      NODE_OPTIONS: NOISE,
      HOME: path,
      PATH: process.env.PATH ?? "/usr/bin:/bin",
      ...more,
    },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const { stdin, stdout, stderr } = process_;
  const said = { stdout: "", stderr: "" };
  stdout.on("data", (chunk) => (said.stdout += chunk));
  stderr.on("data", (chunk) => (said.stderr += chunk));
  stdin.on("error", () => {});
  const ended = new Promise<number | null>((resolve) => process_.on("close", resolve));
  const updates = new Map<string, SessionUpdate[]>();
  const people = new Map<string, Person>();
  const waiting = new Set<() => void>();
  const connection = client()
    .onNotification("session/update", ({ params }) => {
      updates.set(params.sessionId, [...(updates.get(params.sessionId) ?? []), params.update]);
      for (const look of waiting) look();
    })
    .onRequest("session/request_permission", async ({ params, signal }) => {
      const person = people.get(params.sessionId);
      if (person === undefined) await new Promise((resolve) => signal.addEventListener("abort", resolve));
      const optionId = await person?.(params);
      return { outcome: optionId === undefined ? { outcome: "cancelled" } : { outcome: "selected", optionId } };
    })
    .connect(ndJsonStream(Writable.toWeb(stdin), Readable.toWeb(stdout) as unknown as ReadableStream<Uint8Array>));
  const found = (sessionId: string, fits: (update: SessionUpdate) => boolean) => updates.get(sessionId)?.find(fits);
  await connection.agent.request("initialize", {
    protocolVersion: 1,
    clientCapabilities: { session: { notices: {} } },
  });
  return {
    agent: connection.agent,
    process: process_,
    stderr: () => said.stderr,
    stdout: () => said.stdout,
    write: (text) => new Promise((resolve) => void stdin.write(text, () => resolve())),
    ended,
    updates: (sessionId) => updates.get(sessionId) ?? [],
    until(sessionId, fits) {
      return new Promise((resolve) => {
        const look = (): void => {
          const update = found(sessionId, fits);
          if (update === undefined) return;
          waiting.delete(look);
          resolve(update);
        };
        waiting.add(look);
        look();
      });
    },
    answer: (sessionId, person) => void people.set(sessionId, person),
    async [Symbol.asyncDispose]() {
      stdin.end();
      await ended;
    },
  };
}

export function newSession({ agent }: Pick<Editor, "agent">, cwd: string): Promise<NewSessionResponse> {
  return agent.request("session/new", { cwd, mcpServers: [] });
}

/** Says something and waits for the answer. */
export function say(
  { agent }: Pick<Editor, "agent">,
  sessionId: string,
  text: string,
  _meta?: Record<string, unknown>,
) {
  return agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text }], ...(_meta && { _meta }) });
}

/** What the agent has said, in one piece. */
export function textOf(updates: readonly SessionUpdate[]): string {
  return updates
    .flatMap((update) =>
      update.sessionUpdate === "agent_message_chunk" && update.content.type === "text" ? [update.content.text] : [],
    )
    .join("");
}

/** The last state of each call, by title. */
export function callsOf(
  updates: readonly SessionUpdate[],
): Map<string, { status: string; kind: string; text: string }> {
  const byId = new Map<string, { title: string; status: string; kind: string; text: string }>();
  for (const update of updates) {
    if (update.sessionUpdate !== "tool_call" && update.sessionUpdate !== "tool_call_update") continue;
    const { toolCallId: id, title, status, kind, content } = update;
    const before = byId.get(id) ?? { title: "", status: "", kind: "", text: "" };
    byId.set(id, {
      title: title ?? before.title,
      status: status ?? before.status,
      kind: kind ?? before.kind,
      text: content === undefined ? before.text : JSON.stringify(content),
    });
  }
  return new Map([...byId.values()].map(({ title, ...call }) => [title, call]));
}
