/** Questions of a placed run to the person at the root of its tree. The answers come by mail. */

import type { ApprovalAnswer, ApprovalRequest, Approve } from "../../../core/approval.ts";
import type { MailBody } from "../../../core/engine.ts";

type Answer = Extract<MailBody, { kind: "answer" }>;
type Asked = { readonly digest: string | undefined; readonly resolve: (answer: ApprovalAnswer) => void };

export class RemoteAnswers {
  readonly #asked = new Map<string, Asked>();
  /** Answers to questions that this process has not asked yet: the worker before it had. */
  readonly #early: Answer[] = [];

  /** The question itself is in the journal. */
  readonly ask: Approve = ({ runId, callId, digest }: ApprovalRequest, signal) => {
    const early = this.#early.findIndex(
      (each) => each.runId === runId && each.callId === callId && isFor(digest, each),
    );
    const [known] = early === -1 ? [] : this.#early.splice(early, 1);
    if (known !== undefined) return toAnswer(known);
    const { promise, resolve } = Promise.withResolvers<ApprovalAnswer>();
    const key = keyOf(runId, callId);
    this.#asked.set(key, { digest, resolve });
    signal.addEventListener("abort", () => this.#asked.delete(key), { once: true });
    return promise;
  };

  /** An answer to another question than the one that is open changes nothing. */
  take(answer: Answer): void {
    const key = keyOf(answer.runId, answer.callId);
    const asked = this.#asked.get(key);
    if (asked === undefined) {
      this.#early.push(answer);
      return;
    }
    if (!isFor(asked.digest, answer)) return;
    this.#asked.delete(key);
    asked.resolve(toAnswer(answer));
  }
}

/** A yes counts for exactly the question that was shown, a no for any about the call. */
function isFor(digest: string | undefined, answer: Answer): boolean {
  return answer.answer === "no" || (digest !== undefined && answer.digest === digest);
}

function toAnswer({ answer, reason }: Answer): ApprovalAnswer {
  if (answer === "later") return "later";
  return answer === "yes" ? { allow: true } : { allow: false, reason };
}

function keyOf(runId: string, callId: string): string {
  return `${runId}\n${callId}`;
}
