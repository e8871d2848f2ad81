/** The workers of placed runs: the one that took each last, and how often it was taken. */

import type { SousEvent } from "../../../core/event.ts";
import { inertLine } from "../terminal/text.ts";

export class Takings {
  readonly #placed = new Set<string>();
  readonly #workers = new Map<string, { last: string; count: number }>();

  add(event: SousEvent): void {
    if (event.type === "run-start" && event.placed !== undefined) this.#placed.add(event.runId);
    if (event.type !== "resume" || event.worker === undefined || !this.#placed.has(event.runId)) return;
    const count = (this.#workers.get(event.runId)?.count ?? 0) + 1;
    this.#workers.set(event.runId, { last: event.worker, count });
  }

  /** `worker two on host-b, taken 3 times`; undefined for a run that was not placed. */
  wordsOf(runId: string): string | undefined {
    if (!this.#placed.has(runId)) return undefined;
    const worker = this.#workers.get(runId);
    if (worker === undefined) return "placed, and not taken by a worker yet";
    const times = worker.count === 1 ? "" : `, taken ${worker.count} times`;
    return `worker ${inertLine(worker.last, 80)}${times}`;
  }
}
