/** A fan-out from code: one agent on several inputs, as children of a root that asks no model. */

import { type AgentDefinition, agent } from "../../core/agent.ts";
import type { OpenQuestion } from "../../core/approval.ts";
import { messageOf, toRefusal } from "../../core/errors.ts";
import { userMessage } from "../../core/message.ts";
import type { RunOutcome } from "../../core/outcome.ts";
import type { Run } from "../../core/run.ts";
import type { FanOutTerms } from "../../core/run-start.ts";
import type { RunResult } from "../../core/runtime.ts";
import { Scope } from "../../core/scope.ts";
import { FAN_OUT, type SpawnReply } from "../../core/spawn.ts";
import { type DelegationLimits, TURNS } from "../../core/words/limits.ts";
import type { OpenTree } from "./open.ts";
import type { EarlierRun } from "./restore/earlier-run.ts";
import { readQuestions, runOnce, toResult } from "./root-run.ts";

/** A tree, and the root it had if it continues after a restart. */
type FanOutTree = { opened: OpenTree; earlier?: EarlierRun | undefined };

/** One result per input, in order, whatever happens. The root holds the children, the budget and the journal together. */
export async function runFanOut<Output>(
  { opened, earlier }: FanOutTree,
  definition: AgentDefinition,
  { inputs, atOnce }: Pick<FanOutTerms, "inputs" | "atOnce">,
): Promise<RunResult<Output>[]> {
  const { tree, rootId } = opened;
  const worker = definition.with({ maxTurns: definition.maxTurns ?? TURNS.root });
  const replies: SpawnReply[] = [];
  let next = 0;
  const work = async (root: Run): Promise<void> => {
    for (let index = next++; index < inputs.length; index = next++) {
      const request = { label: definition.name, task: inputs[index] ?? "", index, agent: worker };
      try {
        replies[index] = await tree.ports.spawn(root, FAN_OUT, request);
      } catch (error) {
        replies[index] = toReply(error);
      }
    }
  };
  const scope = new Scope();
  let rest = NOT_STARTED;
  let outcome: RunOutcome | undefined;
  let questions: OpenQuestion[] = [];
  try {
    const entry = await tree.openRoot(rootId, holderOf(definition));
    const start = { runId: rootId, task: userMessage(fanOutTask(inputs)), scope, earlier };
    const ended = await runOnce(opened, scope, () =>
      tree.runRoot(entry, start, async (root) => {
        await Promise.all(Array.from({ length: atOnce }, () => work(root)));
        // Children that were stopped are replies like others, so only the scope knows.
        root.scope.throwIfAborted();
        if (replies.some((reply) => reply?.kind === "parked")) await tree.ports.park(root);
        root.scope.throwIfAborted();
        return { status: "completed" };
      }),
    );
    outcome = ended.outcome;
    const adding = tree.addElsewhere(opened.store, rootId);
    if (adding !== undefined) await adding;
    if (tree.isParked) questions = await readQuestions(opened);
  } catch (error) {
    rest = toReply(error);
  }
  return inputs.map((_, index) => endedWith(outcome, toResult<Output>(replies[index] ?? rest, tree, questions)));
}

/** The number of inputs that run at once: at least one. */
export function fanOutWidth(inputs: readonly string[], concurrency: number): number {
  return Math.max(1, Math.floor(Math.min(concurrency, inputs.length)) || 1);
}

/** True when a caller of a fan-out wants bounded reports, and not what `run` would give. */
export function asksForReports({ summary = "never", outputMaxSize }: Partial<DelegationLimits>): boolean {
  return summary !== "never" || outputMaxSize !== undefined;
}

/** Adds a heading, so that a single input is not taken for the root's own task handed on. */
export function fanOutTask(inputs: readonly string[]): string {
  return `Each of these:\n${inputs.join("\n")}`;
}

const NOT_STARTED: SpawnReply = { kind: "refused", errorType: "cancelled", message: "The run was cancelled" };

/** The root may pass on all that the definition has. */
export function holderOf({ model, tools, subagents, deny }: AgentDefinition): AgentDefinition {
  return agent({ name: FAN_OUT, model, tools, subagents, deny });
}

/** The error that stopped a child, or all of them, as the reply of the gate would have it. */
function toReply(error: unknown): SpawnReply {
  const { errorType, message } = toRefusal(error) ?? { errorType: "crash", message: messageOf(error) };
  return { kind: "refused", errorType, message };
}

/** The caller does not see the root: its ending is the ending of all that was stopped with it, and a broken store that of all. */
function endedWith<Output>(outcome: RunOutcome | undefined, result: RunResult<Output>): RunResult<Output> {
  if (outcome?.fault === undefined) return result;
  const { status, fault } = outcome;
  if (result.status !== "cancelled" && fault.type !== "store") return result;
  return { ...result, status, error: { type: fault.type, message: fault.message } };
}
