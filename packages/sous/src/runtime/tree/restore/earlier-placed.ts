/** The children of a stored journal that have journals of their own, and what is known of their ends. */

import type { EventOf } from "../../../core/event.ts";
import { addCost, addUsage, noUsage, type Usage } from "../../../core/usage.ts";

type Placed = EventOf<"placed">;

export class EarlierPlaced {
  readonly #all: Placed[] = [];
  readonly #byCall = new Map<string, Placed[]>();
  readonly #byParent = new Map<string, Placed[]>();
  #ends: ReadonlyMap<string, EventOf<"run-end">> = new Map();

  add(placed: Placed): void {
    this.#all.push(placed);
    push(this.#byParent, placed.runId, placed);
    if (placed.call !== undefined) push(this.#byCall, keyOf(placed.runId, placed.call), placed);
  }

  get ids(): string[] {
    return this.#all.map(({ childRunId }) => childRunId);
  }

  of(parentRunId: string): readonly Placed[] {
    return this.#byParent.get(parentRunId) ?? [];
  }

  /** The child that this call placed; each is found once. */
  take(parentRunId: string, callId: string, index: number): Placed | undefined {
    return this.#byCall.get(keyOf(parentRunId, { callId, index }))?.shift();
  }

  has(parentRunId: string, callId: string): boolean {
    return (this.#byCall.get(keyOf(parentRunId, { callId, index: 0 })) ?? []).length > 0;
  }

  /** The ends that the store had when the journal was read. */
  setEnds(ends: readonly EventOf<"run-end">[]): void {
    this.#ends = new Map(ends.map((end) => [end.runId, end]));
  }

  endOf({ childRunId }: Placed): EventOf<"run-end"> | undefined {
    return this.#ends.get(childRunId);
  }

  /** The usage of those ended children of a run that no call is made again for, with everything below them. */
  usageBelow(parentRunId: string, isDone: (placed: Placed) => boolean): { usage: Usage; costUsd: number | null } {
    const sum: { usage: Usage; costUsd: number | null } = { usage: noUsage(), costUsd: 0 };
    for (const placed of this.of(parentRunId)) {
      const end = this.endOf(placed);
      if (end === undefined || !isDone(placed)) continue;
      addUsage(sum.usage, end.usage);
      if (end.usageBelow !== undefined) addUsage(sum.usage, end.usageBelow);
      sum.costUsd = addCost(addCost(sum.costUsd, end.costUsd), end.costBelowUsd ?? 0);
    }
    return sum;
  }
}

function push(map: Map<string, Placed[]>, key: string, placed: Placed): void {
  const known = map.get(key);
  if (known === undefined) map.set(key, [placed]);
  else known.push(placed);
}

function keyOf(runId: string, { callId, index }: { callId: string; index: number }): string {
  return JSON.stringify([runId, callId, index]);
}
