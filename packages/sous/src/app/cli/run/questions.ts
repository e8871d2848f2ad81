/** Questions that a run leaves open, and the options that answer them. */

import type { Approve, GivenAnswer, OpenQuestion } from "../../../core/approval.ts";
import { CommandError, usageError } from "../exit-codes.ts";
import { type DatabaseFlags, resumeCommand } from "../stored/database.ts";
import { quoted } from "../table/options.ts";
import { inertLine, plural } from "../terminal/text.ts";

/** Answers every question later, for `--park`. */
export const answerLater: Approve = () => "later";

/** `--approve` and `--deny` as they were typed. */
type TypedAnswers = { readonly approve: readonly string[]; readonly deny: readonly string[] };

/** Returns the answers by the id of the question. Throws a `CommandError` for one that is not open, or answered twice. */
export function answersOf({ approve, deny }: TypedAnswers, open: readonly OpenQuestion[]): Record<string, GivenAnswer> {
  const answers: Record<string, GivenAnswer> = {};
  const give = (id: string, option: string, answer: GivenAnswer): void => {
    for (const each of idsOf(id, open)) {
      if (answers[each] !== undefined)
        throw usageError(`${option} ${quoted(id)}: the question ${each} has an answer already`);
      answers[each] = answer;
    }
  };
  for (const id of approve) give(id, "--approve", { allow: true });
  for (const given of deny) {
    const at = given.indexOf("=");
    const reason = at < 0 ? "" : given.slice(at + 1).trim();
    give(at < 0 ? given : given.slice(0, at), "--deny", reason === "" ? { allow: false } : { allow: false, reason });
  }
  return answers;
}

function idsOf(given: string, open: readonly OpenQuestion[]): string[] {
  if (open.length === 0)
    throw new CommandError("The run has no open questions; sous resume without --approve and --deny continues it");
  if (given === "all") return open.map(({ id }) => id);
  if (open.some(({ id }) => id === given)) return [given];
  throw new CommandError(`No open question has the id ${quoted(given)}. Open:\n${questionLines(open).join("\n")}`);
}

/** One line each: the id, and what it is about. */
function questionLines(questions: readonly OpenQuestion[]): string[] {
  const lines = questions.slice(0, MAX_LINES).map(({ id, action }) => `  ${id}  ${inertLine(action, MAX_ACTION)}`);
  const more = questions.length - lines.length;
  return more > 0 ? [...lines, `  and ${more} more: --json lists all`] : lines;
}

/** All questions, and the whole action of each, are in the JSON. */
const MAX_LINES = 50;
const MAX_ACTION = 400;

/** Names the questions that a stopped run waits for, and the command that answers. */
export function questionsSentence(questions: readonly OpenQuestion[], runId: string, flags: DatabaseFlags): string {
  const [first] = questions;
  const wait = questions.length === 1 ? "waits" : "wait";
  const id = first?.id ?? "all";
  const command = resumeCommand(runId, flags, `--approve ${id}`);
  return `${plural(questions.length, "question")} ${wait} for an answer:\n${questionLines(questions).join("\n")}\nAnswer: ${command}, or --deny ${id}=WHY`;
}
