/** Changes the sources in one place at a time and sees whether a test, or else the compiler or the linter, notices. */

import { readdirSync } from "node:fs";
import { join, sep } from "node:path";
import type { Random } from "../../../src/core/clock.ts";
import { seededRandom } from "../../../src/testing/world.ts";
import { type Equivalent, isEquivalent } from "../../support/mutation-equivalents.ts";
import type { SourceFile } from "../../support/star.ts";
import { withProbes } from "./probes.ts";
import {
  applyMutant,
  CLOSING_KINDS,
  MUTATION_KINDS,
  type Mutant,
  type MutationKind,
  mutantsIn,
  parses,
} from "./sites.ts";
import { type Repository, Workshop } from "./workshop.ts";

/** `refused`: no test notices it, but a check of the sources does. */
export type Verdict = "killed" | "hung" | "refused" | "equivalent" | "survived" | "unreached";

export type Judged = {
  readonly mutant: Mutant;
  readonly verdict: Verdict;
  /** The test file that noticed it. */
  readonly by?: string;
  /** How many test files reach it. */
  readonly reachedBy: number;
};

export type MutationFigure = {
  readonly killed: number;
  readonly refused: number;
  readonly equivalent: number;
  readonly survived: number;
  /** Of those that are not equivalent: by a test, and by a test or a check. */
  readonly killedShare: number;
  readonly noticedShare: number;
  /** Noticed of those that are not equivalent, for each kind that was drawn: `9 of 10`. */
  readonly noticedByKind: Readonly<Record<string, string>>;
  /** The same for dropped `await`, `finally`, `using`, disposals and closing calls together. */
  readonly closingShare: number;
  /** Test files that fail on the sources as they are, and say nothing about a mutant. */
  readonly unusable: readonly string[];
};

export type MutationOptions = {
  readonly repository: Repository;
  readonly sources: readonly SourceFile[];
  /** Paths of test files, relative to the root. */
  readonly tests: readonly string[];
  readonly mutants: readonly Mutant[];
  readonly equivalents: readonly Equivalent[];
  /** How many test files run at once. */
  readonly lanes: number;
  onJudged(judged: Judged): void;
};

type TestFile = { readonly path: string; readonly milliseconds: number; readonly reaches: ReadonlySet<number> };

/** Draws mutants of every kind in turn, so that the rare kinds are seen as often as the common ones. */
export function drawMutants(sources: readonly SourceFile[], seed: number, count: number): Mutant[] {
  const random = seededRandom(seed, "mutation");
  const texts = new Map(sources.map(({ path, text }) => [path, text]));
  const all = sources.flatMap(mutantsIn);
  const rows = MUTATION_KINDS.map((kind) => all.filter((mutant) => mutant.kind === kind));
  const drawn: Mutant[] = [];
  while (drawn.length < count && rows.some((row) => row.length > 0)) {
    for (const row of rows) {
      const mutant = takeAny(row, random);
      if (mutant === undefined || drawn.length === count) continue;
      if (parses(mutant.path, applyMutant(texts.get(mutant.path) ?? "", mutant))) drawn.push(mutant);
    }
  }
  return drawn;
}

function takeAny(row: Mutant[], random: Random): Mutant | undefined {
  return row.splice(Math.floor(random() * row.length), 1)[0];
}

/** Every test file of the package, relative to the root, but those whose path below `test/` begins so. Each of these must exist. */
export function testsIn({ root, packageFolder }: Repository, leftOut: readonly string[]): string[] {
  const folder = join(packageFolder, "test");
  const all = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .map((path) => path.split(sep).join("/"))
    .filter((path) => path.endsWith(".test.ts"));
  const gone = leftOut.find((each) => !all.some((path) => path.startsWith(each)));
  if (gone !== undefined) throw new Error(`No test file of ${folder} begins with ${gone}`);
  return all
    .filter((path) => !leftOut.some((each) => path.startsWith(each)))
    .sort()
    .map((path) => `${folder}/${path}`);
}

/** Tries each mutant against the test files that reach it, the nearest first, until one fails. */
export async function judgeMutants(options: MutationOptions): Promise<MutationFigure> {
  await using shops = new AsyncDisposableStack();
  const lanes = await Promise.all(
    Array.from({ length: options.lanes }, async () => shops.use(await Workshop.open(options.repository))),
  );
  if (lanes[0] !== undefined && !(await lanes[0].passesChecks())) throw new Error("The sources fail their checks");
  const { usable, unusable } = await findReach(options, lanes);
  const judged: Judged[] = [];
  await inLanes(lanes, options.mutants.entries(), async (shop, [number, mutant]) => {
    const verdict = await judge(shop, number, mutant, usable, options);
    judged.push(verdict);
    options.onJudged(verdict);
  });
  const count = (...verdicts: Verdict[]) => judged.filter(({ verdict }) => verdicts.includes(verdict)).length;
  const killed = count("killed", "hung");
  const survived = count("survived", "unreached");
  const refused = count("refused");
  const all = Math.max(1, killed + refused + survived);
  const closing = noticedOf(judged, CLOSING_KINDS);
  return {
    killed,
    refused,
    equivalent: count("equivalent"),
    survived,
    killedShare: killed / all,
    noticedShare: (killed + refused) / all,
    noticedByKind: Object.fromEntries(
      MUTATION_KINDS.flatMap((kind) => {
        const { noticed, total } = noticedOf(judged, [kind]);
        return total === 0 ? [] : [[kind, `${noticed} of ${total}`]];
      }),
    ),
    closingShare: closing.noticed / Math.max(1, closing.total),
    unusable,
  };
}

