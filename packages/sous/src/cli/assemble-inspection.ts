/** What `sous doctor` may know about parts that other folders own. Nothing is started, written or asked for. */

import type { ModelDescription } from "../model/resolve.ts";
import type { DatabaseFacts } from "../store/sqlite-inspect.ts";

export type { ModelDescription } from "../model/resolve.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Undefined when there is none. Throws a `UserError` or a `StoreError` that says why it cannot be used. */
export async function inspectDatabase(file: string): Promise<DatabaseFacts | undefined> {
  const { inspectDatabase: inspect } = await import("../store/sqlite-inspect.ts");
  return inspect(file);
}

/** Undefined for a model whose answers come from a file. Throws a `UserError` for a name that leads to no model. */
export async function inspectModel(
  choice: string,
  env: Environment,
  baseUrl: string | undefined,
): Promise<ModelDescription | undefined> {
  if (choice.startsWith("script/")) return undefined;
  const { describeModel } = await import("../model/resolve.ts");
  return describeModel(choice, env, { baseUrl });
}

/** Where programs are found in PATH, by name; undefined for what is not there. */
export async function findPrograms<Name extends string>(
  names: readonly Name[],
  env: Environment,
): Promise<Record<Name, string | undefined>> {
  const { openPrograms } = await import("../process/programs.ts");
  // Without a folder for its records it looks for no leftovers, and ends none.
  await using programs = openPrograms({ environment: env });
  const found = await Promise.all(names.map(async (name) => [name, await programs.find(name)] as const));
  return Object.fromEntries(found) as Record<Name, string | undefined>;
}

/** How many processes are left of runs whose own process is gone. */
export async function countLeftovers(stateFolder: string): Promise<number> {
  const { countLeftovers: count } = await import("../process/group-record.ts");
  return count(stateFolder);
}
