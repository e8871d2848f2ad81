/** B8.2: databases in which one value was changed, and every command that reads runs, in a process of its own. */

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { CraftedRows } from "../support/storage/store/crafted-rows.ts";

const SCRIPT = join(import.meta.dirname, "../support/storage/store/crafted-rows.ts");

/** `share` of all values in all columns and fields: there are about 8,000. */
export async function runCraftedRows({ seed, share }: { seed: number; share: number }): Promise<CraftedRows> {
  const args = ["--conditions=sous-source", SCRIPT, String(seed), String(share)];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 64 * 1024 * 1024 });
  return JSON.parse(stdout);
}
