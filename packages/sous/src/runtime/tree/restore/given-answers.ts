/** The answers that `resume` was given, each to one open question of the stored tree. */

import {
  type ApprovalRequest,
  type GivenAnswer,
  isShort,
  type LateAnswer,
  toAnswerKey,
} from "../../../core/approval.ts";
import type { NewMail } from "../../../core/engine.ts";
import { UserError } from "../../../core/errors.ts";
import { truncateUtf8 } from "../../../core/truncate.ts";
import { isSameJson } from "../../loop/to-json.ts";
import { leadsTo } from "../../rights/asked-targets.ts";
import type { AskedQuestion, AskedQuestions } from "../../rights/open-questions.ts";

export class GivenAnswers {
  readonly #byCall = new Map<string, { readonly question: AskedQuestion; readonly answer: GivenAnswer }>();

  /** Throws a `UserError` for an answer that is none, or to a question that is not open. */
  constructor(questions: AskedQuestions, answers: Readonly<Record<string, GivenAnswer>> = {}) {
    if (typeof answers !== "object" || answers === null || Array.isArray(answers))
      throw new UserError("answers must be an object: the id of each question, with its answer");
    const given = Object.entries(answers).filter(([, answer]) => answer !== undefined);
    if (given.length === 0) return;
    const open = new Map(questions.list().map((question) => [question.id, question]));
    for (const [key, answer] of given) {
      const { id, digest } = toAnswerKey(key);
      const question = open.get(id);
      if (question === undefined)
        throw new UserError(`No open question has the id ${id}. ${inWords([...open.values()])}`);
      const problem = whyNotAnswered(question, digest, checked(id, answer));
      if (problem !== undefined) throw new UserError(problem);
      if (this.#byCall.has(keyOf(question))) throw new UserError(`The question ${id} has two answers`);
      this.#byCall.set(keyOf(question), { question, answer: checked(id, answer) });
    }
  }

  /** The answers as mail to the journal in which the questions are. */
  toMail(journalId: string): NewMail[] {
    return [...this.#byCall.values()].map(({ question: { runId, callId, digest }, answer }) => {
      const body = { kind: "answer", runId, callId, digest } as const;
      if (answer.allow) return { to: journalId, body: { ...body, answer: "yes" } };
      return { to: journalId, body: { ...body, answer: "no", reason: answer.reason } };
    });
  }

  /** Finds an answer once, and only for the input and the definition of the tool that the person was asked about. */
  take(request: ApprovalRequest): LateAnswer | undefined {
    const given = this.#byCall.get(keyOf(request));
    if (given === undefined) return undefined;
    this.#byCall.delete(keyOf(request));
    const { question, answer } = given;
    const isSameInput = isSameJson(request.input, question.input); // guard: shown-input
    const isSameTool = request.origin?.definition === question.origin?.definition; // guard: shown-definition
    const isSameTarget = leadsTo(question.target, request); // guard: shown-target
    if (answer.allow && !(isSameInput && isSameTool && isSameTarget)) return undefined;
    return { answer, toolReason: question.toolReason };
  }
}

/** A yes counts for the question that was read to its end, which is what the digest shows. A no needs none. */
function whyNotAnswered(
  question: AskedQuestion,
  digest: string | undefined,
  { allow }: GivenAnswer,
): string | undefined {
  const { id, action } = question;
  if (!allow) return undefined;
  if (digest === undefined && isShort(question)) return undefined;
  if (question.digest !== "" && digest === question.digest) return undefined;
  const how =
    question.digest === ""
      ? "It is too long to be allowed: deny it"
      : `Read all of it, then answer it as ${id}:${question.digest}`;
  const why = digest === undefined ? "has several lines" : "is not the one that this answer was given for";
  return `The question ${id} ${why}:\n${action}\n${how}`;
}

function inWords(open: readonly AskedQuestion[]): string {
  if (open.length === 0) return "The run has no open questions.";
  const named = open.slice(0, MAX_NAMED).map(({ id, action }) => `${id} (${truncateUtf8(action, MAX_ACTION).text})`);
  const more = open.length - named.length;
  return `Open: ${named.join(", ")}${more > 0 ? ` and ${more} more` : ""}.`;
}

/** Enough to recognize a question; `questions()` has all of them. */
const MAX_NAMED = 20;
const MAX_ACTION = 200;

function checked(id: string, answer: unknown): GivenAnswer {
  const { allow, reason } = (answer ?? {}) as { allow?: unknown; reason?: unknown };
  if (allow === true) return { allow };
  if (allow === false && (reason === undefined || typeof reason === "string")) return { allow, reason };
  throw new UserError(`The answer to ${id} must be { allow: true } or { allow: false, reason }`);
}

function keyOf({ runId, callId }: Pick<ApprovalRequest, "runId" | "callId">): string {
  return JSON.stringify([runId, callId]);
}
