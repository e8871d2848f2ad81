/** A run while it happens, shown on stderr as a live region or as plain lines. */

import type { Clock } from "../../../core/clock.ts";
import type { EventListener, StoredEvent } from "../../../core/event.ts";
import type { RunHandle, RunResult } from "../../../core/runtime.ts";
import type { RunFlags } from "../table/run-flags.ts";
import { LiveScreen, type Screen } from "../terminal/live-screen.ts";
import type { Style } from "../terminal/style.ts";
import { liveLines } from "../view/live-lines.ts";
import { plainLine, warningLines } from "../view/plain-lines.ts";
import { RunTree } from "../view/run-tree.ts";
import type { RunLog } from "./log.ts";

/** Disposing it takes the live region away and leaves the terminal as it was. */
export type Renderer = Disposable & {
  readonly tree: RunTree;
  onEvent: EventListener;
  /** Makes rows show how the limits of this run stand, not how they stood. */
  follow(run: SpendingSource): void;
};

type SpendingSource = Pick<RunHandle, "spending">;

const MAX_LINES = 24;

/** Without a style nothing is shown. */
export function startRenderer(screen: Screen, style: Style | undefined, clock: Clock): Renderer {
  const tree = new RunTree(style?.glyphs.arrow ?? "");
  if (style?.isLive === true) return liveRenderer(screen, style, clock, tree);
  return {
    tree,
    onEvent(event) {
      tree.apply(event);
      const line = style && plainLine(event, tree, style);
      if (line !== undefined) screen.write(`${line}\n`);
    },
    follow: () => {},
    [Symbol.dispose]: () => {},
  };
}

function liveRenderer(screen: Screen, style: Style, clock: Clock, tree: RunTree): Renderer {
  let followed: SpendingSource | undefined;
  let frame = 0;
  const live = new LiveScreen({
    screen,
    clock,
    isMoving: () => true,
    draw({ columns, rows }) {
      const maxLines = Math.max(2, Math.min(MAX_LINES, rows - 2));
      const limits = followed?.spending().limits;
      // One column stays free: a terminal wraps a line that fills it.
      const view = { now: clock.now(), columns: columns - 1, maxLines, frame: frame++, style, limits };
      return { lines: liveLines(tree, view) };
    },
  });
  return {
    tree,
    onEvent(event) {
      tree.apply(event);
      // A warning inside the region would be drawn over before it is read.
      if (event.type === "budget-near") live.print(warningLines(event, tree, style, live.size.columns - 1));
      live.refresh();
    },
    follow(run) {
      followed = run;
    },
    // Events may still come: then the region is drawn again, below what was written meanwhile.
    [Symbol.dispose]: () => live.clear(),
  };
}

type WatchedRun = {
  clock: Clock;
  /** Undefined when nothing is shown. */
  style: Style | undefined;
  /** Events from before this process: shown in the tree, and not printed again. */
  earlier?: Iterable<StoredEvent>;
  start(onEvent: EventListener): RunHandle;
  /** Resolves with the result of the run, or what is known when it is no longer waited for. */
  wait?(handle: RunHandle, renderer: Renderer): Promise<RunResult>;
};

/** Leaves the terminal as it was. Throws what is thrown before the run begins, such as a missing key. */
export async function watchRun(run: WatchedRun): Promise<{ result: RunResult; tree: RunTree }> {
  const { clock, style, earlier = [], start, wait = ({ result }) => result } = run;
  using renderer = startRenderer(process.stderr, style, clock);
  const { tree } = renderer;
  for (const event of earlier) tree.apply(event);
  // A run that continues has an event that says so.
  tree.interrupt();
  const handle = start(renderer.onEvent);
  renderer.follow(handle);
  return { result: await wait(handle, renderer), tree };
}

/** The style of progress on stderr; undefined when none is shown, because a log in JSON has no other lines in between. */
export function progressStyle(style: Style, flags: RunFlags["log"], log: RunLog | undefined): Style | undefined {
  const isLogged = log?.isOnStderr === true;
  if (flags.isQuiet || (isLogged && flags.format === "json")) return undefined;
  // A live region and the lines of a log would draw over each other.
  return isLogged ? { ...style, isLive: false } : style;
}
