/** Loads a source with its guard removed, to show that the test of that guard can fail. */

import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";

export type Mutation = {
  /** Must occur exactly once, or the check would show nothing. */
  find: string;
  replace: string;
  /** The file that is changed, if it is not the one that is imported: everything on the way to it is loaded anew. */
  in?: string;
};

let mutants = 0;

/**
 * Imports the module with the text replaced. The original and all files that do not lead to the changed one stay as they
 * are and are shared, so `instanceof` works across both. A mutant has an address of its own, which coverage passes over.
 *
 *   const { openLedger } = await importWithout<typeof import("../../src/budget/ledger.ts")>(
 *     import.meta.resolve("../../src/budget/ledger.ts"), { find: "this.#isOpen = false;", replace: "" });
 */
export async function importWithout<Module>(moduleUrl: string, mutation: Mutation): Promise<Module> {
  const changed = mutation.in ?? moduleUrl;
  const source = mutate(changed, mutation);
  mutants += 1;
  const origin = `mutant://${mutants}`;
  const leadsToChange = graphSearch(changed);
  if (!leadsToChange(moduleUrl))
    throw new Error(`${moduleUrl} does not import ${changed}; the mutation would change nothing`);
  registerHooks({
    resolve(specifier, context, nextResolve) {
      if (specifier.startsWith(`${origin}/`))
        return { url: specifier, format: "module-typescript", shortCircuit: true };
      if (!context.parentURL?.startsWith(`${origin}/`)) return nextResolve(specifier, context);
      const resolved = nextResolve(specifier, { ...context, parentURL: context.parentURL.replace(origin, "file://") });
      if (!leadsToChange(resolved.url)) return resolved;
      return { url: resolved.url.replace("file://", origin), format: "module-typescript", shortCircuit: true };
    },
    load(url, context, nextLoad) {
      if (!url.startsWith(`${origin}/`)) return nextLoad(url, context);
      const file = url.replace(origin, "file://");
      const text = file === changed ? source : readText(file);
      return { source: text, format: "module-typescript", shortCircuit: true };
    },
  });
  return await import(moduleUrl.replace("file://", origin));
}

/** The text of the file with the change in it. */
export function mutate(fileUrl: string, { find, replace }: Mutation): string {
  const pieces = readText(fileUrl).split(find);
  if (pieces.length !== 2) {
    throw new Error(
      `${JSON.stringify(find)} occurs ${pieces.length - 1} times in ${fileUrl}; a mutation needs exactly one`,
    );
  }
  return pieces.join(replace);
}

/** Tells whether a file is the target or imports it, directly or not. */
function graphSearch(target: string): (fileUrl: string) => boolean {
  const known = new Map<string, boolean>([[target, true]]);
  return function leads(fileUrl: string): boolean {
    const answer = known.get(fileUrl);
    if (answer !== undefined || !fileUrl.endsWith(".ts")) return answer ?? false;
    const found = relativeImports(readText(fileUrl)).some((path) => leads(new URL(path, fileUrl).href));
    known.set(fileUrl, found);
    return found;
  };
}

/** Types are gone when the file runs, and only they may go round in circles. */
function relativeImports(text: string): string[] {
  const running = text.replace(/^(?:import|export) type [^;]*;/gm, "");
  return [...running.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)].map((match) => match[1] ?? "");
}

function readText(fileUrl: string): string {
  return readFileSync(fileURLToPath(fileUrl), "utf8");
}
