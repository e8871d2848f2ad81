/** Everything that can be said about the code without running all of its tests. Prints the time of each step. */

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { delimiter, join, resolve } from "node:path";

type Step = { name: string; command: readonly [string, ...string[]]; env?: Readonly<Record<string, string>> };
type Result = { step: Step; passed: boolean; seconds: number; output: string };

const inColor: boolean = process.stdout.isTTY;
const root: string = resolve(import.meta.dirname, "..");
const test = [
  process.execPath,
  "--conditions=sous-source",
  "--import=./scripts/forbid-processes.mjs",
  "--test",
  "--test-reporter=dot",
] as const;

/** The longest first, so that the short ones fill the gaps. */
const steps: Step[] = [
  // Its garbage is a tenth of its memory, and to collect it takes a third of its time. Other steps need the other core.
  { name: "types", command: ["tsc", "--noEmit", "--singleThreaded"], env: { GOGC: "off" } },
  { name: "unused", command: ["knip", "--no-progress", "--no-config-hints"] },
  { name: "format and lint", command: ["biome", "ci", "--error-on-warnings", `--colors=${inColor ? "force" : "off"}`] },
  { name: "exports", command: [...test, "packages/sous/test/unit/exports.test.ts"] },
  { name: "star", command: [...test, "packages/sous/test/unit/architecture.test.ts"] },
  { name: "lockfile", command: [...test, "packages/sous/test/unit/lockfile.test.ts"] },
  { name: "markdown", command: ["markdownlint-cli2"] },
];
if (existsSync(join(root, "scripts/generate-reference.ts"))) {
  steps.push({ name: "reference", command: [process.execPath, "scripts/generate-reference.ts", "--check"] });
}

const started = performance.now();
const results: Result[] = [];
const waiting = [...steps];
await Promise.all(Array.from({ length: Math.max(2, availableParallelism()) }, work));

const failed = results.filter((result) => !result.passed);
for (const { step, output } of failed) console.log(`\n── ${step.name}: ${step.command.join(" ")}\n\n${output.trim()}`);
console.log(
  failed.length === 0
    ? `\n${results.length} checks passed in ${secondsSince(started)} s`
    : `\n${failed.length} of ${results.length} checks failed: ${failed.map(({ step }) => step.name).join(", ")}`,
);
process.exitCode = failed.length === 0 ? 0 : 1;

async function work(): Promise<void> {
  for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) {
    const result = await runStep(step);
    results.push(result);
    console.log(`${result.passed ? "✓" : "✗"} ${step.name.padEnd(16)} ${result.seconds.toFixed(1).padStart(5)} s`);
  }
}

function runStep(step: Step): Promise<Result> {
  const [file, ...parameters] = step.command;
  const start = performance.now();
  return new Promise((done) => {
    const chunks: Buffer[] = [];
    const path = [join(root, "node_modules/.bin"), process.env.PATH ?? ""].join(delimiter);
    const child = spawn(file, parameters, {
      cwd: root,
      env: { ...process.env, ...step.env, PATH: path, [inColor ? "FORCE_COLOR" : "NO_COLOR"]: "1" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const finish = (passed: boolean): void =>
      done({ step, passed, seconds: (performance.now() - start) / 1000, output: Buffer.concat(chunks).toString() });
    child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => chunks.push(chunk));
    child.on("error", (error) => {
      chunks.push(Buffer.from(error.message));
      finish(false);
    });
    child.on("close", (code) => finish(code === 0));
  });
}

function secondsSince(start: number): string {
  return ((performance.now() - start) / 1000).toFixed(1);
}
