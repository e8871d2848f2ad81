/** The one gate for children. Each passes it in the same order: check, profile, pay, enrol, run, report. */

import { Conversation } from "../../core/conversation.ts";
import { ignore, Refused, toRefusal } from "../../core/errors.ts";
import type { Account, CallNeed } from "../../core/limits.ts";
import { userMessage } from "../../core/message.ts";
import type { Run, RunProfile, SummaryPlan } from "../../core/run.ts";
import { Cancelled, Parked, Scope } from "../../core/scope.ts";
import { type ChildReport, FAN_OUT, type SpawnOptions, type SpawnReply, type SpawnRequest } from "../../core/spawn.ts";
import { smallerBudget } from "../../core/words/limits.ts";
import { type Counting, checkPrice, type Fee, pay, payForStart } from "../budget/admission.ts";
import { checkDuration } from "../budget/deadlines.ts";
import { externalNeed } from "../loop/external-funds.ts";
import { tellBudgetWait } from "../model/ask-for-run.ts";
import { callNeed } from "../model/call-need.ts";
import { childInfo } from "../subagents/agent-book.ts";
import { addBackgroundChild, addOutsideChild } from "../subagents/background-children.ts";
import { checkDepth, checkRequest } from "../subagents/check-spawn.ts";
import { approveExternal } from "./approval.ts";
import { closedPrefix, taskText } from "./fork-start.ts";
import { type ChildPlan, discardRun, entryOf, makeRun, startRun } from "./lifecycle.ts";
import { restParent, stopWith, wakeParent } from "./parent-waits.ts";
import { runPlaced } from "./placing/place-child.ts";
import { isToBePlaced } from "./placing/travel.ts";
import { withoutSecretNames } from "./redaction.ts";
import { reportOf } from "./report.ts";
import type { TreeState } from "./state.ts";

const NOT_STARTED = "Subagent cancelled before it started";

/** Starts the child that a call of the parent asks for. A refusal is a reply, is recorded, and costs nothing. */
export async function spawn(tree: TreeState, parent: Run, callId: string, asked: SpawnRequest): Promise<SpawnReply> {
  const { limits, settings, profiles } = tree.parts;
  const request = withoutSecretNames(asked, settings.redactor);
  const { label } = request;
  let path: string | undefined;
  let plan: ChildPlan;
  try {
    checkDepth(parent.who.depth + 1, limits.maxDepth);
    checkRequest(request, parent);
    // The path is taken before the first await: the order of the calls is the order of the numbers.
    path = tree.book.nextPath(entryOf(tree, parent), label);
    const profile = await profiles.child(parent.profile, request, path);
    const { external } = profile.model;
    if (external !== undefined && request.approved !== true) {
      const input = { serverName: external.serverName, description: label, task: request.task };
      await approveExternal(parent, { callId, index: request.index }, input);
    }
    const { placed } = tree.parts;
    const isPlaced =
      placed !== undefined && isToBePlaced(parent, profile, request, limits, placed.engine.sharesWorkspace === true);
    const made = newChild(tree, parent, callId, request, { label, path, profile });
    plan = isPlaced ? { ...made, place: "now" } : made;
  } catch (error) {
    if (!(error instanceof Parked)) return refuse(tree, error, parent, { label, path });
    // The question whether to hand the task to an external agent is answered later.
    parent.parkCall(callId);
    return { kind: "parked", report: undefined };
  }
  return runChild(tree, plan, request.options);
}

/** The plan of a child that has never run. */
function newChild(
  tree: TreeState,
  parent: Run,
  callId: string,
  request: SpawnRequest,
  { label, path, profile }: { label: string; path: string; profile: RunProfile },
): ChildPlan {
  const { index = 0, options } = request;
  const budget = smallerBudget(profile.budget, options?.budget);
  checkDuration(budget?.durationMs, parent);
  const above = accountBelow(tree, parent);
  const account = budget === undefined ? above : above.open(budget, { path, above: parent.holding });
  const isFork = options?.context === "fork";
  const isBackground = options?.background === true;
  const task = userMessage(taskText(request, profile));
  const history = isFork ? closedPrefix(parent.conversation.messages) : [];
  const runId = tree.parts.records.newId();
  const made = { agentId: runId, parent: entryOf(tree, parent), path, label, profile, account, budget, isBackground };
  return {
    entry: tree.book.add(made),
    runId,
    parent,
    profile,
    task,
    conversation: new Conversation([...history, task], profile.tools.bytes),
    origin: isFork ? { kind: "fork", runId: parent.who.runId, messages: history.length } : undefined,
    call: isBackground ? { callId, index, background: true } : { callId, index },
    summary: summaryFor(tree, parent, options),
    scope: new Scope(parent.work),
    earlier: undefined,
  };
}

