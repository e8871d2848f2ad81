/** Chat where nothing can be drawn: one message a line, answers as they are, no escape byte. For pipes and screen readers. */

import { MissingKey, messageOf, StoreError, UserError } from "../../core/errors.ts";
import type { SousEvent } from "../../core/event.ts";
import type { RunResult } from "../../core/runtime.ts";
import type { Application } from "../application.ts";
import { CommandError } from "../exit-codes.ts";
import { inert, inertLine } from "../inert.ts";
import { type Output, tell } from "../output.ts";
import { plainLine } from "../plain-lines.ts";
import { Chat } from "./chat.ts";
import { raiseHint } from "./raise-budget.ts";

export type PlainChatParts = {
  application: Application;
  output: Output;
  /** Progress, for stderr; undefined shows none. */
  progress: Output | undefined;
  cwd: string;
  lines: AsyncIterable<string>;
  /** Continues an earlier conversation before the first line is read. */
  begin(chat: Chat): Promise<RunResult | undefined>;
  /** When it has aborted, no further line is taken, also of those that were read before. */
  stop: AbortSignal;
};

/** Ends with `/quit` or the last line. What one message cannot do is said, and the next one is read. */
export async function plainChat(parts: PlainChatParts, onChat: (chat: Chat) => void): Promise<void> {
  const { application, output, progress, cwd, lines, stop } = parts;
  const showProgress = (event: SousEvent): void => {
    if (progress === undefined) return;
    const line = plainLine(event, chat.transcript.tree, progress.style);
    if (line !== undefined) progress.print([line]);
  };
  const chat: Chat = new Chat({
    application,
    cwd,
    style: output.style,
    columns: () => output.columns,
    say: (said) => output.print(said),
    sayEarlier: (said) => progress?.print(said),
    onEvent: showProgress,
  });
  onChat(chat);
  const attempt = async (work: () => Promise<RunResult | "quit" | undefined>): Promise<boolean> => {
    try {
      const done = await work();
      if (done === "quit") return false;
      if (done === undefined) return true;
      showResult(done, output);
      const hint = raiseHint(done, chat.conversation);
      if (hint !== undefined) tell(hint);
    } catch (error) {
      const isForPeople = error instanceof CommandError || error instanceof UserError || error instanceof StoreError;
      // Without a key the next line would fare no better.
      if (!isForPeople || error instanceof MissingKey) throw error;
      tell(`error: ${inertLine(messageOf(error), 1000)}`);
    }
    return true;
  };
  if (stop.aborted) return;
  // What follows was meant for that conversation, and not for another.
  const begun = await parts.begin(chat);
  if (begun !== undefined) showResult(begun, output);
  for await (const line of lines) if (stop.aborted || !(await attempt(() => chat.submit(line)))) return;
}

function showResult({ text, error }: RunResult, output: Output): void {
  if (text !== "") output.printText(inert(text));
  if (error !== undefined) tell(`error: ${inertLine(error.message, 1000)}`);
}
