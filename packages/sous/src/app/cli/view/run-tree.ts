/** The runs of a tree as a person sees them: a fold over events. All text in it is harmless to show. */

import type { SousEvent } from "../../../core/event.ts";
import type { LimitState } from "../../../core/limits.ts";
import { textOf } from "../../../core/message.ts";
import { LACKS_APPROVAL, type RunStatus, type StopReason, type UnendedStatus } from "../../../core/outcome.ts";
import { isSubagentToolName } from "../../../core/spawn.ts";
import { rateWaitWords } from "../../../core/units.ts";
import { addCost } from "../../../core/usage.ts";
import { lineOf } from "../../../core/words/event-rows.ts";
import { duration, inertLine } from "../terminal/text.ts";
import { describeExternalCall, describeInput, describeOutput, describeProgress, describeTool } from "./plain-lines.ts";

export type RunNode = {
  readonly id: string;
  readonly path: string;
  readonly label: string;
  readonly task: string;
  readonly maxTurns: number;
  /** The start of its time: later than it really started when it was interrupted, or its clock was set. */
  startedAt: number;
  endedAt: number | undefined;
  /** The time of its last event. */
  heardAt: number;
  /** `queued` has not started: it waits for its budget, or for a worker. */
  status: RunStatus | UnendedStatus;
  stopReason: StopReason | undefined;
  /** The work at this moment; at its end what it said last, or what went wrong. */
  activity: string;
  /** The result of the activity, when it is known; shown behind the activity, which is cut first. */
  result: string;
  /** The limit it waits for, as it stood when the wait began; shown instead of the activity until its next event. */
  waitsFor: LimitState | undefined;
  /** Tokens that are reserved for its call in flight. */
  reserved: number;
  /** It waits for a person. */
  asks: boolean;
  turns: number;
  toolCount: number;
  tokens: number;
  isEstimated: boolean;
  costUsd: number | null;
  readonly children: RunNode[];
  /** Children that were not made, with the reason. */
  readonly refusals: { label: string; message: string }[];
};

/** No tree is deeper; a damaged database may claim more, which is drawn at this level. */
const MAX_LEVEL = 12;

export class RunTree {
  readonly roots: RunNode[] = [];
  readonly #nodes = new Map<string, RunNode>();
  /** The lists of children, by the id of their run. */
  readonly #siblings = new Map<string, { readonly list: RunNode[]; readonly level: number }>();
  /** The text being said, by run; only its last line is shown. */
  readonly #speech = new Map<string, string>();
  /** The subjects of the calls in flight, by call id. */
  readonly #calls = new Map<string, string>();
  readonly #arrow: string;

  constructor(arrow: string) {
    this.#arrow = arrow;
  }

  get(runId: string): RunNode | undefined {
    return this.#nodes.get(runId);
  }

  /** All runs, parents before children. */
  all(): RunNode[] {
    const below = (node: RunNode): RunNode[] => [node, ...node.children.flatMap(below)];
    return this.roots.flatMap(below);
  }

  apply(event: SousEvent): void {
    if (event.type === "run-start") {
      const node = startNode(event, inertLine(textOf(event.task)), event.maxTurns);
      const isPlaced = event.placed !== undefined;
      this.#add(event, isPlaced ? { ...node, status: "queued", activity: "waits for a worker" } : node);
      return;
    }
    const node = this.#nodes.get(event.runId);
    if (node !== undefined) {
      node.heardAt = event.time;
      const before = node.activity;
      this.#update(node, event);
      if (node.activity !== before && !hasResult(event)) node.result = "";
      if (event.type !== "budget-near") node.waitsFor = event.type === "budget-wait" ? event.limit : undefined;
    } else if (event.type === "budget-wait" && event.parentId !== null)
      this.#add(event, { ...startNode(event, "", 0), status: "queued", waitsFor: event.limit });
  }

