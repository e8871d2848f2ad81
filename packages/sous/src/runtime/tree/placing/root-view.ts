/** The view of a root on runs that work elsewhere: their events, and their questions to its person. */

import type { ApprovalAnswer, ApprovalRequest, AskedCall } from "../../../core/approval.ts";
import { keyOfQuestion } from "../../../core/approval.ts";
import type { MailBody } from "../../../core/engine.ts";
import { messageOf } from "../../../core/errors.ts";
import type { EventOf, StoredEvent } from "../../../core/event.ts";
import { Scope } from "../../../core/scope.ts";
import { questionDigest } from "../../rights/question.ts";
import type { TreeState } from "../state.ts";
import { Followed } from "./followed.ts";
import { patiently } from "./patiently.ts";
import type { PlacedRuns } from "./placed-runs.ts";

/** A question of a run elsewhere, as it was recorded. */
type Asked = {
  readonly asked: EventOf<"approval-request">;
  readonly journalId: string;
  readonly scope: Scope;
  /** The person has it. */
  isPut: boolean;
};

/** Undefined where no one would see or answer anything: in a worker, and in a tree without listeners and without a person. */
export function viewElsewhere(tree: TreeState, placed: PlacedRuns): RootView | undefined {
  const { asking, approve, worker } = tree.parts;
  if (worker !== undefined || (approve === undefined && !asking.journal.isWatched)) return undefined;
  return new RootView(tree, placed);
}

export class RootView {
  readonly #tree: TreeState;
  readonly #placed: PlacedRuns;
  readonly #followed: Followed;
  #following: Disposable | undefined;
  readonly #agents = new Map<string, string>();
  readonly #open = new Map<string, Asked>();

  constructor(tree: TreeState, placed: PlacedRuns) {
    this.#tree = tree;
    this.#placed = placed;
    const { asking, records } = tree.parts;
    this.#followed = new Followed({
      rootId: records.rootId,
      placing: { journals: (rootId) => patiently(() => placed.placing.journals(rootId), asking) },
      read: (journalId, options) => patiently(() => records.store.read(journalId, options), asking),
      isContinued: tree.earlierRuns !== undefined,
      onEvent: (event, place) => this.#see(event, place),
      onShown: () => this.#askAll(),
    });
  }

  start(): void {
    this.#following ??= this.#placed.follow(this.#followed);
  }

  stop(): void {
    this.#following?.[Symbol.dispose]();
    this.#following = undefined;
    for (const { scope } of this.#open.values()) scope.abort(new Error("The run has ended"));
  }

  #see(event: StoredEvent, { journalId, isOld }: { journalId: string; isOld: boolean }): void {
    if (!isOld) this.#tree.parts.asking.journal.showForeign(event, journalId);
    switch (event.type) {
      case "run-start":
        this.#agents.set(event.path, event.agent);
        break;
      case "approval-request":
        this.#note(event, journalId);
        break;
      case "approval-end":
        this.#close(event);
        break;
      case "run-end":
        for (const { asked } of this.#open.values()) if (asked.runId === event.runId) this.#close(asked);
        break;
      default:
    }
  }

  #note(asked: EventOf<"approval-request">, journalId: string): void {
    this.#close(asked);
    this.#open.set(keyOfQuestion(asked), { asked, journalId, scope: new Scope(), isPut: false });
  }

  /** Called when everything that has come is seen: the answer to a question may be among that. */
  #askAll(): void {
    for (const question of this.#open.values()) {
      if (question.isPut) continue;
      question.isPut = true;
      void this.#ask(question);
    }
  }

  #close(question: { runId: string; callId: string }): void {
    const key = keyOfQuestion(question);
    this.#open.get(key)?.scope.abort(new Error("The question was withdrawn"));
    this.#open.delete(key);
  }

  async #ask({ asked, journalId, scope }: Omit<Asked, "isPut">): Promise<void> {
    const { approve, rules } = this.#tree.parts;
    if (approve === undefined) return;
    const { runId, callId } = asked;
    this.#placed.asking(journalId, "asked");
    const digest = questionDigest(asked as AskedCall) ?? "";
    const request = { ...this.#requestOf(asked), digest };
    const rule = rules?.decide(request);
    let answer: ApprovalAnswer;
    try {
      if (rule?.effect === "deny") answer = { allow: false, reason: rule.reason };
      else if (rule?.effect === "allow" && request.isFromTool !== true) answer = { allow: true };
      else answer = await approve(request, scope.signal);
    } catch (error) {
      answer = { allow: false, reason: `the question failed: ${messageOf(error)}` };
    }
    this.#placed.asking(journalId, answer === "later" ? "later" : "answered");
    if (!scope.aborted) this.#placed.mail.tell({ to: journalId, body: { runId, callId, digest, ...mailOf(answer) } });
  }

  #requestOf({ runId, path, callId, toolName, origin, input, target, toolReason }: Asked["asked"]): ApprovalRequest {
    const above = pathsAbove(path).map((each) => this.#agentAt(each));
    return {
      ...{ runId, path, agent: this.#agentAt(path), above, callId, toolName, input },
      cwd: this.#tree.parts.settings.folder ?? "",
      ...(origin !== undefined && { origin }),
      ...(target !== undefined && { target }),
      ...(toolReason !== undefined && { reason: toolReason, isFromTool: true as const }),
    };
  }

  #agentAt(path: string): string {
    return this.#agents.get(path) ?? this.#tree.book.at(path)?.agentName ?? "";
  }
}

function mailOf(answer: ApprovalAnswer): Pick<Extract<MailBody, { kind: "answer" }>, "kind" | "answer" | "reason"> {
  if (answer === "later") return { kind: "answer", answer: "later" };
  return answer.allow ? { kind: "answer", answer: "yes" } : { kind: "answer", answer: "no", reason: answer.reason };
}

/** `lead`, `lead/scout` of `lead/scout/deep`. */
function pathsAbove(path: string): string[] {
  const parts = path.split("/");
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join("/"));
}
