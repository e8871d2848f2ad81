/** The worker's half: continues a run that was placed, from its first event or from where its last worker left it. */

import { type AgentDefinition, agent } from "../../../core/agent.ts";
import type { ApprovalPolicy } from "../../../core/approval.ts";
import type { Mail, TakenJournal } from "../../../core/engine.ts";
import { messageOf, StaleOwner, StoreError, UserError } from "../../../core/errors.ts";
import type { EventOf } from "../../../core/event.ts";
import type { Model } from "../../../core/model.ts";
import { type Fault, statusOfRefusal } from "../../../core/outcome.ts";
import type { Scope } from "../../../core/scope.ts";
import type { Store } from "../../../core/store.ts";
import type { Work } from "../lifecycle.ts";
import { openTree, type Shared } from "../open.ts";
import { interruptedCalls } from "../restore/as-started.ts";
import { EarlierTree } from "../restore/earlier-tree.ts";
import { GivenAnswers } from "../restore/given-answers.ts";
import { toRunOptions } from "../restore/resume.ts";
import { RootRun } from "../root-run.ts";
import type { PlacedRuns } from "./placed-runs.ts";
import { RemoteAnswers } from "./remote-answers.ts";

export type WorkParts = Omit<Shared, "runOptions"> & { readonly placed: PlacedRuns };

export type WorkOptions = {
  /** The name of the worker, as the journal has it. */
  readonly worker: string;
  /** When it aborts, the journal is given back as it is: nothing is cancelled. */
  readonly leaving?: Scope | undefined;
  /** Called when the run is open; the function says whether everything in it waits for runs that work elsewhere. */
  readonly onOpen?: ((isWaiting: () => boolean) => void) | undefined;
  /** The run is ended with this fault, instead of being continued. */
  readonly fault?: Fault | undefined;
};

/** `left`: it was given back, or another worker has taken it over. */
export type WorkEnd = "ended" | "parked" | "left";

/** A run that came no further in this many takings is ended: it may be what kills its workers. */
const MAX_CLAIMS = 5;

/**
 * Continues the run of a journal that this process has claimed. Throws what keeps this process from beginning it, such as a missing
 * key, and gives it back; the last time the run ends with that.
 */
export async function workOn(parts: WorkParts, taken: TakenJournal, options: WorkOptions): Promise<WorkEnd> {
  const { claims } = taken;
  try {
    return await workOnTaken(parts, taken, options);
  } catch (error) {
    // A store that is away says nothing of the run.
    if (claims >= MAX_CLAIMS && options.fault === undefined && !(error instanceof StoreError))
      return await workOn(parts, taken, { ...options, fault: notBegun(options.worker, error) });
    await release(parts.store, taken);
    throw error;
  }
}

async function workOnTaken(parts: WorkParts, taken: TakenJournal, options: WorkOptions): Promise<WorkEnd> {
  const { journalId, fence } = taken;
  // It hears what was said before it begins, and one that was stopped asks no one.
  const early: [Mail, boolean][] = [];
  let receive = (...mail: [Mail, boolean]): void => void early.push(mail);
  using mail = parts.placed.mail.receive(journalId, (...given) => receive(...given));
  await mail.looked;
  const opened = await openTaken(parts, taken, options);
  if (opened === undefined) {
    await parts.store.release(journalId, fence);
    return "ended";
  }
  const { tree, run, journal, answers } = opened;
  options.onOpen?.(() => tree.tree.book.isWaitingElsewhere);
  receive = (given, isOld) => {
    if (!isOld || !isLater(given)) deliver(given, run, answers, tree.earlier.mail);
  };
  for (const given of early) receive(...given);
  // The journal goes back as it stands: the next worker continues from there.
  using _leaving = options.leaving?.onAbort(() => {
    void journal.leave("The worker was stopped and gave the run back").then(() => run.cancel(undefined, "stop"));
  });
  const { cause } = await run.ended;
  if (tree.tree.isParked) return "parked";
  if (!(cause instanceof StaleOwner) && journal.degraded === undefined) return "ended";
  // Free before this is said: another one may take it at once.
  await release(parts.store, taken);
  return "left";
}

