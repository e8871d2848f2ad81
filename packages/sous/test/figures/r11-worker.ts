/** Sweeps failing writes in a process of its own, because files it writes are limited on the way. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { importStore, WAYS } from "./r11-faults.ts";
import { EMPTY, MODES, runWithFault } from "./r11-run.ts";
import type { SweepOrder, SweepResult } from "./r11-writes.ts";

const order = JSON.parse(process.argv[2] ?? "") as SweepOrder;
const folder = mkdtempSync(join(tmpdir(), "sous-r11-"));
const result: SweepResult = { runs: 0, writes: 0, failed: {}, broken: [] };
try {
  const { openSqliteStore: open } = await importStore();
  await (await open(join(folder, EMPTY)))[Symbol.asyncDispose]();
  for (const write of order.writes) {
    for (const way of WAYS) {
      for (const mode of MODES) {
        const run = await runWithFault({ write, way, mode, folder, turns: order.turns, open });
        result.runs += 1;
        result.writes = Math.max(result.writes, run.writes);
        if (run.hasFailed) result.failed[way] = (result.failed[way] ?? 0) + 1;
        if (run.problems.length > 0) result.broken.push({ write, way, mode, problems: run.problems.slice(0, 5) });
      }
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
process.stdout.write(JSON.stringify(result));
