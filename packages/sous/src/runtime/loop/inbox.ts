/** Messages that enter the conversation between two turns: steering, reports of children, notices. */

import type { NoticeReason } from "../../core/event.ts";
import { userMessage } from "../../core/message.ts";
import type { Run } from "../../core/run.ts";
import { SUMMARY_PROMPT } from "../../core/spawn.ts";

/** The words of the runtime itself to a model. Text a model reads: snapshotted. */
export const NOTICES: Readonly<Record<NoticeReason, string>> = {
  summary: SUMMARY_PROMPT,
  "output-repair": "Your answer does not match the required output. Answer again with nothing but the corrected JSON.",
  "wrap-up": "You must stop now. Do not call any tool. Say in a few sentences what you found and what is still open.",
  "empty-answer": "Your last answer was empty. Give your answer now, or say what keeps you from giving one.",
  "cut-answer":
    "Your last answer was cut at the output limit. If it held a tool call, that call was not run. Continue exactly where the text stopped, or make the call again with a shorter input.",
  interrupted:
    "You were interrupted while you worked on the last task of this conversation. Some of it may be done: look first, do not repeat what is done, and finish. If there is no task in this conversation, say so and do nothing.",
  "no-report": "A background subagent ended without a report.",
};

/** Adds a notice to the conversation; `text` replaces the standard words. */
export function notify(run: Run, reason: NoticeReason, text: string = NOTICES[reason]): void {
  run.emit({ type: "notice", reason, text });
  run.conversation.add(userMessage(text));
}

/** Moves everything that arrived since the last turn into the conversation, in order of arrival. */
export function readInbox(run: Run): void {
  const incoming = run.inbox;
  if (incoming === undefined) return;
  run.inbox = undefined;
  for (const each of incoming) {
    switch (each.kind) {
      case "steer": {
        const { kind: _, ...said } = each;
        run.emit({ type: "steer", ...said });
        break;
      }
      case "notice":
        run.emit({ type: "notice", reason: each.reason, text: each.text });
        break;
      case "report": {
        const { runId, agentId } = each.report;
        run.emit({ type: "report", childRunId: runId, childAgentId: agentId, text: each.text });
        break;
      }
      default:
        each satisfies never;
    }
    run.conversation.add(userMessage(each.text));
  }
}
