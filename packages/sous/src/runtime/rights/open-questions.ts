/** The questions of a stored tree that have no answer: a fold over its events. */

import { isDeepStrictEqual } from "node:util";
import {
  type ApprovalRequest,
  addToQuestions,
  HAS_CHANGED,
  keyOfQuestion,
  type OpenQuestion,
  type OpenQuestions,
  toQuestion,
  type UnansweredQuestion,
} from "../../core/approval.ts";
import type { EventOf, StoredEvent } from "../../core/event.ts";
import { actionText } from "./action-text.ts";
import { questionDigest } from "./question.ts";

/** One that was asked, and who asked it. */
export type AskedQuestion = OpenQuestion &
  Pick<ApprovalRequest, "runId" | "callId" | "origin" | "target"> & {
    /** The reason why the tool itself asks; undefined when a rule or its tier has the person asked. */
    readonly toolReason: string | undefined;
  };

type Open = UnansweredQuestion & {
  readonly id: string;
  readonly asked: EventOf<"approval-request">;
  /** The same call was asked about before, and led elsewhere. */
  readonly hasChanged: boolean;
};

/** `events` are all of the tree, in order. */
export function openQuestions(events: Iterable<StoredEvent>): AskedQuestion[] {
  const questions = new AskedQuestions();
  for (const event of events) questions.add(event);
  return questions.list();
}

/** The fold itself, for a reader that has more to learn from the same events. */
export class AskedQuestions {
  readonly #starts = new Map<string, EventOf<"run-start">>();
  readonly #open: OpenQuestions<Open> = new Map();
  /** The last question about each call, answered or not. */
  readonly #last = new Map<string, EventOf<"approval-request">>();

  add(event: StoredEvent): void {
    if (event.type === "run-start") this.#starts.set(event.runId, event);
    addToQuestions(this.#open, event, (asked, before) => {
      const question = toQuestion(asked, this.#starts.get(asked.runId)?.model ?? "");
      // A question that is asked again after a restart is still the same, unless what it is about has changed.
      const isSame = before !== undefined && isSameQuestion(before.asked, asked);
      const hasChanged = isSame ? before.hasChanged : this.#leadsElsewhere(asked);
      return question && { ...question, id: isSame ? before.id : String(asked.seq), asked, hasChanged };
    });
    if (event.type === "approval-request") this.#last.set(keyOfQuestion(event), event);
  }

  #leadsElsewhere(asked: EventOf<"approval-request">): boolean {
    const last = this.#last.get(keyOfQuestion(asked));
    return last !== undefined && !isDeepStrictEqual(last.target, asked.target);
  }

  /** Lists the questions in the order they were asked first. */
  list(): AskedQuestion[] {
    return [...this.#open.values()]
      .sort((one, other) => Number(one.id) - Number(other.id))
      .map(({ id, asked, hasChanged }) => {
        const { runId, path, callId, toolName, input, origin, toolReason, target } = asked;
        const who = whoAsks(runId, this.#starts);
        const reason = toolReason ?? (hasChanged ? HAS_CHANGED : undefined);
        const action = actionText({ runId, path, ...who, callId, toolName, origin, input, reason, target });
        // One that was asked before questions had a greatest length has none: it can only be denied.
        const digest = questionDigest(asked) ?? "";
        return { id, digest, runId, callId, path, toolName, input, origin, target, action, toolReason };
      });
  }
}

function isSameQuestion(one: EventOf<"approval-request">, other: EventOf<"approval-request">): boolean {
  const isSameTool = one.origin?.definition === other.origin?.definition;
  const isSameAction = isDeepStrictEqual([one.input, one.target], [other.input, other.target]);
  return isSameTool && one.toolReason === other.toolReason && isSameAction;
}

/** Leaves out the ids of the runtime. */
export function toOpenQuestion({ id, digest, path, toolName, input, action }: AskedQuestion): OpenQuestion {
  return { id, digest, path, toolName, input, action };
}

function whoAsks(
  runId: string,
  starts: ReadonlyMap<string, EventOf<"run-start">>,
): Pick<ApprovalRequest, "agent" | "above" | "cwd"> {
  const own = starts.get(runId);
  const above: string[] = [];
  let root = own;
  while (root !== undefined && root.parentId !== null) {
    root = starts.get(root.parentId);
    if (root !== undefined) above.unshift(root.agent);
  }
  return { agent: own?.agent ?? "", above, cwd: root?.cwd ?? "" };
}
