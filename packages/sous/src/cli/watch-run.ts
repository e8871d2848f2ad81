/** Runs a tree and shows it on stderr while it happens, unless nobody wants to see it. */

import type { Clock } from "../core/clock.ts";
import type { EventListener, StoredEvent } from "../core/event.ts";
import { RunError, type RunHandle, type RunResult } from "../core/runtime.ts";
import { type Renderer, startRenderer } from "./render.ts";
import { RunTree } from "./run-tree.ts";
import type { Style } from "./style.ts";

export type WatchedRun = {
  clock: Clock;
  /** Undefined when nothing is shown. */
  style: Style | undefined;
  /** What happened before this process: seen in the tree, and not told again. */
  earlier: Iterable<StoredEvent>;
  start(onEvent: EventListener): PromiseLike<RunResult> & Partial<Pick<RunHandle, "spending">>;
};

/** `cause` is what was thrown when it failed. */
export type Watched = { result: RunResult; tree: RunTree; cause: unknown };

/** When this returns, the terminal is as it was. */
export async function watchRun({ clock, style, earlier, start }: WatchedRun): Promise<Watched> {
  using renderer = style === undefined ? blindRenderer() : startRenderer(process.stderr, style, clock);
  const { tree } = renderer;
  for (const event of earlier) tree.apply(event);
  // Whoever goes on says so.
  tree.interrupt();
  try {
    const run = start(renderer.onEvent);
    const { spending } = run;
    if (spending !== undefined) renderer.follow({ spending });
    return { result: await run, tree, cause: undefined };
  } catch (error) {
    if (error instanceof RunError) return { result: error.result, tree, cause: error.cause };
    throw error;
  }
}

function blindRenderer(): Renderer {
  const tree = new RunTree("");
  return { tree, onEvent: (event) => tree.apply(event), follow: () => {}, [Symbol.dispose]: () => {} };
}
