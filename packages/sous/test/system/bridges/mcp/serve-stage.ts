/** A home with agents of files and a scripted model, and clients that drive a real `sous mcp serve` in it. */

import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { openSqliteStore } from "../../../../src/storage/store/sqlite/store.ts";
import { compiled, MAIN } from "../../../support/app/cli/sous-process.ts";
import { temporaryTree } from "../../../support/app/tools/temporary-tree.ts";

export type ServeStage = AsyncDisposable & {
  readonly path: string;
  /** The folder that agents work in. */
  readonly project: string;
  readonly env: Record<string, string>;
  /** The runs that are stored, the newest first. */
  runs(): Promise<{ id: string; agent: string; path: string; status: string }[]>;
};

export const SCOUT = `---
name: scout
description: Looks for things in files.
tools: [read_file, grep]
delegate: false
---
You look for things.
`;

/** `script` by agent path; `agents` are files of the user. */
export async function serveStage(
  script: object,
  agents: Record<string, string> = { scout: SCOUT },
): Promise<ServeStage> {
  const files = Object.entries(agents).map(([name, text]) => [`config/sous/agents/${name}.md`, text]);
  const tree = await temporaryTree({
    "project/pay.ts": "export const retries = 3;\n",
    "project/script.json": JSON.stringify(script),
    ...Object.fromEntries(files),
  });
  const database = join(tree.path, "data/sous/sous.db");
  return {
    ...tree,
    project: join(tree.path, "project"),
    env: {
      NODE_COMPILE_CACHE: compiled,
      HOME: tree.path,
      PATH: process.env.PATH ?? "/usr/bin:/bin",
      XDG_CONFIG_HOME: join(tree.path, "config"),
      XDG_STATE_HOME: join(tree.path, "state"),
      XDG_DATA_HOME: join(tree.path, "data"),
    },
    async runs() {
      await using store = await openSqliteStore(database, { readOnly: true });
      return store.list();
    },
  };
}

export function serveCommand(...options: readonly string[]): string[] {
  return [MAIN, "mcp", "serve", "--model", "script/script.json", ...options];
}

/** The client of the SDK. Its `close` ends the server. */
export async function sdkClient(
  { project, env }: Pick<ServeStage, "project" | "env">,
  ...options: readonly string[]
): Promise<Client & AsyncDisposable> {
  const client = new Client({ name: "test", version: "1" });
  const args = serveCommand(...options);
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args, cwd: project, env, stderr: "ignore" }),
  );
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
}

/** A message of the protocol, whatever it is. */
export type Message = {
  readonly id?: string | number | null;
  readonly method?: string;
  readonly params?: { readonly progressToken?: unknown; readonly progress: number; readonly message: string };
  readonly result?: {
    readonly isError?: boolean;
    readonly content: readonly { readonly text: string }[];
    readonly structuredContent: Readonly<Record<string, unknown>>;
    readonly tools: readonly { readonly name: string }[];
    readonly serverInfo: { readonly name: string };
  };
  readonly error?: { readonly code: number; readonly message: string };
};

export type WireClient = AsyncDisposable & {
  readonly process: ChildProcess;
  readonly ended: Promise<number | null>;
  /** Everything that came so far; a line that is not JSON is an error. */
  readonly messages: readonly Message[];
  stderr(): string;
  /** Writes a text as it is. */
  write(text: string | Uint8Array): Promise<void>;
  send(...messages: readonly object[]): Promise<void>;
  /** The first message, past or to come, that fits. */
  until(fits: (message: Message) => boolean): Promise<Message>;
  answerTo(id: string | number | null): Promise<Message>;
  initialize(): Promise<Message>;
};

/** A client that writes JSON-RPC by hand. */
export function wireClient(
  { project, env }: Pick<ServeStage, "project" | "env">,
  options: readonly string[] = [],
  more: Readonly<Record<string, string>> = {},
): WireClient {
  const child = spawn(process.execPath, serveCommand(...options), {
    cwd: project,
    env: { ...env, ...more },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const { stdin, stdout, stderr } = child;
  const messages: Message[] = [];
  const waiting = new Set<() => void>();
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => {});
  let [rest, errors] = ["", ""];
  stdin.on("error", () => {});
  stderr.on("data", (chunk) => (errors += chunk));
  stdout.on("data", (chunk) => {
    const lines = `${rest}${chunk}`.split("\n");
    rest = lines.pop() ?? "";
    try {
      for (const line of lines) messages.push(JSON.parse(line));
    } catch (error) {
      failed.reject(error);
    }
    for (const look of waiting) look();
  });
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  void ended.then((code) => failed.reject(new Error(`The server ended with ${code}: ${errors}`)));
  const write = (text: string | Uint8Array): Promise<void> =>
    new Promise((resolve) => void stdin.write(text, () => resolve()));
  const until = (fits: (message: Message) => boolean): Promise<Message> => {
    const found = new Promise<Message>((resolve) => {
      const look = (): void => {
        const message = messages.find(fits);
        if (message === undefined) return;
        waiting.delete(look);
        resolve(message);
      };
      waiting.add(look);
      look();
    });
    return Promise.race([found, failed.promise]);
  };
  const answerTo = (id: string | number | null): Promise<Message> =>
    until((message) => message.id === id && message.method === undefined);
  const send = (...all: readonly object[]): Promise<void> =>
    write(all.map((message) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`).join(""));
  return {
    process: child,
    ended,
    messages,
    stderr: () => errors,
    write,
    send,
    until,
    answerTo,
    async initialize() {
      const clientInfo = { name: "wire", version: "1" };
      const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
      await send({ id: "init", method: "initialize", params });
      const answer = await answerTo("init");
      await send({ method: "notifications/initialized" });
      return answer;
    },
    async [Symbol.asyncDispose]() {
      stdin.end();
      await ended;
    },
  };
}

/** A request to call a tool. */
export function toolCall(id: string | number, name: string, task: unknown, meta?: object): object {
  return { id, method: "tools/call", params: { name, arguments: { task }, ...(meta && { _meta: meta }) } };
}
