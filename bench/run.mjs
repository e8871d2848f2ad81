/** Measures everything, prints the table, keeps the results, and fails when sous is not as good as it must be. */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { dirname, join, relative } from "node:path";
import { measureColdImports } from "./lib/cold-import.mjs";
import { measureCommands } from "./lib/commands.mjs";
import { measureInstalledSizes } from "./lib/installed-size.mjs";
import { readOptions } from "./lib/options.mjs";
import { COLUMNS, JOBS } from "./lib/plan.mjs";
import { publish } from "./lib/publish.mjs";
import { measureReplay } from "./lib/replay.mjs";
import { runRounds } from "./lib/rounds.mjs";
import { summarise } from "./lib/statistics.mjs";
import { measureStorage } from "./lib/storage.mjs";
import { renderPairs, renderTable } from "./lib/table.mjs";
import { measureTelemetry } from "./lib/telemetry.mjs";
import { findFailures } from "./lib/verdict.mjs";

const folder = import.meta.dirname;
const started = performance.now();
const startedAt = new Date();
const { mode, columns, workloads, settings, mayFail, isPublished } = readOptions(process.argv.slice(2));
const names = columns.map((column) => column.name);
const results = join(folder, "results", `${startedAt.toISOString().replaceAll(":", "-").slice(0, 19)}-${mode}`);
mkdirSync(dirname(results), { recursive: true });

const leftOut = COLUMNS.map((column) => column.name).filter((name) => !names.includes(name));
console.log(`${mode}, rounds: ${settings.rounds}, runtimes: ${names.join(", ")}`);
if (leftOut.length > 0) console.log(`left out: ${leftOut.join(", ")}`);

const jobs = JOBS.filter((job) => workloads.includes(job.split("-")[0]));
const measurements = runRounds(columns, jobs, settings, (measured, progress) => {
  writeFileSync(`${results}.json`, JSON.stringify({ startedAt, measured }));
  report(progress);
});
if (workloads.includes("W5")) measurements.push(...measureColdImports(folder, columns, settings.coldRounds));
if (workloads.includes("size")) measurements.push(...measureInstalledSizes(folder, columns));
// What is compared with one thing alone needs sous, and no other runtime.
if (columns.some(({ kind }) => kind === "sous")) {
  if (workloads.includes("W6")) measurements.push(...measureCommands(folder, settings.coldRounds));
  if (workloads.includes("W7")) measurements.push(...measureStorage(folder, settings));
  if (workloads.includes("W8")) measurements.push(...measureReplay(folder, settings, report));
  if (workloads.includes("W9")) measurements.push(...measureTelemetry(folder, settings));
}
const summaries = summariseFigures(measurements);

const machine = `Node ${process.versions.node}, ${cpus().length} × ${cpus()[0]?.model ?? "unknown processor"}`;
const versions = [...new Set(columns.flatMap(versionsOf))].join(", ");
const kept = { startedAt, mode, machine, versions, settings, summaries, measurements };
writeFileSync(`${results}.json`, JSON.stringify(kept, null, 1));

const problems = describeErrors();
if (mode !== "smoke") {
  const table = [renderTable(names, summaries), renderPairs(summaries)].filter((text) => text !== "").join("\n\n");
  console.log(`\n${table}\n`);
  writeFileSync(`${results}.md`, `${table}\n\n${machine}. ${versions}.\n`);
  problems.push(...findFailures(summaries));
  if (isPublished) publish(join(folder, ".."), { startedAt, mode, machine, versions, rounds: settings.rounds, summaries });
}
console.log(
  `${machine}${versions && `\n${versions}`}\n${secondsSoFar()} s in all; results in ${relative(dirname(folder), results)}.*`,
);
for (const problem of problems) console.log(`✗ ${problem}`);
if (problems.length === 0) console.log(`✓ ${describeSuccess()}`);
else if (mayFail) process.exitCode = 1;

/** @returns {import("./lib/rows.mjs").Summaries} */
function summariseFigures(measurements) {
  const byColumn = {};
  for (const { column, figures = {} } of measurements) {
    for (const [figure, value] of Object.entries(figures)) {
      byColumn[column] ??= {};
      byColumn[column][figure] ??= [];
      byColumn[column][figure].push(value);
    }
  }
  const summarised = (figures) =>
    Object.fromEntries(Object.entries(figures).map(([figure, values]) => [figure, summarise(values)]));
  return Object.fromEntries(Object.entries(byColumn).map(([column, figures]) => [column, summarised(figures)]));
}

function versionsOf({ kind, adapter }) {
  if (kind !== "peer") return [];
  const manifest = JSON.parse(readFileSync(join(folder, dirname(adapter), "package.json"), "utf8"));
  return Object.entries(manifest.dependencies)
    .filter(([name]) => name !== "zod")
    .map(([name, version]) => `${name} ${version}`);
}

/** Each distinct error once, with how often it happened. */
function describeErrors() {
  const counts = new Map();
  for (const { column, job, error } of measurements) {
    if (error === undefined) continue;
    const line = `${column} failed in ${job}: ${error}`;
    counts.set(line, (counts.get(line) ?? 0) + 1);
  }
  return [...counts].map(([line, count]) => (count === 1 ? line : `${line} (${count} times)`));
}

function describeSuccess() {
  const isJudged = mode !== "smoke" && columns.some(({ kind }) => kind === "sous");
  return isJudged ? "sous reached its goals, and no peer is better" : "every runtime did its work";
}

function report(progress) {
  console.log(`${progress} (${secondsSoFar()} s)`);
}

function secondsSoFar() {
  return Math.round((performance.now() - started) / 1000);
}
