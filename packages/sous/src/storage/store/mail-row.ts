/** Mail to a journal as a row: what it says as JSON, and the question that it answers in the words of the column `questions`. */

import * as z from "zod";
import { isDecided, type MailBody } from "../../core/engine.ts";
import { once } from "../../core/schema.ts";
import { kindSchemas } from "./kind-schemas.ts";
import { partOfQuestions } from "./run-columns.ts";

type MailRow = {
  readonly kind: MailBody["kind"];
  /** A part of the column `questions` while the question is open; null for other mail. */
  readonly question: string | null;
  readonly json: string;
};

export function toMailRow(body: MailBody): MailRow {
  const question = isDecided(body) ? partOfQuestions(body) : null;
  return { kind: body.kind, question, json: JSON.stringify(body) };
}

/** A row is not trusted: undefined when it is no mail, which then says nothing. */
export function toMailBody(json: unknown): MailBody | undefined {
  try {
    return mailSchema().safeParse(JSON.parse(String(json))).data;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

const mailSchema = once((): z.ZodType<MailBody> => {
  const text = z.string();
  return z.discriminatedUnion("kind", [
    z.strictObject({
      kind: z.literal("stop"),
      mode: kindSchemas().cancelMode,
      path: text.optional(),
      callId: text.optional(),
    }),
    z.strictObject({ kind: z.literal("steer"), path: text, text, callId: text.optional() }),
    z.strictObject({
      kind: z.literal("answer"),
      runId: text,
      callId: text,
      digest: text,
      answer: z.enum(["yes", "no", "later"]),
      reason: text.optional(),
    }),
  ]);
});