function noticedOf(judged: readonly Judged[], kinds: readonly MutationKind[]): { noticed: number; total: number } {
  const counted = judged.filter(({ mutant, verdict }) => kinds.includes(mutant.kind) && verdict !== "equivalent");
  const noticed = counted.filter(({ verdict }) => verdict !== "survived" && verdict !== "unreached");
  return { noticed: noticed.length, total: counted.length };
}

/** Runs every test file once with a mark at every mutant. */
async function findReach(
  { sources, mutants, tests }: MutationOptions,
  lanes: readonly Workshop[],
): Promise<{ usable: TestFile[]; unusable: string[] }> {
  const files: TestFile[] = [];
  const failed: TestFile[] = [];
  const unusable: string[] = [];
  const changed = sources.filter(({ path }) => mutants.some((mutant) => mutant.path === path));
  for (const shop of lanes) {
    for (const { path, text } of changed) {
      const numbered = [...mutants.entries()].filter(([, mutant]) => mutant.path === path);
      const probed = withProbes(text, numbered, shop.marks);
      if (!parses(path, probed)) throw new Error(`${path} cannot be parsed with probes in it`);
      await shop.write(path, probed);
    }
  }
  await inLanes(lanes, tests.values(), async (shop, path) => {
    const { result, milliseconds } = await shop.runTest(path, FIRST_LIMIT_MS);
    const file = { path, milliseconds, reaches: new Set(await shop.takeMarks()) };
    (result === "passed" ? files : failed).push(file);
  });
  for (const shop of lanes) {
    for (const { path, text } of changed) await shop.write(path, text);
  }
  // A probe can be in the way of a test, and a test can fail by chance.
  await inLanes(lanes, failed.values(), async (shop, file) => {
    const { result, milliseconds } = await shop.runTest(file.path, FIRST_LIMIT_MS);
    if (result === "passed") files.push({ ...file, milliseconds });
    else unusable.push(file.path);
  });
  return { usable: files, unusable };
}

const FIRST_LIMIT_MS = 300_000;
/** How much longer than before a test may take before it hangs: the machine has other work, too. */
const PATIENCE = { factor: 6, leastMs: 60_000 };

async function judge(
  shop: Workshop,
  number: number,
  mutant: Mutant,
  files: readonly TestFile[],
  { sources, equivalents }: MutationOptions,
): Promise<Judged> {
  const text = sources.find(({ path }) => path === mutant.path)?.text ?? "";
  const reaching = files.filter(({ reaches }) => reaches.has(number)).sort(nearestFirst(mutant.path));
  const reachedBy = reaching.length;
  if (isEquivalent(mutant, text, equivalents)) return { mutant, verdict: "equivalent", reachedBy };
  for (const { path: by, milliseconds } of reaching) {
    const limit = Math.max(PATIENCE.leastMs, milliseconds * PATIENCE.factor);
    const runChanged = () => shop.runTestWith(mutant.path, { changed: applyMutant(text, mutant), text }, by, limit);
    const { result } = await runChanged();
    if (result === "passed") continue;
    // A test can fail by chance: it counts only if it passes without the change, and fails with it once more.
    const isChance = (await shop.runTest(by, limit)).result !== "passed";
    if (isChance || (result === "failed" && (await runChanged()).result === "passed")) continue;
    return { mutant, verdict: result === "hung" ? "hung" : "killed", by, reachedBy };
  }
  if (!(await shop.passesChecksWith(mutant.path, { changed: applyMutant(text, mutant), text })))
    return { mutant, verdict: "refused", reachedBy };
  return { mutant, verdict: reachedBy === 0 ? "unreached" : "survived", reachedBy };
}

/** A test of the same name and folder is the most likely to notice; the measurements of many runs take the longest. */
function nearestFirst(sourcePath: string): (one: TestFile, other: TestFile) => number {
  const [, folder, name] = /^(?:(.*)\/)?([^/]*)\.ts$/.exec(sourcePath) ?? [];
  const distance = ({ path }: TestFile) => {
    const inFolder = path.includes(`/${folder}/`);
    if (path.endsWith(`/${name}.test.ts`)) return inFolder ? 0 : 1;
    if (path.includes(`/${name}`)) return 2;
    if (inFolder) return 3;
    return path.includes("/figures/") ? 5 : 4;
  };
  return (one, other) => distance(one) - distance(other) || one.milliseconds - other.milliseconds;
}

/** Gives each free workshop the next piece of work. */
async function inLanes<Work>(
  lanes: readonly Workshop[],
  work: IterableIterator<Work>,
  run: (shop: Workshop, piece: Work) => Promise<void>,
): Promise<void> {
  await Promise.all(
    lanes.map(async (shop) => {
      for (const piece of work) await run(shop, piece);
    }),
  );
}
