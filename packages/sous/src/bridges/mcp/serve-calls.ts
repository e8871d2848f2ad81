/** The calls of one client: which tool they are for, how many are at work, their progress, their ends. */

import { type CallToolResult, ProtocolError, type ServerContext, type Tool } from "@modelcontextprotocol/server";
import type { Clock } from "../../core/clock.ts";
import { type TraceContext, traceIn } from "../../core/trace-context.ts";

export type ServedAgents = {
  readonly version: string;
  readonly tools: readonly ServedTool[];
  /** JSON Schema of `ServedReport.data`. */
  readonly outputSchema: Readonly<Record<string, unknown>>;
  /** Resolves with a report however the run ends, also when it could not begin. */
  call(tool: string, task: string, call: ServedCall): Promise<ServedReport>;
};

export type ServedTool = {
  /** `[A-Za-z0-9_-]`, at most 64 characters. */
  readonly name: string;
  /** The agent, for people. */
  readonly title: string;
  readonly description: string;
  /** It has tools that read, and no others. */
  readonly isReadOnly: boolean;
};

export type ServedCall = {
  /** Aborting it cancels the run and everything below it. */
  readonly signal: AbortSignal;
  /** The trace that the client names; when unset that of the process. */
  readonly trace: TraceContext | undefined;
  /** Is given what the tree does, in one line, as often as it changes. */
  readonly show: (activity: string) => void;
};

export type ServedReport = {
  readonly text: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** The run did not complete. */
  readonly isError: boolean;
};

export type CallsOptions = {
  readonly agents: ServedAgents;
  readonly clock: Clock;
  /** Ends all of them. */
  readonly signal: AbortSignal;
};

type CallRequest = { readonly name: string; readonly arguments?: Readonly<Record<string, unknown>> | undefined };

/** Each is a tree of runs of its own. */
const MAX_CALLS = 16;
const MAX_TASK = 100_000;
const WRONG_REQUEST = -32602;

const INPUT_SCHEMA = {
  type: "object" as const,
  properties: {
    task: {
      type: "string",
      minLength: 1,
      maxLength: MAX_TASK,
      description:
        "What to do, in full: the goal, the places to look, and the form of the answer. The agent knows the folder and nothing of this conversation.",
    },
  },
  required: ["task"],
  additionalProperties: false,
};

/**
 * Claude Code writes a result of more than 25,000 tokens into a file, as JSON in one line, unless the tool says how long its results
 * are. The longest report has 100,000 bytes, and every line break in it is two characters of JSON.
 */
const WHOLE_REPORTS = { "anthropic/maxResultSizeChars": 250_000 };

export class ServedCalls {
  readonly #options: CallsOptions;
  readonly #live = new Set<Promise<unknown>>();

  constructor(options: CallsOptions) {
    this.#options = options;
  }

  list(): Tool[] {
    const { tools, outputSchema } = this.#options.agents;
    return tools.map(({ name, title, description, isReadOnly }) => ({
      name,
      title,
      description,
      inputSchema: INPUT_SCHEMA,
      outputSchema: { ...outputSchema, type: "object" as const },
      _meta: WHOLE_REPORTS,
      annotations: {
        title,
        readOnlyHint: isReadOnly,
        destructiveHint: !isReadOnly,
        idempotentHint: false,
        // A provider reads the task, whatever the agent's tools are.
        openWorldHint: true,
      },
    }));
  }

