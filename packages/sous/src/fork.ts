/** A fork starts from its parent's history and keeps its prefix byte for byte, so that both share a prompt cache. */

import type { Message } from "./core/message.ts";
import type { RunProfile } from "./core/run.ts";
import type { SpawnRequest } from "./core/spawn.ts";
import { outputInstructions } from "./loop/parse-output.ts";

/** The history up to the answer whose calls are still open: a fork begins there. */
export function closedPrefix(messages: readonly Message[]): Message[] {
  const last = messages.at(-1);
  return last?.role === "assistant" ? messages.slice(0, -1) : [...messages];
}

/** Its instructions are its parent's, so what it is told besides comes with its task. */
export function forkTask({ task, options }: SpawnRequest, { output }: RunProfile): string {
  const told = [options?.systemPrompt, task, output === undefined ? undefined : outputInstructions(output)];
  return told.filter((each) => each !== undefined).join("\n\n");
}
