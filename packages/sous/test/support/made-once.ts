/** Makes in one process what all tests of a run need. */

import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

const POLL_MS = 50;

/** The folder `name` in `shared`: the first process of a run fills it, and the others wait for it. */
export async function madeOnce(shared: string, name: string, fill: (folder: string) => Promise<void>): Promise<string> {
  const done = join(shared, name);
  const failed = join(shared, `${name}-failed`);
  // The claim stays, so that no later process makes it again.
  if (isMine(join(shared, `${name}-claim`))) {
    try {
      const work = join(shared, `${name}-work`);
      mkdirSync(work);
      await fill(work);
      renameSync(work, done);
    } catch (error) {
      writeFileSync(failed, String(error));
      throw error;
    }
  }
  while (!existsSync(done)) {
    if (existsSync(failed)) throw new Error(`Another test could not make ${name}: ${readFileSync(failed, "utf8")}`);
    await pause(POLL_MS);
  }
  return done;
}

function isMine(claim: string): boolean {
  try {
    mkdirSync(claim);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}
