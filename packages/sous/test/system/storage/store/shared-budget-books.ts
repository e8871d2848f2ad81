/** The books of a shared budget as text, changed as another process or another machine would have left them. */

import type { SharedBudgetMember } from "../../../../src/core/shared-budget-books.ts";
import { newOwner } from "../../../../src/storage/store/owner.ts";

/** A process of another machine: this machine cannot see whether it runs. */
const ELSEWHERE = "elsewhere boot 1 1 x";

/** The process of the first row is gone for certain, or is on another machine and was not heard of for a minute. */
export function asDead(books: string, how: "gone" | "late"): string {
  return withFirstMember(books, ({ seenAt }) =>
    how === "gone" ? { owner: deadOwner() } : { owner: ELSEWHERE, seenAt: seenAt - 60_000 },
  );
}

/** The process of the first row is one of another machine. */
export function asElsewhere(books: string): string {
  return withFirstMember(books, () => ({ owner: ELSEWHERE }));
}

function withFirstMember(books: string, change: (member: SharedBudgetMember) => Partial<SharedBudgetMember>): string {
  const { members, ...rest }: { members: SharedBudgetMember[] } = JSON.parse(books);
  const [first, ...others] = members;
  if (first === undefined) throw new Error("The books have no rows");
  return JSON.stringify({ ...rest, members: [{ ...first, ...change(first) }, ...others] });
}

/** The name of a process of this machine that has ended: the number is in use, but by a younger one. */
function deadOwner(): string {
  const [host, boot, pid, , random] = newOwner().split(" ");
  return [host, boot, pid, "1", random].join(" ");
}
