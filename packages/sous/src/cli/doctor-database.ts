/** What `sous doctor` finds out about the database of runs. */

import { messageOf } from "../core/errors.ts";
import { inspectDatabase } from "./assemble-inspection.ts";
import { type Check, ok, problem, warning } from "./doctor-check.ts";

const NAME = "database";
const MEGABYTE = 1024 * 1024;

export async function checkDatabase(file: string): Promise<Check> {
  try {
    const facts = await inspectDatabase(file);
    if (facts === undefined) return ok(NAME, `none yet at ${file}; the first run makes it`);
    const size = `${(facts.bytes / MEGABYTE).toFixed(1)} MB`;
    const found = `${file}: version ${facts.version}, ${size}, ${facts.runs} ${facts.runs === 1 ? "run" : "runs"}`;
    if (facts.damage !== undefined)
      return problem(NAME, `${file} is damaged: ${facts.damage}`, "keep a copy, and give another file with --db-path");
    return facts.isChecked
      ? ok(NAME, found)
      : warning(NAME, `${found}; too large to be checked here`, "sous replay --prune 30d forgets old runs");
  } catch (error) {
    return problem(NAME, messageOf(error), "give another file with --db-path, or move this one away");
  }
}
