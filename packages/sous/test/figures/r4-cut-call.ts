/** A call of a race whose answer breaks off in one of all kinds of part: what the provider bills, and what is charged for it. */

import { type Amount, toNanoUsd } from "../../src/core/amount.ts";
import type { Random } from "../../src/core/clock.ts";
import { ModelError } from "../../src/core/errors.ts";
import type { CallNeed, Lease } from "../../src/core/limits.ts";
import type { Scope } from "../../src/core/scope.ts";
import { StreamCheck } from "../../src/runtime/model/body-check.ts";
import type { Attempt, settleFailure } from "../../src/runtime/model/charge.ts";
import type { WireFacts } from "../../src/runtime/model/wire-facts.ts";
import { between, chance, pick } from "../../src/testing/world.ts";
import { bill, more } from "./r4-books.ts";

export type SettleCut = typeof settleFailure;

const FACTS = { id: "race/model", addressSettings: "", silenceMs: 0 };

const KINDS = {
  "before anything": () => ({ isAccepted: true }),
  "after the report of the prompt": (_: number, { promptTokens }: CallNeed) => ({
    wire: { body: begun(promptTokens) },
  }),
  "text or arguments": (output: number) => ({ receivedBytes: output * 4 }),
  "hidden thinking": () => ({ hasUnmeasured: true }),
  "text behind hidden thinking": (output: number) => ({ hasUnmeasured: true, receivedBytes: output }),
  "nothing that shows": () => ({ isAccepted: true, wire: { hidesOutput: true } }),
  "an event": (output: number) => ({ wire: { body: unfinished("data: ".padEnd(output * 4 + 6, "x")) } }),
  "an event that opens a part": () => ({ wire: { body: unfinished("event: content_block_start\ndata: {") } }),
} satisfies Record<string, (output: number, need: CallNeed) => Partial<Attempt>>;

const NAMES = Object.keys(KINDS) as [keyof typeof KINDS, ...(keyof typeof KINDS)[]];
/** Nothing is generated there. */
const EMPTY: ReadonlySet<keyof typeof KINDS> = new Set(["before anything", "after the report of the prompt"]);

type Call = { readonly need: CallNeed; readonly lease: Lease; readonly scope: Scope; readonly settleCut: SettleCut };

/** Settles the lease; returns what the provider bills beyond the charge. */
export function cutCall(random: Random, { need, lease, scope, settleCut }: Call): Amount {
  const kind = pick(random, NAMES);
  const isWhole = chance(random, 0.3);
  const generated = EMPTY.has(kind) ? 0 : isWhole ? lease.outputCap : between(random, 0, lease.outputCap);
  const attempt: Attempt = {
    ...{ need, scope, isAccepted: undefined, receivedBytes: 0, hasUnmeasured: false, wire: {} as WireFacts },
    ...KINDS[kind](generated, need),
    lastWordsAfter: () => ({ tokens: 0, nanoUsd: 0 }),
  };
  const cut = new ModelError("interrupted", "cut", { afterOutput: true });
  const { usage, costUsd } = settleCut(cut, undefined, lease, attempt);
  return more(bill(need, generated), { tokens: usage.totalTokens, nanoUsd: toNanoUsd(costUsd) });
}

function begun(promptTokens: number): StreamCheck {
  const usage = { input_tokens: 0, cache_creation_input_tokens: promptTokens };
  return received(`data: ${JSON.stringify({ type: "message_start", message: { usage } })}\n\n`);
}

function unfinished(event: string): StreamCheck {
  return received(`: hello\n\n${event}`);
}

function received(text: string): StreamCheck {
  const check = new StreamCheck(FACTS, "race");
  check.take(new TextEncoder().encode(text));
  return check;
}
