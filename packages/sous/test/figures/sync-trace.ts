/**
 * Shows by a trace of system calls that with `synchronous: "full"` the log of the database is on the disk before an append
 * returns: between the last write to the log and the acknowledgement there is a sync of it.
 */

import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

export type SyncFigure = {
  acknowledged: number;
  /** Acknowledgements with a write to the log behind the last sync of it. */
  unsynced: number;
  /** How many syncs of the log there were. */
  syncs: number;
};

/** Throws when there is no `strace`. */
export async function traceSyncs(synchronous: "normal" | "full"): Promise<SyncFigure> {
  const folder = mkdtempSync(join(tmpdir(), "sous-sync-"));
  try {
    const trace = join(folder, "trace");
    const worker = new URL("sync-worker.ts", import.meta.url).pathname;
    // `-y` names the file of each descriptor.
    const watched = [
      "-f",
      "-y",
      "-o",
      trace,
      "-e",
      "trace=fsync,fdatasync,sync_file_range,write,pwrite64,writev,pwritev",
    ];
    const program = [process.execPath, "--conditions=sous-source", worker, join(folder, "runs.db"), synchronous];
    const environment = { ...process.env, NODE_OPTIONS: "", NODE_V8_COVERAGE: "" };
    await promisify(execFile)("strace", [...watched, "--", ...program], { env: environment });
    return readTrace(readFileSync(trace, "utf8"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    throw new Error("strace is not there: install it (apt-get install strace) and measure again", { cause: error });
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

function readTrace(trace: string): SyncFigure {
  const figure: SyncFigure = { acknowledged: 0, unsynced: 0, syncs: 0 };
  let isOnDisk = false;
  for (const line of trace.split("\n")) {
    if (/ p?writev?(?:64)?\(\d+<[^>]*-wal>/.test(line)) isOnDisk = false;
    if (/ (?:fsync|fdatasync)\(\d+<[^>]*-wal>/.test(line)) {
      isOnDisk = true;
      figure.syncs += 1;
    }
    if (/ write\(2<[^>]*>, "acknowledged /.test(line)) {
      figure.acknowledged += 1;
      if (!isOnDisk) figure.unsynced += 1;
    }
  }
  return figure;
}
