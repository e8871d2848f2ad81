/** The tasks, answers, calls and ends of one agent, as a list of steps that can be laid beside another. */

import type { EventOf } from "../../core/event.ts";
import { textOf } from "../../core/message.ts";
import type { FinishReason } from "../../core/model.ts";
import type { RunStatus, StopReason } from "../../core/outcome.ts";
import type { RunRecording } from "./recording.ts";

/** Texts are whole. */
export type RunStep =
  | { kind: "task"; text: string }
  | { kind: "answer"; turn: number; text: string; thoughts: string; finish: FinishReason }
  | {
      kind: "tool";
      toolName: string;
      input: unknown;
      /** Undefined when the call never ended. */
      output: string | undefined;
      isError: boolean;
      /** The agents it started, by the paths of the comparison. */
      children: string[];
    }
  /** A word from outside, from the runtime, or of a background child. */
  | { kind: "heard"; from: "steer" | "notice" | "report"; text: string }
  /** A child that was not made. */
  | { kind: "refused"; label: string; message: string }
  | {
      kind: "end";
      status: RunStatus | "interrupted";
      stopReason: StopReason | undefined;
      text: string;
      error: string | undefined;
    };

/** The steps of an agent over all its runs. `pathOf` names its children as the comparison does. */
export function stepsOf(runs: readonly RunRecording[], pathOf: (path: string) => string): RunStep[] {
  return runs.flatMap((run) => [
    { kind: "task", text: textOf(run.start.task) } as const,
    ...run.events.flatMap((event): RunStep[] => {
      switch (event.type) {
        case "message-end":
          return answerSteps(event, run, pathOf);
        case "steer":
        case "notice":
        case "report":
          return [{ kind: "heard", from: event.type, text: event.text }];
        case "spawn-refused":
          return [{ kind: "refused", label: event.label, message: event.message }];
        case "outside-call":
          return event.phase === "start" ? [externalStep(event, run)] : [];
        default:
          return [];
      }
    }),
    endStep(run),
  ]);
}

/** An answer and the calls it made, each with its result: in the order of the answer, whenever they ended. */
function answerSteps(
  { turn, message, finish }: EventOf<"message-end">,
  { results, children }: RunRecording,
  pathOf: (path: string) => string,
): RunStep[] {
  const steps: RunStep[] = [];
  const thoughts = message.content.flatMap((part) => (part.type === "reasoning" ? [part.text] : [])).join("");
  steps.push({ kind: "answer", turn, text: textOf(message), thoughts, finish });
  for (const part of message.content) {
    if (part.type !== "tool-call") continue;
    const result = results.get(part.callId);
    const made = children.filter(({ start }) => start.call?.callId === part.callId);
    steps.push({
      kind: "tool",
      toolName: part.toolName,
      input: part.input,
      output: result?.output,
      isError: result?.isError === true,
      children: made.map(({ path }) => pathOf(path)),
    });
  }
  return steps;
}

/** A step that an external agent took by itself, beside the tools that a model called. */
function externalStep({ callId, name, input }: EventOf<"outside-call">, { externalEnds }: RunRecording): RunStep {
  const end = externalEnds.get(callId);
  return { kind: "tool", toolName: name, input, output: end?.output, isError: end?.isError === true, children: [] };
}

function endStep({ end }: RunRecording): RunStep {
  if (end === undefined)
    return { kind: "end", status: "interrupted", stopReason: undefined, text: "", error: undefined };
  return { kind: "end", status: end.status, stopReason: end.stopReason, text: end.text, error: end.fault?.message };
}
