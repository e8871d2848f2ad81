/** The mutation sample itself, on a package of three small files. The figure is `npm run soak -- mutation`. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { temporaryTree } from "../../support/app/tools/temporary-tree.ts";
import { EQUIVALENTS, isEquivalent } from "../../support/mutation-equivalents.ts";
import { sourceFiles } from "../../support/source-files.ts";
import { drawMutants, judgeMutants, testsIn } from "./sample.ts";
import { applyMutant, MUTATION_KINDS, mutantsIn, parses } from "./sites.ts";

const SOURCE = `export function isFull(count: number): boolean {
  return count >= 10;
}

export function size(texts: readonly string[]): number {
  return texts.length > 0 ? texts.length : 0;
}

export function inChild(count: number): boolean {
  return count < 3;
}

export const never = (count: number) => count + 1;
export const neither = (count: number) => count * 2;
`;

const TEST = `import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { isFull, size } from "../src/counting.ts";

assert.equal(isFull(10), true);
assert.equal(size(["a"]), 1);
const counting = new URL("../src/counting.ts", import.meta.url).href;
const child = "import { inChild } from '" + counting + "'; process.exitCode = inChild(2) ? 0 : 1;";
assert.equal(spawnSync(process.execPath, ["--input-type=module", "-e", child], { env: {} }).status, 0);
`;

const CHECK = "! grep -q 'never = (count: number) => count -' own/src/counting.ts";

test("a mutant is killed by a test that fails for it alone; others are refused by a check, survive, are not reached or are known to be equivalent", async () => {
  await using tree = await temporaryTree({
    "package.json": '{ "type": "module" }',
    "own/src/counting.ts": SOURCE,
    "own/test/counting.test.ts": TEST,
    "own/test/broken.test.ts": 'import "../src/counting.ts";\nthrow new Error("always");\n',
    "own/test/left-out/reads.test.ts": "throw new Error();",
  });
  const repository = { root: tree.path, packageFolder: "own", checks: [["sh", "-c", CHECK]] } as const;
  const sources = [{ path: "counting.ts", text: SOURCE }];
  const wanted = ["count >= 10", "texts.length > 0", "count < 3", "count + 1", "count * 2"];
  const mutants = mutantsIn(sources[0] ?? assert.fail()).filter(
    ({ kind, before }) => kind === "swap an operator" && wanted.includes(before),
  );
  const equivalent = {
    path: "counting.ts",
    line: "return texts.length > 0 ? texts.length : 0;",
    before: "texts.length > 0",
    after: "texts.length >= 0",
    why: "0 is the length of an empty list",
  };
  const judged: string[] = [];
  const figure = await judgeMutants({
    repository,
    sources,
    tests: testsIn(repository, ["left-out/"]),
    mutants,
    equivalents: [equivalent],
    lanes: 2,
    onJudged: ({ mutant, verdict, by, reachedBy }) =>
      judged.push(`${mutant.line} ${mutant.after}: ${verdict} by ${by}, ${reachedBy}`),
  });
  assert.deepEqual(judged.sort(), [
    "10 count <= 3: survived by undefined, 1",
    "13 count - 1: refused by undefined, 0",
    "14 count / 2: unreached by undefined, 0",
    "2 count > 10: killed by own/test/counting.test.ts, 1",
    "6 texts.length >= 0: equivalent by undefined, 1",
  ]);
  assert.deepEqual(figure, {
    killed: 1,
    refused: 1,
    equivalent: 1,
    survived: 2,
    killedShare: 1 / 4,
    noticedShare: 2 / 4,
    noticedByKind: { "swap an operator": "2 of 4" },
    closingShare: 0,
    unusable: ["own/test/broken.test.ts"],
  });
});

test("every change that is listed as equivalent can still be made", () => {
  const mutants = sourceFiles().flatMap((source) =>
    EQUIVALENTS.some(({ path }) => path === source.path)
      ? mutantsIn(source).map((mutant) => ({ mutant, text: source.text }))
      : [],
  );
  const gone = EQUIVALENTS.filter((each) => !mutants.some(({ mutant, text }) => isEquivalent(mutant, text, [each])));
  assert.deepEqual(gone, []);
});

const KINDS = `async function all(list: number[]): Promise<number[]> {
  using lock = take();
  await using file = await open();
  if (list.length > 3) list.pop();
  let sum = 0;
  sum += list.length;
  try {
    await save(list.slice(0, 2));
  } finally {
    lock.end();
  }
  return [sum];
}
const both = (a: boolean, b: boolean) => a && b;
const object = () => ({ a: 1 });
function two(): void {
  one();
  one();
}
const listening = { [Symbol.dispose]: () => listeners.delete(listener), [Symbol.asyncDispose]: stop };
class Held {
  [Symbol.dispose](): void {
    this.#isOpen = false;
  }
}
const ended = work.finally(() => timers.delete(timer));
const stopped = () => timer?.unref();
`;

test("mutants of every kind are found, and each of them parses", () => {
  const mutants = mutantsIn({ path: "kinds.ts", text: KINDS });
  assert.deepEqual(
    mutants.map(({ line, kind, before, after }) => `${line} ${kind}: ${before} → ${after}`.replace(/\s+/g, " ")),
    [
      "2 drop a using: using → const",
      "3 drop a using: await using → const",
      "3 drop an await: await open() → (open())",
      "4 negate a condition: list.length > 3 → !(list.length > 3)",
      "4 swap an operator: list.length > 3 → list.length >= 3",
      "4 move a boundary: 3 → 4",
      "4 drop a call: list.pop(); → ;",
      "6 drop an assignment: sum += list.length; → ;",
      "6 swap an operator: sum += list.length → sum -= list.length",
      "8 drop a call: await save(list.slice(0, 2)); → ;",
      "8 drop an await: await save(list.slice(0, 2)) → (save(list.slice(0, 2)))",
      "8 move a boundary: 0 → 1",
      "8 move a boundary: 2 → 3",
      "9 drop a finally: { lock.end(); } → {}",
      "10 drop a closing call: lock.end(); → ;",
      "12 return early: return [sum]; → return [];",
      "14 return early: a && b → (undefined)",
      "14 swap an operator: a && b → ((a) || (b))",
      "15 return early: ({ a: 1 }) → (undefined)",
      "16 return early: → return;",
      "17 drop a call: one(); → ;",
      "18 drop a call: one(); → ;",
      "20 empty a disposal: listeners.delete(listener) → (undefined)",
      "20 empty a disposal: stop → (() => {})",
      "22 empty a disposal: { this.#isOpen = false; } → {}",
      "23 drop an assignment: this.#isOpen = false; → ;",
      "26 drop a finally: work.finally(() => timers.delete(timer)) → work",
      "26 return early: timers.delete(timer) → (undefined)",
      "27 drop a closing call: timer?.unref() → (undefined)",
    ],
  );
  assert.ok(mutants.every((mutant) => parses("kinds.ts", applyMutant(KINDS, mutant))));
});

test("what would not change, or is never reached, is no mutant", () => {
  const text = `const none = () => [];
const nothing = () => undefined;
function name(kind: "a"): string {
  if (kind === "a") return "A";
  return kind satisfies never;
}
`;
  const mutants = mutantsIn({ path: "none.ts", text });
  assert.deepEqual(
    mutants.map(({ line, kind }) => `${line} ${kind}`),
    ["4 negate a condition", "4 swap an operator", "4 return early"],
  );
});

test("an await whose value is returned at once is no mutant, unless something waits for it", () => {
  const text = `const one = async () => await work();
async function two() {
  try {
    prepare();
  } finally {
    tidy();
  }
  return await work();
}
async function three() {
  try {
    each(async () => { return await work(); });
    return await work();
  } catch {
    return await otherWork();
  }
}
async function four() {
  using lock = take();
  return await work();
}
`;
  const mutants = mutantsIn({ path: "awaits.ts", text }).filter(({ kind }) => kind === "drop an await");
  assert.deepEqual(
    mutants.map(({ line }) => line),
    [13, 20],
  );
});

test("a seed gives the same mutants each time, of all kinds in turn", () => {
  const sources = [{ path: "kinds.ts", text: KINDS }];
  const drawn = drawMutants(sources, 7, MUTATION_KINDS.length);
  assert.deepEqual(drawn, drawMutants(sources, 7, MUTATION_KINDS.length));
  assert.notDeepEqual(drawn, drawMutants(sources, 8, MUTATION_KINDS.length));
  assert.deepEqual(
    drawn.map(({ kind }) => kind),
    [...MUTATION_KINDS],
  );
});
