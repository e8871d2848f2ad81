/** `/budget +…`: how much more is meant, and what may be raised. */

import type { RunResult } from "../../../core/runtime.ts";
import { CommandError } from "../exit-codes.ts";
import { inertLine } from "../terminal/text.ts";
import { amountOf } from "../view/limit-lines.ts";
import type { ChatConversation, MoreBudget } from "./conversation.ts";

type Unit = "tokens" | "costUsd";

const HOW = "/budget +$1 adds a dollar, /budget +20k adds 20000 tokens";
/** A number alone is not taken for dollars when it is this large. */
const MAX_BARE_DOLLARS = 1000;

/** Finds the limits of the whole tree that can be raised. */
function raisableUnits(conversation: ChatConversation): ReadonlySet<Unit> {
  const limits = conversation.spending()?.limits.filter(({ of }) => of === "tree");
  const budget = conversation.budgetBefore;
  const isLimited = (unit: Unit): boolean =>
    limits === undefined || limits.length === 0
      ? budget?.[unit] !== undefined
      : limits.some((limit) => limit.unit === unit);
  return new Set((["tokens", "costUsd"] as const).filter(isLimited));
}

/** `$1`, `1usd` and `0.50` are money, `20k` and `500 tokens` are tokens; a number alone is whatever is limited. */
export function readMore(parameter: string, raisable: ReadonlySet<Unit>): MoreBudget {
  const typed = parameter.replace(/\s+/g, "").toLowerCase();
  const [, sign = "", digits = "", fraction = "", word = ""] = PARTS.exec(typed) ?? [];
  const amount = Number(digits + fraction);
  if (digits === "" || amount === 0) throw new CommandError(`/budget takes what to add: ${HOW}`);
  const isMoney = sign !== "" || MONEY_WORDS.has(word);
  const factor = TOKEN_WORDS.get(word);
  if ((isMoney && factor !== undefined) || !(word === "" || MONEY_WORDS.has(word) || factor !== undefined))
    throw new CommandError(`/budget does not understand ${inertLine(parameter, 40)}: ${HOW}`);
  if (isMoney || (factor === undefined && fraction !== "")) return { tokens: 0, costUsd: amount };
  if (factor === undefined) return bareNumber(amount, raisable);
  if (!Number.isInteger(amount * factor)) throw new CommandError(`Tokens are counted in whole numbers: ${HOW}`);
  return { tokens: amount * factor, costUsd: 0 };
}

const PARTS = /^\+?(\$?)(\d{1,12})(\.\d{1,4})?([a-z$]{0,10})$/;
const MONEY_WORDS: ReadonlySet<string> = new Set(["$", "usd", "dollar", "dollars"]);
const TOKEN_WORDS: ReadonlyMap<string, number> = new Map([
  ["tok", 1],
  ["token", 1],
  ["tokens", 1],
  ["k", 1000],
  ["ktok", 1000],
  ["ktokens", 1000],
  ["m", 1_000_000],
]);

function bareNumber(amount: number, raisable: ReadonlySet<Unit>): MoreBudget {
  const isAmbiguous = raisable.size === 2 || (!raisable.has("tokens") && amount >= MAX_BARE_DOLLARS);
  if (isAmbiguous) throw new CommandError(`${amount} may be dollars or tokens: ${HOW}`);
  return raisable.has("costUsd") ? { tokens: 0, costUsd: amount } : { tokens: amount, costUsd: 0 };
}

/** Returns what was done. Throws a `CommandError` when there is nothing to raise, or not now. */
export function raiseBudget(parameter: string, conversation: ChatConversation): string {
  const raisable = raisableUnits(conversation);
  const more = readMore(parameter, raisable);
  const unit: Unit = more.costUsd > 0 ? "costUsd" : "tokens";
  if (!raisable.has(unit)) throw new CommandError(NOT_LIMITED[unit]);
  if (conversation.isLive) throw new CommandError("The budget can be raised when the run has ended");
  if (conversation.isCopying)
    throw new CommandError("The copy has a budget of its own, which can be raised after its first message");
  if (!conversation.addBudget(more)) throw new CommandError("Nothing has been spent yet; /budget shows the limits");
  return `The next message may spend ${moreWords(conversation.more)} more.`;
}

const NOT_LIMITED: Readonly<Record<Unit, string>> = {
  tokens: "Tokens are not limited; sous chat --max-tokens-total N sets a limit that can be raised",
  costUsd: "Money is not limited; sous chat --budget USD sets a limit that can be raised",
};

/** `5000 tokens and $1.0000`. */
export function moreWords({ tokens, costUsd }: MoreBudget): string {
  const words = [tokens > 0 ? `${tokens} tokens` : "", costUsd > 0 ? amountOf("costUsd", costUsd) : ""];
  return words.filter((word) => word !== "").join(" and ");
}

/** Says how to raise the budget after a message that needs more than is left: it would be refused again and again. */
export function raiseHint({ runId, error }: RunResult, conversation: ChatConversation): string | undefined {
  if (error === undefined || runId !== conversation.runId) return undefined;
  const raisable = raisableUnits(conversation);
  if (error.message.startsWith("Token limit") && raisable.has("tokens"))
    return "/budget +20k allows 20000 tokens more.";
  if (error.message.startsWith("Cost limit") && raisable.has("costUsd")) return "/budget +$1 allows a dollar more.";
  return undefined;
}