  async call({ name, arguments: given = {} }: CallRequest, { mcpReq }: ServerContext): Promise<CallToolResult> {
    const { agents, clock, signal } = this.#options;
    if (!agents.tools.some((tool) => tool.name === name))
      throw new ProtocolError(WRONG_REQUEST, `Unknown tool ${shown(name)}: tools/list names those there are`);
    const mistake = mistakeIn(given);
    if (mistake !== undefined) return refusal(mistake);
    if (this.#live.size >= MAX_CALLS)
      return refusal(`${MAX_CALLS} calls are running, which is the limit: call again when one has ended`);
    const meta: Readonly<Record<string, unknown>> = mcpReq._meta ?? {};
    using progress = progressOf(mcpReq, clock);
    const work = agents.call(name, String(given.task), {
      // The SDK ends a call that the client cancels; one whose id was used twice only the end of the service ends.
      signal: AbortSignal.any([mcpReq.signal, signal]),
      trace: traceIn(meta),
      show: (line) => progress?.show(line),
    });
    this.#live.add(work);
    try {
      const { text, data, isError } = await work;
      return { content: [{ type: "text", text }], structuredContent: { ...data }, ...(isError && { isError }) };
    } finally {
      this.#live.delete(work);
    }
  }

  /** Resolves when none is at work. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#live);
  }
}

/** Answers the model that called, which can mend it. */
function refusal(text: string): CallToolResult {
  return { content: [{ type: "text", text }], isError: true };
}

function mistakeIn({ task, ...rest }: Readonly<Record<string, unknown>>): string | undefined {
  const [strange] = Object.keys(rest);
  if (strange !== undefined) return `Unknown argument ${shown(strange)}: this tool takes task, and nothing else`;
  if (typeof task !== "string") return "The argument task is missing or not a text: say there what is to be done";
  if (task.trim() === "") return "The argument task is empty: say there what is to be done";
  if (task.length > MAX_TASK)
    return `The argument task has ${task.length} characters, and may have ${MAX_TASK}: name files instead of quoting them`;
  return undefined;
}

/** Undefined when the client wants none. */
function progressOf({ _meta, notify }: ServerContext["mcpReq"], clock: Clock): ServedProgress | undefined {
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return undefined;
  return new ServedProgress({
    clock,
    send: (progress, message) =>
      notify({ method: "notifications/progress", params: { progressToken, progress, message } }),
  });
}

function shown(name: string): string {
  return JSON.stringify(name.slice(0, 80));
}

type ProgressOptions = {
  readonly clock: Clock;
  /** Resolves when the client can take the next one. */
  readonly send: (progress: number, message: string) => Promise<void>;
};

const MIN_GAP_MS = 250;
/** Clients that wait longer while there is progress have a limit of a minute or so without. */
const MAX_GAP_MS = 10_000;

/** Progress notifications of a call: a few a second at most, and one now and then when nothing changes. */
export class ServedProgress implements Disposable {
  readonly #options: ProgressOptions;
  #count = 0;
  #line = "";
  #timer: Disposable | undefined;
  /** The time when the last one was sent; undefined before the first. */
  #sentAt: number | undefined;
  #isSending = false;
  #isOver = false;

  constructor(options: ProgressOptions) {
    this.#options = options;
  }

  /** Lines that come faster than they may be sent are left out; the last one is sent. */
  show(line: string): void {
    if (this.#isOver || line === this.#line) return;
    this.#line = line;
    if (!this.#isSending) this.#sendIn(MIN_GAP_MS);
  }

  #sendIn(gapMs: number): void {
    if (this.#isOver) return;
    this.#timer?.[Symbol.dispose]();
    const { clock } = this.#options;
    const since = this.#sentAt === undefined ? gapMs : clock.monotonic() - this.#sentAt;
    this.#timer = clock.timer(Math.max(0, gapMs - since), () => void this.#send(), true);
  }

  async #send(): Promise<void> {
    const { clock, send } = this.#options;
    const line = this.#line;
    this.#isSending = true;
    this.#sentAt = clock.monotonic();
    this.#count += 1;
    // A client that is gone is noticed elsewhere.
    await send(this.#count, line).catch(() => {});
    this.#isSending = false;
    this.#sendIn(line === this.#line ? MAX_GAP_MS : MIN_GAP_MS);
  }

  /** None is sent any more: the answer is the last word. */
  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#timer?.[Symbol.dispose]();
  }
}
