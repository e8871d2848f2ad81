/** Questions that a run leaves open, and the options that answer them. */

import { type Approve, type GivenAnswer, isShort, type OpenQuestion, toAnswerKey } from "../../../core/approval.ts";
import { CommandError, usageError } from "../exit-codes.ts";
import { type DatabaseFlags, resumeCommand } from "../stored/database.ts";
import { quoted } from "../table/options.ts";
import { inert, plural } from "../terminal/text.ts";

/** Answers every question later, for `--park`. */
export const answerLater: Approve = () => "later";

/** `--approve` and `--deny` as they were typed. */
type TypedAnswers = { readonly approve: readonly string[]; readonly deny: readonly string[] };

/** Returns the answers by their keys; `all` of no questions are none. Throws a `CommandError` for a question that is not open, answered twice, or not read to its end. */
export function answersOf({ approve, deny }: TypedAnswers, open: readonly OpenQuestion[]): Record<string, GivenAnswer> {
  const answers: Record<string, GivenAnswer> = {};
  const answered = new Set<string>();
  const give = (option: string, typed: string, question: OpenQuestion, answer: GivenAnswer): void => {
    const { id, digest } = question;
    if (answered.has(id)) throw usageError(`${option} ${quoted(typed)}: the question ${id} has an answer already`);
    answered.add(id);
    answers[answer.allow && !isShort(question) ? `${id}:${digest}` : id] = answer;
  };
  for (const typed of approve) {
    const questions = typed === "all" ? shortOnes(open) : [readQuestion(typed, open)];
    for (const question of questions) give("--approve", typed, question, { allow: true });
  }
  for (const typed of deny) {
    const at = typed.indexOf("=");
    const reason = at < 0 ? "" : typed.slice(at + 1).trim();
    const id = at < 0 ? typed : typed.slice(0, at);
    const questions = id === "all" ? open : [findQuestion(toAnswerKey(id).id, open)];
    const answer = reason === "" ? { allow: false as const } : { allow: false as const, reason };
    for (const question of questions) give("--deny", id, question, answer);
  }
  return answers;
}

/** The questions that `all` approves: a person has read no other one just by seeing its id, and none that is not listed. */
function shortOnes(open: readonly OpenQuestion[]): readonly OpenQuestion[] {
  const short = open.slice(0, MAX_QUESTIONS).filter(isShort);
  if (short.length > 0 || open.length === 0) return short;
  throw new CommandError(
    `--approve all answers questions of one line, and there is none. Read the others to their end:\n${questionLines(open).join("\n")}`,
  );
}

/** The question of `--approve ID` or `--approve ID:DIGEST`, which stands behind the last line of a long one. */
function readQuestion(typed: string, open: readonly OpenQuestion[]): OpenQuestion {
  const { id, digest } = toAnswerKey(typed);
  const question = findQuestion(id, open);
  if (digest === undefined ? isShort(question) : digest === question.digest) return question;
  const why =
    digest === undefined
      ? `The question ${id} has several lines: read it to its end`
      : `The question ${id} is not the one that ended with ${digest}: read it again`;
  throw new CommandError(`${why}\n${questionLines([question]).join("\n")}`);
}

function findQuestion(id: string, open: readonly OpenQuestion[]): OpenQuestion {
  if (open.length === 0)
    throw new CommandError("The run has no open questions; sous resume without --approve and --deny continues it");
  const found = open.find((each) => each.id === id);
  if (found !== undefined) return found;
  throw new CommandError(`No open question has the id ${quoted(id)}. Open:\n${questionLines(open).join("\n")}`);
}

/** Each whole. Behind the last line of one that has several stands what a yes to it must name. */
function questionLines(questions: readonly OpenQuestion[]): string[] {
  const lines = questions.slice(0, MAX_QUESTIONS).flatMap((question) => {
    const { id, digest, action } = question;
    const [first = "", ...rest] = inert(action).split("\n");
    if (rest.length === 0) return [`  ${id}  ${first}`];
    const end = digest === "" ? "too long to be approved: deny it" : `approve it as ${id}:${digest}`;
    return [`  ${id}  ${first}`, ...rest.map((row) => `    ${row}`), `  end of question ${id}: ${end}`];
  });
  const more = questions.length - MAX_QUESTIONS;
  return more > 0 ? [...lines, `  and ${more} more: --json lists all`] : lines;
}

/** All of them are in the JSON. */
const MAX_QUESTIONS = 50;

/** Names the questions that a stopped run waits for, and the command that answers. */
export function questionsSentence(questions: readonly OpenQuestion[], runId: string, flags: DatabaseFlags): string {
  const [first] = questions;
  const wait = questions.length === 1 ? "waits" : "wait";
  const id = first?.id ?? "all";
  const key = first === undefined || isShort(first) ? id : `${id}:DIGEST`;
  const command = resumeCommand(runId, flags, `--approve ${key}`);
  const count = plural(questions.length, "question");
  return `${count} ${wait} for an answer:\n${questionLines(questions).join("\n")}\nAnswer: ${command}, or --deny ${id}=WHY`;
}
