/** The exact counts of the built package, by the programs of `bench/`, in a process of their own. */

import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { bundles } from "../../../../scripts/build.ts";
import { rootFolder } from "./source-files.ts";
import type { COUNTS } from "./speed-table.ts";

export type SpeedCounts = {
  readonly counts: typeof COUNTS;
  /** Of a live child. */
  readonly functions: number;
  readonly heapKilobytes: number;
  readonly survivors: number;
};

/** `dist` is a bundle of the package. */
export async function countSpeed(dist: string): Promise<SpeedCounts> {
  const flags = ["--expose-gc", "--min-semi-space-size=32", "--max-semi-space-size=32", "--no-warnings"];
  const parameters = [...flags, join(rootFolder, "bench/lib/exact-worker.mjs"), "peers/sous/ai-sdk.mjs"];
  const env = { ...process.env, SOUS_DIST: dist, NODE_OPTIONS: "", NODE_V8_COVERAGE: "" };
  const { stdout } = await promisify(execFile)(process.execPath, parameters, { env });
  return JSON.parse(stdout) as SpeedCounts;
}

/** The bundle that `npm test` has made for the tests that start the command, or one made now. */
export async function builtPackage(): Promise<{ readonly dist: string } & Disposable> {
  const command = process.env.SOUS_TEST_COMMAND;
  if (command !== undefined) return { dist: resolve(command, "../../.."), [Symbol.dispose]: () => {} };
  const folder = mkdtempSync(join(tmpdir(), "sous-speed-"));
  const dist = join(folder, "dist");
  await bundles(dist);
  return { dist, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }) };
}
