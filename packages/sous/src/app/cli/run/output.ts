/** The standard output of a run: its answer, one JSON object, or `stream-json` with one object a line. */

import { visibleJson } from "../../../core/clean-text.ts";
import { messageOf, StoreError, UserError } from "../../../core/errors.ts";
import { type RunHandle, type RunResult, withoutRun } from "../../../core/runtime.ts";
import { CommandError, EXIT } from "../exit-codes.ts";
import { withoutSecretsIn } from "../files/without-secrets.ts";
import { exitCodeFor } from "../report-error.ts";
import { eventJson, resultJson, timestamp } from "../stored/run-json.ts";
import type { OUTPUT_FORMATS } from "../table/run-entries.ts";
import { type Display, openOutput } from "../terminal/output.ts";
import { breakLine, inert } from "../terminal/text.ts";

export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

export type RunOutput = {
  /** Shows a run that has not begun yet until its last event. Called at once, so that nothing is missed. */
  follow(handle: RunHandle, start: StreamStart): Promise<void>;
  /** However it ended, and also when it never began. */
  end(result: RunResult): Promise<void>;
};

export function runOutput(format: OutputFormat, outlet: RunOutlet, display: Display): RunOutput {
  if (format === "stream-json") return streamOutput(outlet);
  const answerOf = (result: RunResult): string =>
    format === "json" ? `${prettyJson(resultJson(result))}\n` : answerText(result, display);
  return { follow: async () => {}, end: (result) => outlet.write(answerOf(withoutSecretsIn(result))) };
}

/** Each line is written when the reader has taken the one before, so that nothing is buffered. */
function streamOutput(outlet: RunOutlet): RunOutput {
  let n = 0;
  let root: Pick<StreamStart, "runId" | "path"> | undefined;
  const print = (line: Record<string, unknown>): Promise<void> => {
    n += 1;
    return outlet.write(`${visibleJson(JSON.stringify({ n, ...line }))}\n`);
  };
  /** Our own lines are the root's; before there is a run they have no owner. */
  const head = (type: string): Record<string, unknown> => {
    const { runId = null, path = null } = root ?? {};
    return { ts: timestamp(Date.now()), run_id: runId, agent_id: runId, parent_id: null, path, depth: 0, type };
  };
  return {
    async follow(handle, { runId, path, ...facts }) {
      // The iterator holds little for a slow reader: it drops deltas, and reads stored events again.
      const iterator = handle[Symbol.asyncIterator]();
      root = { runId, path };
      await print({ ...head("init"), schema: "sous.stream.v1", ...facts });
      for (;;) {
        const next = await iterator.next();
        if (next.done === true || outlet.isClosed) break;
        await print(eventJson(next.value));
      }
      await iterator.return?.();
    },
    /** The last line, whether or not there was a first one. */
    end: (result) => print({ ...head("result"), ...resultJson(withoutSecretsIn(result)), run_id: root?.runId ?? null }),
  };
}

/** The answer and a line end; empty without an answer. */
function answerText({ output, text }: RunResult, display: Display): string {
  if (output !== undefined) return `${prettyJson(output)}\n`;
  if (text === "") return "";
  const screen = openOutput(process.stdout, display);
  if (screen.isTerminal) {
    const lines = inert(text).split("\n");
    return `${lines.flatMap((line) => breakLine(line, screen.columns)).join("\n")}\n`;
  }
  // A file may need its tabs.
  const harmless = text.split("\t").map(inert).join("\t");
  return harmless.endsWith("\n") ? harmless : `${harmless}\n`;
}

function prettyJson(value: unknown): string {
  return visibleJson(JSON.stringify(value, undefined, 2));
}

export type RunOutlet = {
  /** Resolves when the text is taken, or never will be. Never rejects. */
  write(text: string): Promise<void>;
  /** The reader is gone. */
  readonly isClosed: boolean;
  /** The error that made a write fail, unless the reader is gone. */
  readonly failure: Error | undefined;
};

type OutletOptions = {
  stream: Pick<NodeJS.WriteStream, "write" | "on">;
  /** Called once. */
  onClosed: () => void;
  /** Once it aborts, no write is waited for. */
  patience: AbortSignal;
};

export function openOutlet({ stream, onClosed, patience }: OutletOptions): RunOutlet {
  let isClosed = false;
  let failure: Error | undefined;
  const waiting = new Set<() => void>();
  const releaseAll = (): void => {
    for (const resolve of waiting) resolve();
  };
  const fail = (error: NodeJS.ErrnoException): void => {
    if (isClosed || failure !== undefined) return;
    if (error.code === "EPIPE" || error.code === "ECONNRESET") isClosed = true;
    else failure = error;
    releaseAll();
    onClosed();
  };
  // The listener stays for good: the error of the last write may come after everything else.
  stream.on("error", fail);
  patience.addEventListener("abort", releaseAll, { once: true });
  return {
    write(text) {
      if (isClosed || failure !== undefined) return Promise.resolve();
      return new Promise((resolve) => {
        const taken = (): void => {
          waiting.delete(taken);
          resolve();
        };
        waiting.add(taken);
        stream.write(text, (error) => {
          if (error) fail(error);
          taken();
        });
        if (patience.aborted) taken();
      });
    },
    get isClosed() {
      return isClosed;
    },
    get failure() {
      return failure;
    },
  };
}

/** The facts of the first line. */
export type StreamStart = {
  readonly runId: string;
  /** The path of the root: its name. */
  readonly path: string;
  readonly version: string;
  readonly model: string | null;
  readonly cwd: string;
  readonly tools: readonly string[];
  /** Named agents that can be called. */
  readonly agents: readonly string[];
};

/** The result of a command that failed before its run began, with one of the error types of runs. */
export function failureBefore(error: unknown): RunResult {
  const message = messageOf(error);
  const code = exitCodeFor(error);
  if (code === EXIT.key) return withoutRun("failed", { type: "model", message });
  if (error instanceof StoreError) return withoutRun("failed", { type: "store", message });
  const isMistake = code !== EXIT.failed || error instanceof UserError || error instanceof CommandError;
  return withoutRun("failed", { type: isMistake ? "invalid_input" : "crash", message });
}
