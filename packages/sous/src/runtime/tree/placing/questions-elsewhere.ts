/** Questions of a stored tree in journals of placed runs, and the answers that `resume` was given to them. */

import type { GivenAnswer, OpenQuestion } from "../../../core/approval.ts";
import type { NewMail } from "../../../core/engine.ts";
import { isPlainRecord } from "../../../core/schema.ts";
import type { Store } from "../../../core/store.ts";
import { AskedQuestions, openQuestions, toOpenQuestion } from "../../rights/open-questions.ts";
import { GivenAnswers } from "../restore/given-answers.ts";
import { placingIn } from "./store-engine.ts";

type Answers = Readonly<Record<string, GivenAnswer>>;

/** The ids of such a question name its journal: numbers count within one. */
const IN_JOURNAL = /^([^/]+)\/(.+)$/;

export async function questionsElsewhere(store: Store, rootId: string): Promise<OpenQuestion[]> {
  const journals = (await placingIn(store)?.journals(rootId)) ?? [];
  const found: OpenQuestion[] = [];
  for (const { journalId, state } of journals) {
    if (journalId === rootId || state === "ended" || state === "queued") continue;
    for (const asked of openQuestions(await store.read(journalId)))
      found.push({ ...toOpenQuestion(asked), id: `${journalId}/${asked.id}` });
  }
  return found;
}

/** Divides the answers: those to questions of the root's own journal, and the mail that the others become. */
export async function divideAnswers(
  store: Store,
  answers: Answers = {},
): Promise<{ own: Answers; elsewhere: NewMail[] }> {
  // Anything else is refused where the answers are checked.
  if (!isPlainRecord(answers)) return { own: answers, elsewhere: [] };
  const own: [string, GivenAnswer][] = [];
  const byJournal = new Map<string, Record<string, GivenAnswer>>();
  for (const [key, answer] of Object.entries(answers)) {
    const [, journalId, id] = IN_JOURNAL.exec(key) ?? [];
    if (journalId === undefined || id === undefined) own.push([key, answer]);
    else byJournal.set(journalId, { ...byJournal.get(journalId), [id]: answer });
  }
  const elsewhere: NewMail[] = [];
  for (const [journalId, given] of byJournal) {
    const questions = new AskedQuestions();
    for (const event of await store.read(journalId)) questions.add(event);
    elsewhere.push(...new GivenAnswers(questions, given).toMail(journalId));
  }
  return { own: Object.fromEntries(own), elsewhere };
}
