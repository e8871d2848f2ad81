/** After a limit of a budget was reached: the command that continues the run with more of it, whole and with an amount. */

import { type DatabaseFlags, sameDatabase } from "./database-place.ts";
import { inertLine } from "./inert.ts";

/** What a stored run that reached a limit is continued with. */
export type Raise = {
  /** The option that sets this limit of a new run. */
  readonly option: string;
  /** The options of `sous resume` that allow enough for the step that was refused. */
  readonly added: string;
};

/** From the sentence of the limit, which also says how much was needed. Undefined when it is about something else. */
export function raiseOf(sentence: string): Raise | undefined {
  const [, unit, needed, limit] =
    /^(Token|Cost|Time) limit (?:exceeded|reached): \$?([\d.]{1,20})s?\/\$?([\d.]{1,20})/.exec(sentence) ?? [];
  // Twice what was refused, because the last words of the run and a longer conversation have to be paid as well.
  const more = Math.max(Number(limit), 2 * Number(needed) - Number(limit));
  switch (unit) {
    case "Token":
      return { option: "--max-tokens-total", added: `--add-tokens ${roundedUp(more, 0)}` };
    case "Cost":
      return { option: "--budget", added: `--add-budget ${roundedUp(more, 4)}` };
    case "Time":
      return moreTime(Number(limit));
    default: {
      const [, milliseconds] = /^The run timed out after ([\d.]{1,20}) ms/.exec(sentence) ?? [];
      return milliseconds === undefined ? undefined : moreTime(Number(milliseconds) / 1000);
    }
  }
}

function moreTime(seconds: number): Raise {
  return { option: "--timeout", added: `--timeout ${Math.max(1, Math.ceil(seconds))}s` };
}

export function raisedResume(runId: string, { added }: Raise, flags: DatabaseFlags): string {
  return `sous resume ${inertLine(runId, 60)} ${added}${sameDatabase(flags)}`;
}

/** Rounded up to two significant digits, with at most this many decimals. */
function roundedUp(given: number, decimals: number): string {
  const least = 10 ** -decimals;
  const amount = Math.max(given, least);
  const unit = Math.max(least, 10 ** (Math.floor(Math.log10(amount)) - 1));
  return Number((Math.ceil(amount / unit - 1e-9) * unit).toFixed(decimals)).toString();
}
