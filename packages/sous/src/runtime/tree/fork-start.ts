/** The beginning of a child that starts from the conversation of its parent. */

import type { Message } from "../../core/message.ts";
import type { RunProfile } from "../../core/run.ts";
import type { SpawnRequest } from "../../core/spawn.ts";
import { outputInstructions } from "../loop/parse-output.ts";

/** The history up to the answer whose calls are still open: a fork keeps this prefix byte for byte, for the prompt cache. */
export function closedPrefix(messages: readonly Message[]): Message[] {
  const last = messages.at(-1);
  return last?.role === "assistant" ? messages.slice(0, -1) : [...messages];
}

/** The task as the child reads it. A fork has its parent's instructions, so its own come with the task. */
export function taskText({ task, options }: SpawnRequest, { output, taskEnd }: RunProfile): string {
  const isFork = options?.context === "fork";
  const end = isFork && output !== undefined ? outputInstructions(output) : taskEnd;
  const parts = [isFork ? options?.systemPrompt : undefined, task, end];
  return parts.filter((each) => each !== undefined).join("\n\n");
}
