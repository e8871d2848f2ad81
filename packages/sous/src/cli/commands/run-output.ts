/** The three formats of a run's stdout: the answer, one object at the end, or every event as it happens. */

import { visibleJson } from "../../core/clean-text.ts";
import type { RunHandle, RunResult } from "../../core/runtime.ts";
import { inert } from "../inert.ts";
import { type Display, openOutput } from "../output.ts";
import { resultJson } from "../run-json.ts";
import { openStreamJson, type StreamStart } from "../stream-json.ts";
import { breakLine } from "../width.ts";
import { withoutSecretsIn } from "../without-secrets.ts";
import type { Outlet } from "./run-outlet.ts";

export const OUTPUT_FORMATS = ["text", "json", "stream-json"] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

export type RunOutput = {
  /** Shows a run that has not begun yet until its last event. Called at once, so that nothing is missed. */
  follow(handle: RunHandle, start: StreamStart): Promise<void>;
  /** However it ended, and also when it never began. */
  end(result: RunResult): Promise<void>;
};

export function runOutput(format: OutputFormat, outlet: Outlet, display: Display): RunOutput {
  switch (format) {
    case "text":
      return {
        follow: async () => {},
        end: (result) => outlet.write(answerText(withoutSecretsIn(result), display)),
      };
    case "json":
      return {
        follow: async () => {},
        end: (result) => outlet.write(`${prettyJson(resultJson(withoutSecretsIn(result)))}\n`),
      };
    case "stream-json":
      return streamOutput(outlet);
    default:
      return format satisfies never;
  }
}

function streamOutput(outlet: Outlet): RunOutput {
  const stream = openStreamJson(outlet.write, Date.now);
  return {
    async follow(handle, start) {
      // The iterator holds little for a slow reader: it drops deltas, and reads stored events again.
      const iterator = handle[Symbol.asyncIterator]();
      await stream.init(start);
      for (;;) {
        const next = await iterator.next();
        if (next.done === true || outlet.isClosed) break;
        await stream.event(next.value);
      }
      await iterator.return?.();
    },
    end: (result) => stream.result(withoutSecretsIn(result)),
  };
}

/** The answer and a line end; nothing when there is none. */
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
