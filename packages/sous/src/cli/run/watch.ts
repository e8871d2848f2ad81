/** Runs a tree and shows it on stderr while it happens, unless `style` is undefined. */

import type { Clock } from "../../core/clock.ts";
import type { EventListener, StoredEvent } from "../../core/event.ts";
import type { RunHandle, RunResult } from "../../core/runtime.ts";
import type { Style } from "../terminal/style.ts";
import { type Renderer, startRenderer } from "../view/renderer.ts";
import { RunTree } from "../view/run-tree.ts";

export type WatchedRun = {
  clock: Clock;
  /** Undefined when nothing is shown. */
  style: Style | undefined;
  /** What happened before this process: shown in the tree, and not printed again. */
  earlier: Iterable<StoredEvent>;
  start(onEvent: EventListener): RunHandle;
};

export type Watched = { result: RunResult; tree: RunTree };

/** When this returns, the terminal is as it was. */
export async function watchRun({ clock, style, earlier, start }: WatchedRun): Promise<Watched> {
  using renderer = style === undefined ? blindRenderer() : startRenderer(process.stderr, style, clock);
  const { tree } = renderer;
  for (const event of earlier) tree.apply(event);
  // A run that continues has an event that says so.
  tree.interrupt();
  const handle = start(renderer.onEvent);
  renderer.follow(handle);
  return { result: await handle.result, tree };
}

function blindRenderer(): Renderer {
  const tree = new RunTree("");
  return { tree, onEvent: (event) => tree.apply(event), follow: () => {}, [Symbol.dispose]: () => {} };
}