/** The way a child sums up for its parent. Undefined for one that answers as a root does. */
export function summaryFor(
  { parts: { limits, fanOut } }: TreeState,
  parent: Run,
  options: SpawnOptions | undefined,
): SummaryPlan | undefined {
  if (fanOut?.wholeAnswers && parent.parent === undefined) return undefined;
  return { mode: options?.summary ?? limits.summary, prompt: options?.summaryPrompt, maxBytes: limits.outputMaxSize };
}

/** The one that waits for a child: the call of its parent, or a program outside of the tree. */
export type Waits = "parent" | "outside";

/** Pays for the start of a planned child and runs it: in the background, or while its parent rests. */
export async function runChild(
  tree: TreeState,
  plan: ChildPlan,
  options: SpawnOptions = {},
  waits: Waits = "parent",
): Promise<SpawnReply> {
  const { parent, entry, scope, call } = plan;
  const run = enrol(tree, plan, options);
  const isBackground = options.background === true;
  const rests = !isBackground && waits === "parent";
  const slot = rests ? restParent(parent, entry.label) : undefined;
  // Not `using`: the build for Node 22 makes objects of it that would cost 1 KB per live child.
  let link: Disposable | undefined;
  try {
    if (isBackground) return await runInBackground(tree, run, plan, options);
    link = options.signal && stopWith(tree.book, run, options.signal);
    const reported = payAndRun(tree, run, plan, { callId: waits === "parent" ? call?.callId : undefined });
    if (waits === "outside" && !scope.aborted) addOutsideChild(parent, run, reported);
    const report = await reported;
    if (run.isParked && call !== undefined) parent.parkCall(call.callId);
    return { kind: run.isParked ? "parked" : "ended", report };
  } catch (error) {
    return refuse(tree, error, parent, { label: entry.label, path: entry.path, waited: run.waitedToStart });
  } finally {
    link?.[Symbol.dispose]();
    if (rests) await wakeParent(parent, slot, call?.callId);
  }
}

/** Makes the child known under its path, before it has paid. */
function enrol(tree: TreeState, plan: ChildPlan, { keepToolLog, onEnd, isRequired }: SpawnOptions): Run {
  const { entry, profile, parent, earlier } = plan;
  const run = makeRun(tree, plan, parent.tree);
  entry.profile = profile;
  entry.run = run;
  run.onEnd = onEnd;
  if (isRequired) entry.isRequired = true;
  if (keepToolLog) run.toolLog = (earlier && tree.parts.earlier?.toolLog(earlier.runId, profile)) ?? [];
  return run;
}

/** The parent continues once the child is queued or has started. A refusal after that becomes a notice to the parent. */
async function runInBackground(
  tree: TreeState,
  run: Run,
  plan: ChildPlan,
  { signal }: SpawnOptions,
): Promise<SpawnReply> {
  const { parent, entry } = plan;
  const link = signal && stopWith(tree.book, run, signal);
  const queued = Promise.withResolvers<void>();
  const reported = payAndRun(tree, run, plan, { onQueued: queued.resolve }).finally(() => link?.[Symbol.dispose]());
  await Promise.race([queued.promise, reported]);
  reported.catch((error: unknown) => {
    if (toRefusal(error)) refuse(tree, error, parent, { label: entry.label, path: entry.path, waited: true });
  });
  addBackgroundChild(parent, run, entry.label, reported);
  return { kind: "started", child: childInfo(entry) };
}

/** `callId` is the call of the parent that waits for the child. `onQueued` is called when it is queued or has started. */
type Queueing = { readonly callId?: string | undefined; readonly onQueued?: () => void };

/** Waits until the child can start, runs it to its end and reports. Throws what keeps it from starting. */
async function payAndRun(tree: TreeState, run: Run, plan: ChildPlan, queueing: Queueing): Promise<ChildReport> {
  const { parent, entry, earlier } = plan;
  try {
    // A tool can keep its context, and a message can come from outside the tree: the parent may have ended meanwhile.
    if (!tree.book.isLive(parent)) plan.scope.abort(new Cancelled(NOT_STARTED));
    checkWrapUp(parent);
    await checkPrice(plan.profile, entry.account);
    const fee = feeOf(tree, run, plan, queueing);
    if (plan.place !== undefined) return await payAndPlace(tree, run, plan, fee);
    const started = pay(fee);
    run.waitedToStart = started instanceof Promise;
    const { holding, slot, first } = await started;
    run.holding = holding;
    run.slot = slot;
    run.firstCall = first && { lease: first, promptTokens: plan.conversation.promptTokens };
    checkStillWanted(tree, run, plan, fee);
  } catch (error) {
    discardRun(tree, run, plan);
    const reason = run.scope.aborted ? new Refused("cancelled", NOT_STARTED) : error;
    // A child that had started before a restart has an end, also when it cannot continue.
    const closed = earlier && tree.earlierRuns?.closeRefused(parent, earlier, reason);
    if (closed !== undefined) return closed;
    throw reason;
  }
  if (earlier === undefined) accountBelow(tree, parent).useExecution();
  tree.parts.spending.childTime.start();
  return startRun(tree, run, plan).then((outcome) => reportOf(run, entry, outcome, tree.parts));
}

