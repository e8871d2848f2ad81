/** Loads a source with its guard removed, to show that the test of that guard can fail. */

import { globSync, readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";

export type Mutation = {
  /** A label of the sources, `// guard: name`: on the line before the guarded statement, or at the end of its first line. */
  guard: string;
  /** The statement that stands there instead; without it the guarded statement is removed. */
  replace?: string;
};

type ChangedFile = { fileUrl: string; text: string };

/** A guarded statement: the lines of a file from `start` up to `end`, the line of the label included. */
type Guarded = { name: string; fileUrl: string; start: number; end: number };

let mutants = 0;

/**
 * Imports the module without the guard. The original and all files that do not lead to the changed one stay as they are and
 * are shared, so `instanceof` works across both. A mutant has an address of its own, which coverage passes over.
 *
 *   const { openLedger } = await importWithout<typeof import("../../src/runtime/budget/ledger.ts")>(
 *     import.meta.resolve("../../src/runtime/budget/ledger.ts"), { guard: "execution-limit" });
 */
export async function importWithout<Module>(moduleUrl: string, mutation: Mutation): Promise<Module> {
  return importChanged(moduleUrl, mutate(mutation));
}

/** Imports the module as it would be with another text in one file that it needs. */
export async function importChanged<Module>(
  moduleUrl: string,
  { fileUrl: changed, text: source }: ChangedFile,
): Promise<Module> {
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

/** The file that has the guard, and its text without the guard. */
export function mutate({ guard, replace = "" }: Mutation): ChangedFile {
  const found = guards().filter(({ name }) => name === guard);
  const [only] = found;
  if (only === undefined || found.length > 1)
    throw new Error(
      `The label "guard: ${guard}" occurs ${found.length} times in the sources; a mutation needs exactly one`,
    );
  const lines = readText(only.fileUrl).split("\n");
  lines.splice(only.start, only.end - only.start, replace);
  return { fileUrl: only.fileUrl, text: lines.join("\n") };
}

/** Every label of the sources. */
export function guards(): Guarded[] {
  const root = new URL("../../src/", import.meta.url);
  return globSync("**/*.ts", { cwd: root }).flatMap((path) => guardsIn(new URL(path, root).href));
}

function guardsIn(fileUrl: string): Guarded[] {
  const text = readText(fileUrl);
  if (!text.includes(" guard: ")) return [];
  const lines = text.split("\n");
  return lines.flatMap((line, start) => {
    // `#` in the texts that are programs of the shell.
    const [, code, name] = /^(.*?)(?:\/\/|#) guard: (\S+)$/.exec(line) ?? [];
    if (code === undefined || name === undefined) return [];
    const first = code.trim() === "" ? start + 1 : start;
    return { name, fileUrl, start, end: endOfStatement(lines, first) };
  });
}

/** The formatter indents what belongs to a statement; only closing brackets and `else` stand as far left as its first line. */
function endOfStatement(lines: readonly string[], first: number): number {
  const indent = /^ */.exec(lines[first] ?? "")?.[0] ?? "";
  const belongs = new RegExp(`^(?:${indent}(?: |[)}\\]]|else\\b)|$)`);
  let end = first + 1;
  while (end < lines.length && belongs.test(lines[end] ?? "")) end += 1;
  return end;
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