/** For a run that did not begin here. What cannot be given back now is free when its lease is over. */
async function release(store: Store, { journalId, fence }: TakenJournal): Promise<void> {
  try {
    await store.release(journalId, fence);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
  }
}

async function openTaken(parts: WorkParts, { journalId, fence, claims }: TakenJournal, options: WorkOptions) {
  const { worker, fault } = options;
  const earlier = await EarlierTree.read(parts.store, journalId);
  const { start, end } = earlier.root.state;
  if (end !== undefined) return undefined;
  if (start.placed === undefined) throw new UserError(`Run ${journalId} was not placed: continue it with resume()`);
  const reason = fault ?? (claims > MAX_CLAIMS ? poisoned(claims) : undefined);
  const definition = await definitionOf(start, parts, reason !== undefined);
  earlier.placed.setEnds(await parts.placed.placing.ends(earlier.placed.ids));
  const answers = new RemoteAnswers();
  // The budgets that it shares are named in its start.
  const terms = start.terms && { ...start.terms, sharedBudget: undefined };
  const runOptions = toRunOptions({ ...start, terms }, {}, parts.options.limits);
  const ask = start.placed.asks === true ? answers.ask : undefined;
  // To end a run no model is asked, and its key may be what is missing.
  const models = reason === undefined ? parts.models : () => neverAsked(start.model);
  const opened = openTree(
    { ...parts, models, runOptions, options: { ...parts.options, approve: askingRemotely(parts.options.approve) } },
    { fence, tree: earlier, answers: new GivenAnswers(earlier.questions), worker: { name: worker, ask } },
  );
  const root = opened.tree.openRoot(opened.rootAgentId, definition);
  const beginning = { runId: journalId, task: start.task, earlier: earlier.root };
  const run = new RootRun(opened, root, beginning, reason && endingWith(reason, earlier));
  return { tree: { tree: opened.tree, earlier }, run, journal: opened.journal, answers };
}

/** The rules are the worker's own. A person is asked at the root of the tree. */
function askingRemotely(approve: WorkParts["options"]["approve"]): ApprovalPolicy | undefined {
  return typeof approve === "object"
    ? { ...approve, decide: (each) => approve.decide(each), ask: undefined }
    : undefined;
}

/** A run that is only ended needs no tools. */
async function definitionOf(
  { agent: name, depth }: Pick<EventOf<"run-start">, "agent" | "depth">,
  { options, roots }: WorkParts,
  isEnding: boolean,
): Promise<AgentDefinition> {
  const root = depth === 0 ? await roots?.definitionOf(name) : undefined;
  const known = root ?? options.agents?.find((each) => each.name === name);
  if (known !== undefined) return known;
  if (isEnding) return agent({ name });
  throw new UserError(`This worker does not know the agent ${name}`);
}

function neverAsked(id: string): Model {
  return { id, answer: () => Promise.reject(new Error(`${id} is not asked to end a run`)) };
}

function notBegun(worker: string, error: unknown): Fault {
  return { type: "crash", message: `The worker ${worker} could not begin this run: ${messageOf(error)}` };
}

function poisoned(claims: number): Fault {
  const message = `${claims - 1} workers took this run one after the other, and it came no further in any of them`;
  return { type: "crash", message };
}

/** Ends the run as it stands: the children that it had here, and the calls that were open. */
function endingWith(fault: Fault, { root }: EarlierTree): Work {
  return async (run) => {
    for (const body of interruptedCalls(root.state)) run.emit(body);
    run.tree.closeOrphans(run);
    return { status: statusOfRefusal(fault.type), fault };
  };
}

/** A question that was put off is put to the person again by each worker. */
function isLater({ body }: Mail): boolean {
  return body.kind === "answer" && body.answer === "later";
}

/** A message that is in the journal was acted on. A stop holds for as long as the run has no end. */
function deliver({ id, body }: Mail, run: RootRun, answers: RemoteAnswers, known: ReadonlySet<number>): void {
  const by = "callId" in body && body.callId !== undefined ? { mail: id, callId: body.callId } : { mail: id };
  switch (body.kind) {
    case "stop":
      run.cancel(body.path, body.mode, by);
      return;
    case "steer":
      if (!known.has(id)) run.steer(body.path, body.text, by);
      return;
    case "answer":
      answers.take(body);
      return;
    default:
      body satisfies never;
  }
}
