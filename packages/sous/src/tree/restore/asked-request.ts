/** What a recorded call asked the gate for: its tool is run once more, with a gate that only listens. */

import type { Run } from "../../core/run.ts";
import type { ChildControl, SpawnReply, SpawnRequest } from "../../core/spawn.ts";
import type { ToolContext } from "../../core/tool.ts";
import { noUsage } from "../../core/usage.ts";
import type { ParentCall } from "./earlier-tree.ts";

/** Undefined when the tool is no longer there, or does more than start children. */
export async function askedRequest(parent: Run, call: ParentCall): Promise<SpawnRequest | undefined> {
  const ready = parent.profile.tools.byName.get(call.toolName);
  if (ready?.tool.category !== "subagent") return undefined;
  const parsed = await ready.schema.parse(call.input);
  if (!parsed.ok) return undefined;
  const listening = new ListeningContext(parent, call);
  await ready.tool.execute(parsed.value, listening);
  return listening.heard;
}

class ListeningContext implements ToolContext {
  heard: SpawnRequest | undefined;
  readonly callId: string;
  readonly signal: AbortSignal = new AbortController().signal;
  readonly cwd: string;
  readonly runId: string;
  readonly agentId: string;
  readonly ancestorIds: readonly string[] = [];
  readonly path: string;
  readonly depth: number;
  readonly maxDepth: number;
  readonly rulesOn: ToolContext["rulesOn"] = () => undefined;
  readonly trace = undefined;
  readonly children: ChildControl = NO_CHILDREN;
  readonly spawn: ToolContext["spawn"];

  constructor({ who, tree }: Run, { callId, index }: ParentCall) {
    this.callId = callId;
    this.cwd = tree.cwd;
    this.runId = who.runId;
    this.agentId = who.agentId;
    this.path = who.path;
    this.depth = who.depth;
    this.maxDepth = tree.maxDepth;
    this.spawn = async (request) => {
      if ((request.index ?? 0) === index) this.heard ??= request;
      return HEARD;
    };
  }

  /** A tool for children leaves nothing else behind. */
  defer(): void {}

  progress(): void {}
}

/** A good ending, so that a tool that stops at the first failure asks for all it would ask for. */
const HEARD: SpawnReply = {
  kind: "ended",
  report: {
    agentId: "",
    runId: "",
    path: "",
    label: "",
    depth: 0,
    agentName: "",
    text: "",
    truncation: undefined,
    isFetchable: false,
    toolLog: [],
    totalUsage: noUsage(),
    totalCostUsd: 0,
    outcome: {
      status: "completed",
      stopReason: undefined,
      text: "",
      fault: undefined,
      turns: 0,
      toolCount: 0,
      usage: noUsage(),
      costUsd: 0,
      durationMs: 0,
    },
  },
};

const NO_CHILDREN: ChildControl = {
  list: () => [],
  send: async () => HEARD,
  wait: async () => [],
  cancel: async () => undefined,
  report: async () => undefined,
};