/** A child that works elsewhere takes no slot here, and pays for its calls itself. */
async function payAndPlace(tree: TreeState, run: Run, plan: ChildPlan, fee: Fee): Promise<ChildReport> {
  const { parts } = tree;
  const { entry, parent, place } = plan;
  if (parts.placed === undefined) throw new Refused("store", `${entry.path} works on a worker, and there is no engine`);
  const isNew = place === "now";
  await payForStart(fee, isNew);
  checkStillWanted(tree, run, plan, fee);
  if (isNew) accountBelow(tree, parent).useExecution();
  parts.spending.childTime.start();
  using _wait = fee.callId === undefined ? undefined : parent.holding?.wait(fee.callId);
  const outcome = await runPlaced(tree, run, plan, parts.placed);
  return reportOf(run, entry, outcome, parts);
}

/** An execution, a slot and the first call, in one step. Nothing is spent when paying it fails. */
function feeOf(tree: TreeState, run: Run, plan: ChildPlan, { callId, onQueued = ignore }: Queueing): Fee {
  const { parent, scope, earlier } = plan;
  const { spending, asking } = tree.parts;
  const { account, path } = plan.entry;
  return {
    path,
    above: parent.holding,
    callId,
    // After a restart it may have to finish its tools first.
    need: earlier === undefined ? firstNeed(plan) : undefined,
    scope,
    onWait: (limit) => tellBudgetWait(run, limit, asking.journal),
    onRefused: () => run.endWaits(),
    counting: countingOf(tree, plan),
    account,
    childTime: spending.childTime,
    isCounted: earlier !== undefined,
    onAsked: onQueued,
  };
}

/** The need of its first call, or of the prompt to an external agent. */
function firstNeed({ profile, conversation, entry }: ChildPlan): CallNeed {
  const { external } = profile.model;
  if (external === undefined) return callNeed(conversation.promptTokens, profile);
  return externalNeed(conversation.promptTokens, external, entry.budget, entry.account.left());
}

/** The wait may have been long, so the conditions of the start are checked again. */
function checkStillWanted(tree: TreeState, run: Run, { parent, earlier }: ChildPlan, { counting }: Fee): void {
  try {
    run.scope.throwIfAborted();
    checkWrapUp(parent);
    tree.parts.spending.childTime.check();
  } catch (error) {
    if (earlier === undefined) counting.undoExecution();
    throw error;
  }
}

/** A run that wraps up starts nothing more. */
function checkWrapUp(parent: Run): void {
  if (parent.isWrappingUp) throw new Refused("cancelled", NOT_STARTED);
}

/** Counts the start of a child: a call of a model counts for its message, too, and a program does not. */
function countingOf(tree: TreeState, { parent, call }: ChildPlan): Counting {
  const account = accountBelow(tree, parent);
  const { starts } = tree.parts.spending;
  if (starts === undefined || call === undefined || call.callId === FAN_OUT) return account;
  let root = parent;
  while (root.parent !== undefined) root = root.parent;
  return starts.with(account, root.who.runId);
}

/** The account that the children of this run draw on, and that counts their starts. */
function accountBelow({ parts }: TreeState, parent: Run): Account {
  return parent.parent === undefined ? parts.spending.children : parent.account;
}

/** Records a refusal and makes it a reply. Throws what is not a refusal. */
export function refuse(
  { book }: TreeState,
  error: unknown,
  parent: Run,
  { label, path, waited }: { label: string; path: string | undefined; waited?: boolean },
): SpawnReply {
  const refusal = toRefusal(error);
  if (refusal === undefined) throw error;
  const { errorType, message } = refusal;
  // Nothing is recorded after the end of a run.
  if (book.isLive(parent)) {
    const isWaited = waited === true ? true : undefined;
    parent.emit({ type: "spawn-refused", label, childPath: path, waited: isWaited, errorType, message });
  }
  return { kind: "refused", errorType, message };
}