  /** Adds it below its parent; a child that waited to start keeps its position. */
  #add({ runId, parentId }: SousEvent, node: RunNode): void {
    const siblings = this.#siblings.get(parentId ?? "") ?? { list: this.roots, level: 0 };
    const waited = this.#nodes.get(runId);
    const index = waited?.status === "queued" ? siblings.list.indexOf(waited) : -1;
    if (index === -1) siblings.list.push(node);
    else siblings.list[index] = node;
    this.#nodes.set(runId, node);
    this.#siblings.set(
      runId,
      siblings.level < MAX_LEVEL ? { list: node.children, level: siblings.level + 1 } : siblings,
    );
  }

  /** No process works on this tree: what has not ended has this status, and no person is asked now. */
  interrupt(status: "interrupted" | "waiting" = "interrupted"): void {
    for (const node of this.#nodes.values()) interruptNode(node, status);
  }

  /** The same of one run: others of the tree may be at work in other processes. */
  interruptRun(runId: string, status: "interrupted" | "waiting" | "queued"): void {
    const node = this.#nodes.get(runId);
    if (node !== undefined) interruptNode(node, status);
  }

  #update(node: RunNode, event: Exclude<SousEvent, { type: "run-start" }>): void {
    switch (event.type) {
      case "turn-start":
        node.turns = event.turn;
        node.reserved = event.reserved;
        // The result of a tool stays in sight until something newer is said or done.
        if (node.activity === STARTS) node.activity = "thinking";
        this.#speech.delete(event.runId);
        break;
      case "text-delta":
        node.activity = this.#hear(event.runId, event.text);
        break;
      case "reasoning-delta":
        node.activity = "thinking";
        break;
      case "message-end":
        node.reserved = 0;
        node.tokens += event.usage.totalTokens;
        node.isEstimated ||= event.usage.estimated;
        node.costUsd = addCost(node.costUsd, event.costUsd);
        break;
      case "tool-call-start": {
        const subject = `${describeTool(event.toolName)}  ${describeInput(event.input)}`.trimEnd();
        this.#calls.set(event.callId, subject);
        node.toolCount += 1;
        node.activity = isSubagentToolName(event.toolName) ? "waits for what it delegated" : subject;
        break;
      }
      case "tool-call-end":
        if (isSubagentToolName(event.toolName)) {
          this.#calls.delete(event.callId);
          // A refusal has just been shown in its own words.
          if (!event.isError) node.activity = "has what it delegated";
          break;
        }
        node.activity = this.#calls.get(event.callId) ?? describeTool(event.toolName);
        node.result = `  ${this.#arrow} ${describeOutput(event)}`;
        this.#calls.delete(event.callId);
        break;
      case "tool-progress":
        node.activity = this.#calls.get(event.callId) ?? describeTool(event.toolName);
        node.result = `: ${describeProgress(event)}`;
        break;
      case "outside-call":
        // The call is not counted: a count that grows here and falls back at the end would be of other calls than that of the result.
        node.activity = describeExternalCall(event);
        if (event.phase === "start") {
          this.#calls.set(event.callId, node.activity);
          break;
        }
        node.result = `  ${this.#arrow} ${describeOutput({ output: event.output ?? "", isError: event.isError === true })}`;
        this.#calls.delete(event.callId);
        break;
      case "approval-request":
        node.asks = true;
        node.activity = `wants: ${describeTool(event.toolName)}  ${describeInput(event.input)}`.trimEnd();
        if (event.toolReason !== undefined) node.activity += ` (${inertLine(event.toolReason, 200)})`;
        break;
      case "approval-end":
        node.asks = false;
        // It works on it from now on.
        node.activity = event.allowed ? (this.#calls.get(event.callId) ?? "allowed") : "not allowed";
        break;
      case "retry":
        this.#speech.delete(event.runId);
        node.activity =
          event.kind === "rate_limit" && event.delayMs > 0
            ? rateWaitWords(event.delayMs)
            : `asks again${event.delayMs > 0 ? ` in ${duration(event.delayMs)}` : ""} (${event.kind})`;
        break;
      case "rate-wait":
      case "stalled":
      case "budget-warning":
        node.activity = lineOf(event, inertLine) ?? "";
        break;
      case "spawn-refused":
        node.refusals.push({ label: inertLine(event.label, 80), message: inertLine(event.message) });
        node.activity = `refused: ${inertLine(event.message)}`;
        if (event.childPath !== undefined) dropWaiting(node, shownPath(event.childPath));
        break;
      case "notice":
        node.activity =
          event.reason === "summary" ? "sums up" : event.reason === "wrap-up" ? "wraps up" : node.activity;
        break;
      case "run-end":
        this.#speech.delete(event.runId);
        dropWaiting(node);
        node.reserved = 0;
        node.status = event.status;
        node.stopReason = event.stopReason;
        node.endedAt = event.time;
        // It says itself how long it was at work: the clock may have been set meanwhile.
        node.startedAt = event.time - event.durationMs;
        node.asks = false;
        node.turns = event.turns;
        node.toolCount = event.toolCount;
        node.tokens = event.usage.totalTokens;
        node.isEstimated = event.usage.estimated;
        node.costUsd = event.costUsd;
        node.activity = inertLine(event.fault?.message ?? event.text);
        break;
      case "park":
        // The request stays in sight.
        dropWaiting(node);
        node.status = LACKS_APPROVAL.status;
        node.stopReason = LACKS_APPROVAL.stopReason;
        node.endedAt = event.time;
        node.asks = false;
        break;
      case "resume":
        if (node.status === "queued") node.activity = STARTS;
        node.status = "running";
        node.stopReason = undefined;
        node.endedAt = undefined;
        node.startedAt = event.time - event.usedMs;
        break;
      default:
    }
  }

  /** The last line of what a run is saying. */
  #hear(runId: string, text: string): string {
    const said = `${this.#speech.get(runId) ?? ""}${text}`.slice(-MAX_SPEECH);
    this.#speech.set(runId, said);
    return inertLine(said.trimEnd().split("\n").at(-1) ?? "");
  }
}

function interruptNode(node: RunNode, status: "interrupted" | "waiting" | "queued"): void {
  if (node.status === "running") node.status = status;
  node.asks = false;
}

function hasResult(event: SousEvent): boolean {
  if (event.type === "tool-progress") return true;
  return event.type === "tool-call-end" || (event.type === "outside-call" && event.phase === "end");
}

const MAX_SPEECH = 400;
const STARTS = "starts";

/** Takes away the children that waited to start and will not: the one at `path`, or all. */
function dropWaiting({ children }: RunNode, path?: string): void {
  const isGone = (node: RunNode): boolean =>
    node.status === "queued" && node.waitsFor !== undefined && (path === undefined || node.path === path);
  for (let index = children.findIndex(isGone); index !== -1; index = children.findIndex(isGone))
    children.splice(index, 1);
}

function shownPath(path: string): string {
  return inertLine(path, 200);
}

function startNode({ runId, path, time }: SousEvent, task: string, maxTurns: number): RunNode {
  return {
    id: inertLine(runId, 60),
    path: shownPath(path),
    label: inertLine(path.slice(path.lastIndexOf("/") + 1), 80),
    task,
    maxTurns,
    startedAt: time,
    endedAt: undefined,
    heardAt: time,
    status: "running",
    stopReason: undefined,
    activity: STARTS,
    result: "",
    waitsFor: undefined,
    reserved: 0,
    asks: false,
    turns: 0,
    toolCount: 0,
    tokens: 0,
    isEstimated: false,
    costUsd: 0,
    children: [],
    refusals: [],
  };
}
