/** Questions to a purse, as the tests of shared budgets ask them. */

import assert from "node:assert/strict";
import type { PurseNeed } from "../core/purse.ts";
import { NEW_PLACE, type PurseAsk, type PurseReply, type SharedBudget } from "../core/shared-budget.ts";

/** A prompt of so many tokens, an answer of at least `least`; without a price. */
export function need(prompt: number, least: number, most = least): PurseNeed {
  return { prompt: { tokens: prompt, nanoUsd: 0 }, perToken: { tokens: 1, nanoUsd: 0 }, least, most };
}

/** Asks for a call that would wait, and expects to get it. */
export async function granted(
  shared: SharedBudget,
  ask: Partial<PurseAsk> & Pick<PurseAsk, "need">,
): Promise<Extract<PurseReply, { kind: "granted" }>> {
  const isPatient = ask.kind !== "last-words" && ask.instead === undefined;
  const reply = await shared.purse.reserve({ kind: "call", ...(isPatient ? { place: NEW_PLACE } : {}), ...ask });
  assert.ok(reply.kind === "granted", JSON.stringify(reply));
  return reply;
}

/** Asks for a call that has to wait, and returns its place. */
export async function waiting(shared: SharedBudget, ask: Pick<PurseAsk, "need" | "place">): Promise<string> {
  const reply = await shared.purse.reserve({ kind: "call", place: NEW_PLACE, ...ask });
  assert.ok(reply.kind === "wait", JSON.stringify(reply));
  return reply.place;
}
