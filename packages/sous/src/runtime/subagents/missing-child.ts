/** Children that had to succeed and did not: their tree fails, whatever its root says. */

import { errorTypeOf, type Fault, isForRate, isSuccess } from "../../core/outcome.ts";
import type { AgentBook, AgentEntry } from "./agent-book.ts";

/** The fault of the tree; undefined when no such child is missing. An agent counts by its last run. */
export function missingChild(book: AgentBook, rootId: string, areAllRequired: boolean): Fault | undefined {
  const children = book.below(rootId);
  const [first, ...others] = children.filter((each) => hasFailed(each) && (areAllRequired || isRequired(each)));
  if (first === undefined) return undefined;
  const { path, status, fault } = first;
  const type = errorTypeOf({ status: status === "running" ? "failed" : status, fault }) ?? "crash";
  const count = `${others.length + 1} of ${children.length} children failed`;
  return { type, message: `${count}: ${path}: ${fault?.message ?? status}`, kind: fault?.kind };
}

/** A child that was cancelled is no failure: its parent or a person did not want it any more. */
function hasFailed({ status }: AgentEntry): boolean {
  return status !== "running" && status !== "cancelled" && !isSuccess({ status });
}

function isRequired({ isRequired: wasAsked, fault }: AgentEntry): boolean {
  return wasAsked === true && isForRate(fault);
}
