/** B3.1: what a model, a tool or a label says does nothing to the terminal of the command, wherever it is shown. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { replay } from "../../../src/app/cli/commands/replay.ts";
import { chooseStyle } from "../../../src/app/cli/terminal/style.ts";
import { liveLines } from "../../../src/app/cli/view/live-lines.ts";
import { plainLine } from "../../../src/app/cli/view/plain-lines.ts";
import { RunTree } from "../../../src/app/cli/view/run-tree.ts";
import type { SousEvent } from "../../../src/core/event.ts";
import { calling, openCommand, saying } from "../../support/attacks/whole-command.ts";

const CODES = "\u001b]0;owned\u0007\u001b[2J\u009b2J\u202e\u2028\u{e0041}\rx";
const ACTS = /[\p{Cc}\p{Cf}\u2028\u2029]/u;

const ROWS: [what: string, answers: object[]][] = [
  ["a tool that there is not", [calling([`t${CODES}`, {}]), saying("Done.")]],
  ["the path of a file", [calling(["read_file", { path: `a${CODES}` }]), saying("Done.")]],
  ["a command that needs approval", [calling(["terminal", { command: `echo ${CODES}` }]), saying("Done.")]],
  ["the label of a child", [calling(["subagent", { label: `l${CODES}`, task_prompt: `t${CODES}` }]), saying("Done.")]],
  ["an answer", [saying(`Done.${CODES}`)]],
];

const style = chooseStyle({ color: "never", isAscii: false, isTerminal: false, env: {} });

/** Every line about the run that a person would see, while it goes on and afterwards. */
function shownOf(events: readonly SousEvent[]): string[] {
  const tree = new RunTree(style.glyphs.arrow);
  return events.flatMap((event) => {
    tree.apply(event);
    const plain = plainLine(event, tree, style);
    return [
      ...(plain === undefined ? [] : [plain]),
      ...liveLines(tree, { now: event.time, columns: 100, maxLines: 30, frame: 0, style }),
    ];
  });
}

suite("B3.1: nothing acts on the terminal", () => {
  for (const [what, answers] of ROWS) {
    test(`B3.1: ${what} does not act on the terminal`, async () => {
      await using command = await openCommand();
      const { events } = await command.run({ sous: answers, "sous/*": [saying(CODES)] });
      const shown = shownOf(events);
      assert.ok(shown.length > 2);
      for (const line of shown) assert.doesNotMatch(line, ACTS);
    });

    test(`B3.1: ${what} does not act on the terminal when it is exported`, async () => {
      await using command = await openCommand();
      const database = join(command.path, "runs.db");
      const { result } = await command.run({ sous: answers, "sous/*": [saying(CODES)] }, { "db-path": database });
      for (const format of ["md", "json", "html"]) {
        const file = join(command.path, `run.${format}`);
        const given = ["--id", result.runId, "--export", format, "--output", file, "--db-path", database];
        assert.equal(await replay(given), 0);
        assert.doesNotMatch(readFileSync(file, "utf8").replaceAll("\n", ""), ACTS);
      }
    });
  }
});
