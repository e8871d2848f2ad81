/**
 * One fake provider for the external agents and for our own models. What it answers depends on the request alone: on a word of
 * the last message of the user, on who asks, and on whether a tool has answered. Agents ask for titles in between, so calls
 * are not counted.
 */

import { type ChatCompletionRequest, type Fixture, LLMock } from "@copilotkit/aimock";
import { usage } from "../../packages/sous/test/support/runtime/model/aimock.ts";

export const EXTERNAL_NAMES = ["claude", "opencode", "codex", "gemini"] as const;
export type ExternalName = (typeof EXTERNAL_NAMES)[number];

/** The model that runs of sous itself use: `openai-compatible/lead`. */
export const LEAD = "lead";

/** What the root of a tree says, one entry for each turn: a text, or calls of tools. */
export type Turn = string | ((request: ChatCompletionRequest) => ToolCall[]);
export type ToolCall = { name: string; input: Record<string, unknown> };

/** Words in a task that the models of the agents follow. */
export const WORDS = {
  /** Writes the file that is named behind it. */
  edit: "interop-edit",
  /** Answers word by word for a long time. */
  slow: "interop-slow",
  /** Answers at once. */
  say: "interop-say",
  /** As `say`, and the answer has used 60,000 tokens. */
  dear: "interop-dear",
  /** Calls a tool of the MCP server `sous`, named behind it, with the task in brackets after that, and repeats the result. */
  call: "interop-call",
} as const;

export const EDITED = "hello from outside\n";

export function commandFor(path: string): string {
  return `echo '${EDITED.trim()}' > ${path}`;
}

/** The tool that each agent edits with; codex has none but the shell. */
const EDITS: Record<ExternalName | typeof LEAD, (path: string) => ToolCall> = {
  claude: (path) => ({ name: "Write", input: { file_path: path, content: EDITED } }),
  opencode: (path) => ({ name: "write", input: { filePath: path, content: EDITED } }),
  codex: (path) => ({ name: "exec_command", input: { cmd: commandFor(path) } }),
  gemini: (path) => ({ name: "write_file", input: { file_path: path, content: EDITED } }),
  lead: (path) => ({ name: "write_file", input: { path, content: EDITED } }),
};

export type Mock = AsyncDisposable & {
  readonly url: string;
  /** Adds the turns of a root whose task begins with `task`. */
  script(task: string, turns: readonly Turn[]): void;
  /** The requests of models of ours whose first message begins with `task`, oldest first. */
  requestsFor(task: string): ChatCompletionRequest[];
  /** The texts of users in the requests that one agent has sent with tools, oldest first. */
  heardBy(name: ExternalName | typeof LEAD): string[][];
};

export async function startMock(): Promise<Mock> {
  const server = new LLMock({ port: 0, host: "127.0.0.1", logLevel: "silent" });
  server.addFixtures([...titles(), ...answers()]);
  await server.start();
  const requests = () => server.getRequests().map(({ body }) => body as ChatCompletionRequest);
  return {
    url: server.url,
    script: (task, turns) => {
      for (const fixture of turnsOf(task, turns)) server.prependFixture(fixture);
    },
    requestsFor: (task) =>
      requests().filter((request) => callerOf(request) === LEAD && firstAsked(request).startsWith(task)),
    heardBy: (name) =>
      requests()
        .filter((request) => hasTools(request) && callerOf(request) === name)
        .map((request) => request.messages.filter(({ role }) => role === "user").map(({ content }) => textIn(content))),
    [Symbol.asyncDispose]: () => server.stop(),
  };
}

function titles(): Fixture[] {
  const isTitle = (request: ChatCompletionRequest) => !hasTools(request) && callerOf(request) !== LEAD;
  return [{ match: { predicate: isTitle }, response: { content: "A title", usage: usage(900, 40) } }];
}

