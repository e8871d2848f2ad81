/** The mutation sample of this repository: which sources are changed, which tests are asked, and what is printed. */

import { EQUIVALENTS } from "../../support/mutation-equivalents.ts";
import { rootFolder, sourceFiles } from "../../support/source-files.ts";
import type { SourceFile } from "../../support/star.ts";
import { drawMutants, type Judged, judgeMutants, type MutationFigure, testsIn } from "./sample.ts";
import { applyMutant, type Mutant, type MutationKind, mutantsIn, parses } from "./sites.ts";
import { isIsolated, type Repository } from "./workshop.ts";

/** Test files that read the sources or measure them: they would notice a change of the text, not of what it does. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  "figures/mutation/": "changes sources itself",
  "system/core/new-words.test.ts": "rewrites the sources of words",
  "system/coverage.test.ts": "loads every source and looks at nothing",
  "system/docs/": "compares pages with the sources",
  "unit/mutation.test.ts": "changes sources itself",
  "system/speed.test.ts": "counts promises, which every change of a path changes",
  "system/storage/store/run-columns.test.ts": "rewrites the sources of columns",
  "system/pack.test.ts": "builds the package from a clean checkout",
  "unit/app/config/new-agent-key.test.ts": "rewrites the sources of agent files",
  "unit/app/config/new-limit.test.ts": "rewrites the sources of limits",
  "unit/architecture.test.ts": "reads the imports of the sources",
  "unit/core/new-event.test.ts": "rewrites the sources of events",
  "unit/core/outcomes.test.ts": "rewrites the sources of outcomes",
  "unit/core/tools.test.ts": "rewrites the sources of tools",
  "unit/docs/": "compares pages with the sources",
  "unit/exports.test.ts": "compares the list of exports",
  "unit/inventory/": "lists the expressions of the sources",
  "unit/lockfile.test.ts": "reads the lockfile",
  "unit/public-types.test.ts": "reads the signatures of the sources",
  "unit/storage/store/event-versions.test.ts": "rewrites the sources of events",
};

const PACKAGE = "packages/sous";

/** Of the linter only the rules about promises are asked: others could notice how a change reads, not what it does. */
const CHECKS: Repository["checks"] = [
  ["node_modules/.bin/tsc", "--noEmit"],
  [
    "node_modules/.bin/biome",
    "lint",
    "--only=nursery/noFloatingPromises",
    "--only=nursery/noMisusedPromises",
    `${PACKAGE}/src`,
  ],
];

/** Draws each kind equally often. Prints each mutant that no test notices. */
export async function measureMutants(options: { seed: number; count: number; lanes: number }): Promise<MutationFigure> {
  const sources = measuredSources();
  return await judge(sources, drawMutants(sources, options.seed, options.count), options.lanes);
}

/** What releases something whether or not the work before it fails: each of them is dropped. */
const RELEASES: readonly MutationKind[] = ["drop a finally", "drop a using", "empty a disposal"];

/** Drops every `finally`, `using` and disposal of the sources. Prints each verdict as it comes: the whole takes hours. */
export async function measureClosings({ lanes }: { lanes: number }): Promise<MutationFigure> {
  const sources = measuredSources();
  const mutants = sources.flatMap((source) =>
    mutantsIn(source).filter(
      (mutant) => RELEASES.includes(mutant.kind) && parses(mutant.path, applyMutant(source.text, mutant)),
    ),
  );
  return await judge(sources, mutants, lanes, () => true);
}

/** What tests are made of is not what they test. */
function measuredSources(): SourceFile[] {
  return sourceFiles().filter(({ path }) => !/^testing[./]/.test(path));
}

async function judge(
  sources: readonly SourceFile[],
  mutants: readonly Mutant[],
  lanes: number,
  isPrinted = ({ verdict }: Judged) => verdict === "survived" || verdict === "unreached",
): Promise<MutationFigure> {
  if (!isIsolated) console.log("Without unshare a mutant can send signals to other processes of this machine.");
  const repository = { root: rootFolder, packageFolder: PACKAGE, checks: CHECKS };
  return await judgeMutants({
    repository,
    sources,
    tests: testsIn(repository, Object.keys(LEFT_OUT)),
    mutants,
    equivalents: EQUIVALENTS,
    lanes,
    onJudged: (judged) => {
      if (isPrinted(judged)) console.log(inOneLine(judged));
    },
  });
}

function inOneLine({ mutant, verdict, by, reachedBy }: Judged): string {
  const { path, line, kind, before, after } = mutant;
  const files = by ?? (reachedBy === 1 ? "1 test file reaches it" : `${reachedBy} test files reach it`);
  return `${verdict} ${PACKAGE}/src/${path}:${line} (${kind}; ${files}): ${short(before)} → ${short(after)}`;
}

function short(text: string): string {
  const oneLine = text.replace(/\s+/g, " ").trim();
  return oneLine.length > 120 ? `${oneLine.slice(0, 120)}…` : oneLine;
}
