/** The plan of a root: the tasks it has handed to several children at once. */

import type { PlanEntry } from "@agentclientprotocol/sdk";
import type { SousEvent } from "../core/event.ts";
import { askedLabels } from "../core/spawn.ts";
import { oneLine } from "./one-line.ts";

const MAX_ENTRY = 200;

type Task = { content: string; status: PlanEntry["status"] };

export class Plan {
  #callId: string | undefined;
  #tasks: Task[] = [];
  /** Which task each child works on. */
  readonly #indexes = new Map<string, number>();

  /** The whole plan, when this event has changed it. */
  apply(event: SousEvent): PlanEntry[] | undefined {
    switch (event.type) {
      case "tool-call-start": {
        const labels =
          event.depth === 0 && event.toolName === "parallel_subagent" ? askedLabels(event.toolName, event.input) : [];
        if (labels.length < 2) return undefined;
        this.#callId = event.callId;
        this.#tasks = labels.map((label) => ({ content: oneLine(label, MAX_ENTRY), status: "pending" }));
        this.#indexes.clear();
        return this.#entries();
      }
      case "run-start": {
        const { call, depth, runId } = event;
        if (depth !== 1 || call === undefined || call.callId !== this.#callId) return undefined;
        this.#indexes.set(runId, call.index);
        return this.#mark(call.index, "in_progress");
      }
      case "run-end": {
        const index = this.#indexes.get(event.runId);
        return index === undefined ? undefined : this.#mark(index, "completed");
      }
      default:
        return undefined;
    }
  }

  #mark(index: number, status: Task["status"]): PlanEntry[] | undefined {
    const task = this.#tasks[index];
    if (task === undefined) return undefined;
    task.status = status;
    return this.#entries();
  }

  #entries(): PlanEntry[] {
    return this.#tasks.map((task) => ({ ...task, priority: "medium" }));
  }
}