function answers(): Fixture[] {
  const asked = (word: string, hasResult?: boolean) => (request: ChatCompletionRequest) =>
    lastAsked(request).includes(word) && (hasResult === undefined || hasToolResult(request) === hasResult);
  const slowly = Array.from({ length: 500 }, (_, index) => `word${index}`).join(" ");
  return [
    { match: { predicate: asked(WORDS.edit, false) }, response: (request) => callsOf([editOf(request)]) },
    {
      match: { predicate: asked(WORDS.edit, true) },
      response: { content: "The file was asked for.", ...used(990, 12) },
    },
    {
      match: { predicate: asked(WORDS.slow) },
      response: { content: slowly, ...used(990, 400) },
      chunkSize: 20,
      latency: 200,
    },
    { match: { predicate: asked(WORDS.call, false) }, response: (request) => callOfSous(request) },
    {
      match: { predicate: asked(WORDS.call, true) },
      response: (request) => ({ content: `It answered: ${lastResult(request)}`, ...used(990, 12) }),
    },
    { match: { predicate: asked(WORDS.dear) }, response: { content: "That was much.", ...used(59_000, 1000) } },
    { match: { predicate: () => true }, response: { content: "Hello back.", ...used(500, 5) } },
  ];
}

function turnsOf(task: string, turns: readonly Turn[]): Fixture[] {
  return turns.map((turn, index) => ({
    match: {
      predicate: (request) =>
        callerOf(request) === LEAD && firstAsked(request).startsWith(task) && answersIn(request) === index,
    },
    response: typeof turn === "string" ? { content: turn, ...used(300, 10) } : (request) => callsOf(turn(request)),
  }));
}

function callsOf(calls: readonly ToolCall[]) {
  return {
    toolCalls: calls.map(({ name, input }) => ({ name, arguments: JSON.stringify(input) })),
    ...used(900, 40),
  };
}

function used(input: number, output: number) {
  return { usage: usage(input, output) };
}

function editOf(request: ChatCompletionRequest): ToolCall {
  const path = new RegExp(`${WORDS.edit} (/[\\w./-]+)`).exec(lastAsked(request))?.[1];
  if (path === undefined) throw new Error(`No path behind ${WORDS.edit}`);
  return EDITS[callerOf(request)](path);
}

/** Every program has its own way to put the server into the name of a tool. */
function callOfSous(request: ChatCompletionRequest) {
  const [, own = "", task = ""] = new RegExp(`${WORDS.call} (\\w+) \\[([^\\]]+)\\]`).exec(lastAsked(request)) ?? [];
  const names = (request.tools ?? []).map((each) => each.function.name);
  const name = names.find((each) => each.includes("sous") && each.endsWith(own));
  if (name === undefined) return { content: `There is no tool ${own} among ${names.join(", ")}`, ...used(900, 40) };
  return callsOf([{ name, input: { task } }]);
}

function lastResult({ messages }: ChatCompletionRequest): string {
  return textIn(messages.findLast(({ role }) => role === "tool")?.content ?? "");
}

/** Each agent was given another model. */
function callerOf({ model }: ChatCompletionRequest): ExternalName | typeof LEAD {
  if (model.startsWith("claude")) return "claude";
  if (model.startsWith("gemini")) return "gemini";
  if (model.startsWith("gpt")) return "codex";
  return model === LEAD ? LEAD : "opencode";
}

function hasTools({ tools = [] }: ChatCompletionRequest): boolean {
  return tools.length > 0;
}

function hasToolResult({ messages }: ChatCompletionRequest): boolean {
  const last = messages.findLastIndex(({ role }) => role === "user");
  return messages.slice(last + 1).some(({ role }) => role === "tool");
}

function answersIn({ messages }: ChatCompletionRequest): number {
  return messages.filter(({ role }) => role === "assistant").length;
}

function firstAsked({ messages }: ChatCompletionRequest): string {
  return textIn(messages.find(({ role }) => role === "user")?.content ?? "");
}

function lastAsked({ messages }: ChatCompletionRequest): string {
  return textIn(messages.findLast(({ role }) => role === "user")?.content ?? "");
}

function textIn(content: ChatCompletionRequest["messages"][number]["content"]): string {
  if (content === null || typeof content === "string") return content ?? "";
  return content.map(({ text = "" }) => text).join("\n");
}
