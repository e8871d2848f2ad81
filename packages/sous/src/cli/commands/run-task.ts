/** The task of a headless run: the prompt, and what is piped in. */

import type { UserInput } from "../../core/message.ts";
import { usageError } from "../exit-codes.ts";
import { hasPipedInput, readStdin } from "../read-stdin.ts";

export type TaskOptions = {
  prompt: string;
  signal: AbortSignal;
  /** Says what is waited for. */
  tell: (line: string) => void;
};

/** A prompt of `-` is read; any other comes first, and what is piped in follows as a text of its own. */
export async function readTask({ prompt, signal, tell }: TaskOptions): Promise<UserInput> {
  const isPrompt = prompt.trim() === "-";
  if (!isPrompt && !hasPipedInput()) return prompt;
  const onSilence = (): void => tell("waiting for the end of standard input; </dev/null when there is none");
  const piped = await readStdin({ signal, onSilence });
  if (isPrompt) {
    if (piped.trim() === "") throw usageError("There is no prompt: standard input is empty");
    return piped;
  }
  if (piped.trim() === "") return prompt;
  return [
    { type: "text", text: prompt },
    // Begins with a gap: wherever the task is shown as one text, the two are told apart.
    { type: "text", text: `\n\nStandard input:\n\n${piped}` },
  ];
}
