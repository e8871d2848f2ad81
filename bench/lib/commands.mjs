/** W6: how long the command takes to say its version and how it is used, against a process that does nothing. */

import { join } from "node:path";
import { BARE } from "./cold-import.mjs";
import { COMMAND } from "./pairs.mjs";
import { timeBareNode, timeProcess } from "./timed-process.mjs";

/** What must be in the answer. */
const ASKED = { version: /^\d+\.\d+\.\d+/, help: /^  sous run /m };

/**
 * @param {string} folder The folder of the benchmark.
 * @returns {import("./rounds.mjs").Measurement[]}
 */
export function measureCommands(folder, rounds) {
  const main = join(folder, "../packages/sous/dist/app/cli/main.js");
  const measured = [];
  // Round 0 only warms the disk cache.
  for (let round = 0; round <= rounds; round++) {
    const { milliseconds: bare } = timeBareNode(folder);
    const all = [{ column: BARE, figures: { version: bare, help: bare } }];
    for (const [figure, expected] of Object.entries(ASKED)) {
      const { milliseconds, stdout, error } = timeProcess([main, `--${figure}`], folder);
      if (error !== undefined) all.push({ column: COMMAND, error });
      else if (expected.test(stdout)) all.push({ column: COMMAND, figures: { [figure]: milliseconds } });
      else all.push({ column: COMMAND, error: `--${figure} printed ${JSON.stringify(stdout.slice(0, 100))}` });
    }
    if (round > 0) measured.push(...all.map((one) => ({ job: "W6", round, ...one })));
  }
  return measured;
}
