/** The questions of a tree and what they lead to: looked up when a person is asked, and again when the answer comes. */

import type {
  ApprovalRequest,
  AskedCall,
  CallTarget,
  QuestionPorts,
  TargetProblem,
  WatchedTarget,
} from "../../core/approval.ts";
import { isRecord } from "../../core/schema.ts";
import { toolRow } from "../../core/words/tools.ts";
import { hashOf, hashOfFile, isSameTarget, lookUpTarget, questionDigest } from "./question.ts";
import { externalProblem, located, otherReadings } from "./target.ts";

/** A file that a person is asked to have edited, and its content as far as they know it. */
type WaitingEdit = { readonly path: string; sha256: string };

export class AskedTargets implements QuestionPorts {
  readonly #redacted: (asked: AskedCall) => AskedCall;
  /**
   * The person is asked about a file as it was then, so a file that another program changes meanwhile makes another question. What
   * other calls of the same tree write into it does not: each of those was allowed itself.
   */
  readonly #edits = new Set<WaitingEdit>();

  constructor(redacted: (asked: AskedCall) => AskedCall) {
    this.#redacted = redacted;
  }

  digest(asked: AskedCall): string | undefined {
    return questionDigest(this.#redacted(asked));
  }

  watch(request: ApprovalRequest): WatchedTarget {
    const target = request.target ?? targetOf(request);
    const { paths: [path] = [], sha256 } = target ?? {};
    const edit = path === undefined || sha256 === undefined ? undefined : { path, sha256 };
    if (edit !== undefined) this.#edits.add(edit);
    return {
      target,
      hasChanged: () => !isSameTarget(lookUpTarget(request), target && { ...target, sha256: edit?.sha256 }),
      [Symbol.dispose]: () => void (edit && this.#edits.delete(edit)),
    };
  }

  followWrite(request: () => ApprovalRequest): (() => void) | undefined {
    if (this.#edits.size === 0) return undefined;
    const asked = request();
    const change = toolRow(asked.toolName)?.change;
    if (change === undefined) return undefined;
    const whole = change.old === undefined ? textOf(asked.input, change.new) : undefined;
    const [path = ""] = lookUpTarget(asked)?.paths ?? [];
    const waiting = [...this.#edits].filter((edit) => edit.path === path);
    const before = waiting.length === 0 ? undefined : hashOfFile(path);
    if (before === undefined) return undefined;
    return () => {
      // Another program may have written since: what a call writes as a whole is known without the file.
      const after = whole === undefined ? hashOfFile(path) : hashOf(whole);
      for (const edit of waiting) if (after !== undefined && edit.sha256 === before) edit.sha256 = after;
    };
  }

  leadsTo(target: CallTarget | undefined, request: ApprovalRequest): boolean {
    return leadsTo(target, request);
  }

  located(request: ApprovalRequest): ApprovalRequest {
    return located(request);
  }

  externalProblem(request: ApprovalRequest, others: readonly string[] = []): TargetProblem | undefined {
    return externalProblem(request, others);
  }

  otherReadings(request: ApprovalRequest, others: readonly string[] = []): ApprovalRequest[] {
    return otherReadings(request, others);
  }
}

/** A file that has been judged is the one that is asked about, also when another one is there by now. */
function targetOf(request: ApprovalRequest): CallTarget | undefined {
  const { real } = request;
  const target = lookUpTarget(request);
  return target && real?.path !== undefined ? { ...target, paths: [real.path, ...target.paths.slice(1)] } : target;
}

function textOf(input: unknown, field: string): string | undefined {
  const text = isRecord(input) ? input[field] : undefined;
  return typeof text === "string" ? text : undefined;
}

/** True when the call leads where it led when it was asked about. What was asked before targets were stored leads anywhere. */
export function leadsTo(target: CallTarget | undefined, request: ApprovalRequest): boolean {
  return target === undefined || isSameTarget(target, lookUpTarget(request));
}
