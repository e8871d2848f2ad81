/**
 * R17: the disk fills up while a database is closed, at each page of its last checkpoint in turn. Nothing that was stored is
 * lost: it stays in the log, and the next one that opens the database finishes what was begun.
 */

import { execFile } from "node:child_process";
import { mkdtempSync, rmdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

export type FullDiskOrder = {
  /** Pages that are free when the database is closed: every so many of them. */
  step: number;
  /** Opens databases as they were opened before, to show that it would be noticed. */
  isMutant?: boolean;
};

export type FullDiskResult = {
  trials: number;
  /** How often the disk was full before the checkpoint was done, and left a file that names more pages than it has. */
  cutCheckpoints: number;
  broken: { freePages: number; problems: string[] }[];
};

/** On a small disk of its own, which only the worker sees and which is gone with it. */
export async function runFullDisk(order: FullDiskOrder): Promise<FullDiskResult> {
  const folder = mkdtempSync(join(tmpdir(), "sous-r17-"));
  try {
    const worker = new URL("r17-full-disk-worker.ts", import.meta.url).pathname;
    const mount = 'mount -t tmpfs -o size=4m tmpfs "$1" && shift && exec "$@"';
    const node = [process.execPath, "--conditions=sous-source", worker, folder, JSON.stringify(order)];
    const environment = { ...process.env, NODE_OPTIONS: "", NODE_V8_COVERAGE: "" };
    const { stdout } = await promisify(execFile)("unshare", ["-rm", "sh", "-c", mount, "sh", folder, ...node], {
      env: environment,
      maxBuffer: 2 ** 26,
    });
    return JSON.parse(stdout) as FullDiskResult;
  } finally {
    rmdirSync(folder);
  }
}
