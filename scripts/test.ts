/**
 * Runs the tests: all of them, one tier, or the files and flags given as arguments. The tier of a test is its folder: `test/unit`
 * starts no process, `test/system` does, or needs one of its own. `npm run coverage` also counts the lines of `packages/sous/src`
 * they reach, which takes a quarter longer.
 *
 *   npm test
 *   npm run test:unit
 *   npm test -- packages/sous/test/unit/architecture.test.ts
 *   npm test -- --test-name-pattern="spent budget"
 */

import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { bundles } from "./build.ts";
import { type Groups, groupTests } from "./group-tests.ts";

const root = resolve(import.meta.dirname, "..");

/** The runner starts groups in the order of their names: those that take long first, so that none of them is alone at the end. */
const SYSTEM: readonly Groups[] = [
  { name: "1-alone", patterns: ["packages/sous/test/system/*.test.ts", "{examples,docs/snippets}/**/*.test.ts"] },
  { name: "2-system", patterns: ["packages/sous/test/system/*/**/*.test.ts"], count: 12 },
];

const UNIT_TESTS = "packages/sous/test/unit/";
const FORBID_PROCESSES = import.meta.resolve("./forbid-processes.mjs");

const UNIT: Groups = {
  name: "3-unit",
  patterns: [`${UNIT_TESTS}**/*.test.ts`],
  count: 5,
  first: [FORBID_PROCESSES],
};

const COVERAGE = [
  `--import=${import.meta.resolve("./own-coverage.mjs")}`,
  "--experimental-test-coverage",
  "--test-coverage-include=packages/sous/src/**/*.ts",
  "--test-coverage-lines=80",
];

const own = ["--counted", "--unit", "--system"];
const [isCounted, onlyUnit, onlySystem] = own.map((flag) => process.argv.includes(flag));
const given = process.argv.slice(2).filter((argument) => !own.includes(argument));
const flags = given.filter((argument) => argument.startsWith("-"));
const files = given.filter((argument) => !argument.startsWith("-"));
const areUnits = files.length > 0 && files.every((file) => relative(root, resolve(file)).startsWith(UNIT_TESTS));

/** The command as it is published: the tests start it some hundred times, and its sources take twice as long to load. */
const command = join(root, "node_modules/.cache/command/dist");
if (given.length === 0) {
  await bundles(command);
  // Otherwise Node reads every file twice, to find out what kind of module it is.
  writeFileSync(join(command, "../package.json"), '{ "type": "module" }\n');
}

/** The folder for temporary files of this run. Postgres runs as another user than root, and must be let in. */
const temporary = mkdtempSync(join(inMemory() ?? tmpdir(), "sous-tests-"));
chmodSync(temporary, 0o1777);
// Ctrl-C ends the tests, and then the folder is removed.
process.on("SIGINT", () => {});

const { status, signal } = spawnSync(
  process.execPath,
  [
    "--test",
    "--conditions=sous-source",
    "--test-reporter=spec",
    "--test-timeout=600000",
    // Node's own default is one less than the number of cores, which leaves half of a small machine idle. Many tests wait.
    `--test-concurrency=${availableParallelism() * 3}`,
    ...(isCounted ? COVERAGE : []),
    ...(areUnits ? [`--import=${FORBID_PROCESSES}`] : []),
    ...flags,
    ...(files.length === 0 ? await testFiles() : files),
  ],
  // Most of a small test is loading sources: all processes but the first find them compiled.
  {
    stdio: "inherit",
    env: {
      NODE_COMPILE_CACHE: join(root, "node_modules/.cache/tests"),
      TMPDIR: temporary,
      SOUS_TEST_SHARED: temporary,
      ...(given.length === 0 ? { SOUS_TEST_COMMAND: join(command, "app/cli/main.js") } : {}),
      ...process.env,
    },
  },
);
rmSync(temporary, { recursive: true, force: true, maxRetries: 3 });
if (signal !== null) console.error(`The tests were ended by ${signal}.`);
process.exitCode = status ?? 1;

/** Every test of the tiers that are asked for. */
async function testFiles(): Promise<string[]> {
  const wanted = [...(onlyUnit ? [] : SYSTEM), ...(onlySystem ? [] : [UNIT])];
  return (await Promise.all(wanted.map((groups) => groupTests(root, groups, join(root, ".cache/test-groups"))))).flat();
}

/** A folder in memory that has room: databases wait for the disk at every commit, most of the time that their tests take. */
function inMemory(): string | undefined {
  try {
    const { bavail, bsize } = statfsSync("/dev/shm");
    return bavail * bsize > 4 * 2 ** 30 && canStartPrograms("/dev/shm") ? "/dev/shm" : undefined;
  } catch {
    return undefined;
  }
}

/** False for a folder that is mounted with `noexec`, as containers often do. */
function canStartPrograms(folder: string): boolean {
  const own = mkdtempSync(join(folder, "sous-tests-"));
  try {
    const program = join(own, "program");
    writeFileSync(program, "#!/bin/sh\n", { mode: 0o755 });
    return spawnSync(program).status === 0;
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
}
