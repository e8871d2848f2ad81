/** The command line of the benchmark. */

import { parseArgs } from "node:util";
import { COLUMNS, MODES, WORKLOADS } from "./plan.mjs";

export const USAGE = `npm run bench -- [options]

  --quick          about ten minutes: fewer runtimes, three short rounds
  --smoke          seconds: every runtime once with tiny settings, only to see that it does its work; no figures
  --peers a,b      only these runtimes (raw is always measured, and raw-v4 with sous, raw-durable with sous-durable)
  --only W1,W3     only these workloads: ${WORKLOADS.join(", ")}
  --rounds N       how many rounds; 5, and 3 with --quick
  --report-only    never fail
  --publish        write the figures into docs/explanation/performance.md, as tables and a chart
  --no-build       measure the build that is there
  --help`;

/**
 * @typedef {object} Options
 * @property {keyof typeof MODES} mode
 * @property {import("./plan.mjs").Column[]} columns
 * @property {string[]} workloads
 * @property {typeof MODES.full} settings
 * @property {boolean} mayFail
 * @property {boolean} isPublished
 */

/** @returns {Options} Throws with a readable message when a word is not known. */
export function readOptions(parameters) {
  const { values } = parseArgs({
    args: parameters,
    options: {
      quick: { type: "boolean", default: false },
      smoke: { type: "boolean", default: false },
      peers: { type: "string" },
      only: { type: "string" },
      rounds: { type: "string" },
      "report-only": { type: "boolean", default: false },
      publish: { type: "boolean", default: false },
      "no-build": { type: "boolean", default: false },
    },
  });
  const mode = values.smoke ? "smoke" : values.quick ? "quick" : "full";
  return {
    mode,
    columns: chooseColumns(values.peers, mode),
    workloads: values.only === undefined ? WORKLOADS : readList("--only", values.only, WORKLOADS),
    settings: { ...MODES[mode], ...readRounds(values.rounds) },
    mayFail: !values["report-only"],
    isPublished: values.publish,
  };
}

function chooseColumns(peers, mode) {
  if (peers === undefined) return COLUMNS.filter((column) => mode !== "quick" || column.quick);
  const names = readList(
    "--peers",
    peers,
    COLUMNS.map((column) => column.name),
  );
  const limits = COLUMNS.filter(({ name }) => names.includes(name)).map(({ limit }) => limit);
  const wanted = new Set(["raw", ...names, ...limits]);
  return COLUMNS.filter((column) => wanted.has(column.name));
}

function readList(option, text, known) {
  const words = text.split(",").map((word) => word.trim());
  const unknown = words.find((word) => !known.includes(word));
  if (unknown !== undefined) throw new Error(`${option} does not know ${unknown}; known are ${known.join(", ")}`);
  return words;
}

function readRounds(text) {
  if (text === undefined) return {};
  const rounds = Number(text);
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error(`--rounds must be a number from 1; found ${text}`);
  return { rounds };
}
