/**
 * Runs the tests: all of them, or the files and flags given as arguments. `npm run coverage` also counts the lines of
 * `packages/sous/src` they reach, which takes a quarter longer.
 *
 *   npm test
 *   npm test -- packages/sous/test/architecture.test.ts
 *   npm test -- --test-name-pattern="spent budget"
 */

import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { bundles } from "./build.ts";
import { groupTests } from "./group-tests.ts";

const root = resolve(import.meta.dirname, "..");

const ALL = [
  "packages/sous/src/**/*.test.ts",
  "packages/sous/test/**/*.test.ts",
  "examples/**/*.test.ts",
  "docs/snippets/**/*.test.ts",
];

const COVERAGE = [
  `--import=${import.meta.resolve("./own-coverage.mjs")}`,
  "--experimental-test-coverage",
  "--test-coverage-include=packages/sous/src/**/*.ts",
  "--test-coverage-exclude=packages/sous/src/**/*.test.ts",
  "--test-coverage-lines=80",
];

const isCounted = process.argv.includes("--counted");
const given = process.argv.slice(2).filter((argument) => argument !== "--counted");
const flags = given.filter((argument) => argument.startsWith("-"));
const files = given.filter((argument) => !argument.startsWith("-"));

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
    `--test-concurrency=${availableParallelism() + 2}`,
    ...(isCounted ? COVERAGE : []),
    ...flags,
    ...(files.length === 0 ? await groupTests(root, ALL, join(root, ".cache/test-groups")) : files),
  ],
  // Most of a small test is loading sources: all processes but the first find them compiled.
  {
    stdio: "inherit",
    env: {
      NODE_COMPILE_CACHE: join(root, "node_modules/.cache/tests"),
      TMPDIR: temporary,
      SOUS_TEST_SHARED: temporary,
      ...(given.length === 0 ? { SOUS_TEST_COMMAND: join(command, "cli/main.js") } : {}),
      ...process.env,
    },
  },
);
rmSync(temporary, { recursive: true, force: true, maxRetries: 3 });
if (signal !== null) console.error(`The tests were ended by ${signal}.`);
process.exitCode = status ?? 1;

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
