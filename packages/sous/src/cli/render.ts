/** Shows a run while it happens: one renderer, one frame clock, a bounded region that is drawn over; or plain lines. */

import type { Clock } from "../core/clock.ts";
import type { EventListener, SousEvent } from "../core/event.ts";
import type { RunHandle } from "../core/runtime.ts";
import { liveLines } from "./live-lines.ts";
import { plainLine } from "./plain-lines.ts";
import { RunTree } from "./run-tree.ts";
import type { Style } from "./style.ts";
import { breakLine } from "./width.ts";
import { wrappedRows } from "./wrapped-rows.ts";

/** Where it is drawn; a terminal's stream fits. */
export type Screen = { write(text: string): unknown; columns?: number | undefined; rows?: number | undefined };

/** Disposing it takes the live region away and leaves the terminal as it was. */
export type Renderer = Disposable & {
  readonly tree: RunTree;
  onEvent: EventListener;
  /** From now on rows tell how the limits of this run stand, not how they stood. */
  follow(run: SpendingSource): void;
};

type SpendingSource = Pick<RunHandle, "spending">;

/** 12.5 frames a second. */
const FRAME_MS = 80;
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

const HIDE_CURSOR = "\u001b[?25l";
const SHOW_CURSOR = "\u001b[?25h";
// The terminal shows what lies between these at once, so that no half-drawn frame is seen.
const BEGIN_FRAME = "\u001b[?2026h";
const END_FRAME = "\u001b[?2026l";
const ERASE_REST_OF_LINE = "\u001b[K";
const ERASE_BELOW = "\u001b[J";

function liveRenderer(screen: Screen, style: Style, clock: Clock, tree: RunTree): Renderer {
  let drawn: readonly string[] = [];
  let frame = 0;
  let timer: Disposable | undefined;
  let followed: SpendingSource | undefined;
  /** Lines that stay above the region; written with the next frame. */
  let lasting: string[] = [];

  const width = (): number => Math.max(20, screen.columns ?? 80);

  const draw = (): void => {
    const columns = width();
    const maxLines = Math.max(2, Math.min(MAX_LINES, (screen.rows ?? 24) - 2));
    // One column stays free: a terminal wraps a line that fills it.
    const limits = followed?.spending().limits;
    const lines = liveLines(tree, { now: clock.now(), columns: columns - 1, maxLines, frame, style, limits });
    frame += 1;
    const text = [...lasting, ...lines].map((line) => line + ERASE_REST_OF_LINE).join("\n");
    lasting = [];
    // Never from the very top: some terminals keep a screen that is erased as a whole in their scrollback.
    screen.write(`${BEGIN_FRAME}${upBy(wrappedRows(drawn, columns))}${text}\n${ERASE_BELOW}${END_FRAME}`);
    drawn = lines;
    timer = clock.timer(FRAME_MS, draw);
  };

  return {
    tree,
    onEvent(event) {
      tree.apply(event);
      // A row would be drawn over before it is read.
      if (event.type === "budget-near") lasting.push(...lastingLines(event, tree, style, width() - 1));
      if (timer !== undefined) return;
      screen.write(HIDE_CURSOR);
      draw();
    },
    follow(run) {
      followed = run;
    },
    [Symbol.dispose]() {
      if (timer === undefined) return;
      timer[Symbol.dispose]();
      timer = undefined;
      const height = wrappedRows(drawn, width());
      screen.write(upBy(height) + `${ERASE_REST_OF_LINE}\n`.repeat(height) + upBy(height) + SHOW_CURSOR);
      for (const line of lasting) screen.write(`${line}\n`);
      lasting = [];
      // Events may still come: then it begins anew, below whatever was written meanwhile.
      drawn = [];
    },
  };
}

/** Broken between words, as a terminal would not. */
function lastingLines(event: SousEvent, tree: RunTree, style: Style, columns: number): string[] {
  const line = plainLine(event, tree, { ...style, paint: (_, text) => text });
  return line === undefined ? [] : breakLine(line, columns).map((each) => style.paint("yellow", each));
}

function upBy(rows: number): string {
  return rows === 0 ? "" : `\r\u001b[${rows}A`;
}
