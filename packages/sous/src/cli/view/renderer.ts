/** Shows a run while it happens: one renderer, one frame clock, a bounded region that is drawn over; or plain lines. */

import type { Clock } from "../../core/clock.ts";
import type { EventListener, SousEvent } from "../../core/event.ts";
import type { RunHandle } from "../../core/runtime.ts";
import { LiveScreen, type Screen } from "../terminal/live-screen.ts";
import type { Style } from "../terminal/style.ts";
import { breakLine } from "../terminal/width.ts";
import { liveLines } from "./live-lines.ts";
import { plainLine } from "./plain-lines.ts";
import { RunTree } from "./run-tree.ts";

/** Disposing it takes the live region away and leaves the terminal as it was. */
export type Renderer = Disposable & {
  readonly tree: RunTree;
  onEvent: EventListener;
  /** From now on rows tell how the limits of this run stand, not how they stood. */
  follow(run: SpendingSource): void;
};

type SpendingSource = Pick<RunHandle, "spending">;

const MAX_LINES = 24;

export function startRenderer(screen: Screen, style: Style, clock: Clock): Renderer {
  const tree = new RunTree(style.glyphs.arrow);
  if (style.isLive) return liveRenderer(screen, style, clock, tree);
  return {
    tree,
    onEvent(event) {
      tree.apply(event);
      const line = plainLine(event, tree, style);
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
      // In the region it would be drawn over before it is read.
      if (event.type === "budget-near") live.print(lastingLines(event, tree, style, live.size.columns - 1));
      live.refresh();
    },
    follow(run) {
      followed = run;
    },
    // Events may still come: then the region is drawn again, below what was written meanwhile.
    [Symbol.dispose]: () => live.clear(),
  };
}

/** Broken between words, as a terminal would not. */
function lastingLines(event: SousEvent, tree: RunTree, style: Style, columns: number): string[] {
  const line = plainLine(event, tree, { ...style, paint: (_, text) => text });
  return line === undefined ? [] : breakLine(line, columns).map((each) => style.paint("yellow", each));
}
