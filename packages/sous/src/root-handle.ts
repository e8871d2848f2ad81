/** The handle of a root: awaited, iterated and talked to while its tree runs, and followed up afterwards. */

import { UserError } from "./core/errors.ts";
import { makeHandle } from "./core/handle.ts";
import { messageFrom, textFrom, type UserMessage } from "./core/message.ts";
import { Cancelled } from "./core/run.ts";
import type { RunHandle } from "./core/runtime.ts";
import { Scope } from "./core/scope.ts";
import { type EventIteration, iterateEvents } from "./events/iterate.ts";
import { watchSilence } from "./loop/watch-silence.ts";
import type { OpenTree } from "./open-tree.ts";
import { rootResult, settle } from "./results.ts";
import { watchTreeTime } from "./spending-state.ts";
import type { AgentEntry } from "./subagents/agent-book.ts";
import { stopRun } from "./subagents/child-control.ts";
import type { Tree } from "./tree.ts";
import type { RootStart } from "./tree-parts.ts";

/** What the run begins with besides its task. */
type Beginning = Pick<RootStart, "origin" | "earlier" | "summarizes">;

/** `entry` is the root of the tree; `beginning` says what the run goes on from, when that is not its own last run. */
export function rootHandle<Output>(
  opened: OpenTree,
  runId: string,
  entry: Promise<AgentEntry>,
  task: UserMessage,
  beginning: Beginning = {},
): RunHandle<Output> {
  const { tree, journal, store, rootId } = opened;
  const iterations = new Set<EventIteration>();
  const scope = new Scope();
  let isOver = false;
  const result = entry
    .then((root) => runOnce(opened, scope, () => tree.runRoot(root, { runId, task, scope, ...beginning })))
    .then(({ run: ended, outcome }) => settle<Output>(rootResult(ended, outcome, tree), ended.cause))
    .finally(() => {
      isOver = true;
      for (const each of iterations) each.finish();
      iterations.clear();
    });
  opened.last = result.then(ignore, ignore);
  return makeHandle<Output>({
    id: runId,
    result,
    iterate() {
      const iterator = iterateEvents({ journal, store, rootId, runId });
      if (isOver) iterator.finish();
      else iterations.add(iterator);
      return iterator;
    },
    steer(path, text) {
      const live = tree.book.at(path)?.run;
      live?.receive({ kind: "steer", text: textFrom(text) });
      return live !== undefined;
    },
    cancel(path, { mode = "stop" } = {}) {
      const live = path === undefined ? tree.book.get(rootId)?.run : tree.book.at(path)?.run;
      const isMeant = path !== undefined || live?.who.runId === runId;
      if (live !== undefined && isMeant) stopRun(live, mode, tree.book);
      else if (path !== undefined || isOver) return false;
      // It may be told to stop before it has begun.
      else scope.abort(new Cancelled("The run was cancelled"));
      return true;
    },
    spending: () => tree.spending(),
    send: (path, message) => sendTo(tree, path, message),
    followUp(next, { summarizes } = {}) {
      const previous = opened.last.then(() => entry);
      return rootHandle<Output>(opened, opened.newId(), previous, messageFrom(next), { summarizes });
    },
  });
}

/** Links the caller's signal and watches for silence while the root runs; nothing is left behind after it. */
export async function runOnce<T>(opened: OpenTree, scope: Scope, work: () => Promise<T>): Promise<T> {
  const { runOptions, tree, deadlines } = opened;
  const { signal } = runOptions;
  const stop = () => scope.abort(new Cancelled("The run was cancelled"));
  if (signal?.aborted) stop();
  else signal?.addEventListener("abort", stop, { once: true });
  using _watch = watchSilence(() => tree.book.live, deadlines);
  using _time = watchTreeTime(opened);
  try {
    return await work();
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}

async function sendTo(tree: Tree, path: string, message: string): Promise<string> {
  textFrom(message);
  const entry = tree.book.at(path);
  const parent = entry?.parent?.run;
  if (entry === undefined) throw new UserError(`No agent at ${path}`);
  if (entry.parent === undefined)
    throw new UserError(`${path} is the root: use steer() while it runs, then followUp()`);
  if (parent === undefined) throw new UserError(`The parent of ${path} has ended: continue the root with followUp()`);
  const reply = await tree.childrenOf(parent, undefined).send(entry.agentId, message);
  if (reply.kind === "refused") throw new UserError(reply.message);
  return reply.kind === "ended" ? tree.redactor.text(reply.report.outcome.text) : "";
}

function ignore(): void {}
