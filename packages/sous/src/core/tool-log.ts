/** What the tools of one run did. It refers to the parts of the conversation, so that it costs little while the run lives. */

import type { ToolCallPart, ToolResultPart } from "./message.ts";

/** One finished tool call of a child. */
export type ToolLogEntry = {
  toolName: string;
  input: unknown;
  output: string;
  success: boolean;
  /** It needed consent and nobody was there to give it. */
  isDenied: boolean;
  durationMs: number;
};

export class ToolLog {
  /** For every call: the call, how long it took, whether it was denied, its result. */
  readonly #parts: (ToolCallPart | number | "denied" | ToolResultPart)[] = [];
  /** What was done before a restart. */
  readonly #earlier: readonly ToolLogEntry[];

  constructor(earlier: readonly ToolLogEntry[] = []) {
    this.#earlier = earlier;
  }

  add(call: ToolCallPart, result: ToolResultPart, durationMs: number, isDenied: boolean): void {
    const kept = result.files === undefined ? result : withoutFiles(result);
    if (isDenied) this.#parts.push(call, durationMs, "denied", kept);
    else this.#parts.push(call, durationMs, kept);
  }

  entries(): ToolLogEntry[] {
    const entries = [...this.#earlier];
    let input: unknown;
    let durationMs = 0;
    let isDenied = false;
    for (const part of this.#parts) {
      if (typeof part === "number") durationMs = part;
      else if (part === "denied") isDenied = true;
      else if (part.type === "tool-call") input = part.input;
      else {
        const { toolName, output, isError } = part;
        entries.push({ toolName, input, output, success: !isError, isDenied, durationMs });
        isDenied = false;
      }
    }
    return entries;
  }
}

/** A log outlives what is pruned from its conversation, and nobody looks for pictures in it. */
function withoutFiles({ files: _, ...result }: ToolResultPart): ToolResultPart {
  return result;
}
