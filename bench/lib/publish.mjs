/** Puts the figures of a run into the repository: `bench/published.json`, and what the page about performance shows of it. */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { drawChart } from "./chart.mjs";
import { COLUMNS } from "./plan.mjs";
import { renderPairs, renderTable } from "./table.mjs";

/**
 * @typedef {object} Published
 * @property {string} startedAt As ISO 8601 writes it.
 * @property {string} mode
 * @property {string} machine
 * @property {string} versions Of the peers.
 * @property {number} rounds
 * @property {Record<string, Record<string, { median: number }>>} summaries By column name, then by figure.
 */

const FIGURES = "bench/published.json";
const PAGE = "docs/explanation/performance.md";
const CHART = "docs/explanation/performance.svg";

export function publish(root, { summaries, ...run }) {
  const medians = (figures) => Object.fromEntries(Object.entries(figures).map(([name, { median }]) => [name, { median }]));
  const shown = Object.fromEntries(Object.entries(summaries).map(([column, figures]) => [column, medians(figures)]));
  writeFileSync(join(root, FIGURES), `${JSON.stringify({ ...run, summaries: shown }, null, 1)}\n`);
  for (const [path, text] of Object.entries(publishedFiles(root))) writeFileSync(join(root, path), text);
}

/** The page and the chart as `bench/published.json` makes them, by path. */
export function publishedFiles(root) {
  /** @type {Published} */
  const published = JSON.parse(readFileSync(join(root, FIGURES), "utf8"));
  const page = readFileSync(join(root, PAGE), "utf8");
  return { [PAGE]: withFigures(page, published), [CHART]: drawChart(published.summaries) };
}

/** Lines of up to 140 characters, as in all pages. */
function wrapped(text) {
  return text.replaceAll(/(.{1,140})(?: |$)/g, "$1\n").trimEnd();
}

/** The peers in the table; the chart has all. */
const IN_TABLE = ["pi", "ai", "openai-agents"];

function withFigures(page, { startedAt, mode, machine, versions, rounds, summaries }) {
  const measured = COLUMNS.filter(({ name }) => summaries[name] !== undefined);
  const namesOf = (...kinds) => measured.filter(({ kind }) => kinds.includes(kind)).map(({ name }) => name);
  const without = (names, left) => names.filter((name) => !left.includes(name));
  const onDisk = ["raw-durable", "sous-durable", "sous-unsafe"];
  const parts = {
    run: wrapped(
      `The figures are from a ${mode} run on ${startedAt.slice(0, 10)}: ${rounds} interleaved rounds, ${machine}. Peers: ${versions}.`,
    ),
    runtimes: renderTable([...without(namesOf("baseline", "sous"), onDisk), ...IN_TABLE], summaries, ["sous"]),
    store: renderTable(["raw", ...onDisk].filter((name) => namesOf("baseline", "sous").includes(name)), summaries, ["sous-durable"]),
    compared: renderPairs(summaries),
  };
  return Object.entries(parts).reduce((text, [name, figures]) => {
    const place = new RegExp(`(<!-- figures: ${name} -->\\n\\n).*?(\\n\\n<!-- end -->)`, "s");
    if (!place.test(text)) throw new Error(`${PAGE} has no place for the figures ${name}`);
    return text.replace(place, (_, before, after) => before + figures + after);
  }, page);
}
