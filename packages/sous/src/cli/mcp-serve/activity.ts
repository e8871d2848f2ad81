/** What a tree is doing, in one line: `scout: grep retries → 3 lines`. */

import type { EventListener } from "../../core/event.ts";
import { cutToWidth } from "../terminal/text.ts";
import { waitWords } from "../view/limit-lines.ts";
import { RunTree } from "../view/run-tree.ts";

const COLUMNS = 200;

/** Calls `show` with the activity of the run that an event is about: the root, or any child. */
export function activityLines(show: (line: string) => void): EventListener {
  const tree = new RunTree("→");
  return (event) => {
    tree.apply(event);
    const node = tree.get(event.runId);
    if (node === undefined) return;
    const doing = node.waitsFor === undefined ? node.activity + node.result : waitWords(node.waitsFor);
    const words = `${node.label}: ${doing}`.split(" ").filter((word) => word !== "");
    show(cutToWidth(words.join(" "), COLUMNS));
  };
}
