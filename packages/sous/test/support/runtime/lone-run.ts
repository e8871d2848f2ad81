/** A run without a tree: whatever it asks of the tree is in the hands of the test, and it counts what it has been lent. */

import { NO_REDACTION } from "../../../src/core/clean-text.ts";
import { Conversation, DEFAULT_CONVERSATION } from "../../../src/core/conversation.ts";
import type { StoredBody } from "../../../src/core/event.ts";
import type { Account, Budget, Holding, Lease } from "../../../src/core/limits.ts";
import { userMessage } from "../../../src/core/message.ts";
import { Run, type RunProfile } from "../../../src/core/run.ts";
import { Scope } from "../../../src/core/scope.ts";
import type { TreePorts } from "../../../src/core/tree-ports.ts";
import { AskedTargets } from "../../../src/runtime/rights/asked-targets.ts";
import { VirtualClock } from "../../../src/testing/world.ts";

export type LoneRun = {
  readonly run: Run;
  readonly clock: VirtualClock;
  readonly questions: AskedTargets;
  readonly recorded: readonly StoredBody[];
};

type Parts = {
  readonly tree?: Partial<TreePorts>;
  readonly profile?: Partial<RunProfile>;
  readonly holding?: Partial<Holding>;
  readonly left?: Budget;
};

/** What is not given and not needed by most is missing: a test that comes upon it fails. */
export function loneRun({ tree = {}, profile = {}, holding = {}, left = {} }: Parts = {}): LoneRun {
  const clock = new VirtualClock(0);
  const questions = new AskedTargets((asked) => asked);
  const recorded: StoredBody[] = [];
  const ports: Partial<TreePorts> = {
    clock,
    cwd: "/",
    redactor: NO_REDACTION,
    questions,
    rules: undefined,
    maxDepth: 3,
    conversation: DEFAULT_CONVERSATION,
    emit: (_run, body) => void recorded.push(body),
    show: () => {},
    isWatched: false,
    settled: () => undefined,
    givenAnswer: () => undefined,
    traceOf: () => undefined,
    ...tree,
  };
  const run = new Run({
    parent: undefined,
    task: "Go.",
    who: { runId: "lead", agentId: "lead", parentId: null, path: "lead", depth: 0 },
    profile: { agentName: "lead", model: { id: "toy" }, maxTurns: 10, ...profile } as RunProfile,
    scope: new Scope(),
    tree: ports as TreePorts,
    account: { left: () => left } as Account,
    conversation: new Conversation([userMessage("Go.")]),
    summary: undefined,
  });
  run.holding = { reserve: () => countedLease().lease, ...holding } as Holding;
  return { run, clock, questions, recorded };
}

/** A lease that knows whether it was given back. */
export function countedLease(outputCap = 1000): { lease: Lease; isOpen(): boolean } {
  let isOpen = true;
  const close = () => {
    isOpen = false;
  };
  return { lease: { outputCap, settle: close, [Symbol.dispose]: close }, isOpen: () => isOpen };
}
