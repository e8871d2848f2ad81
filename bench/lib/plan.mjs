/** The plan of the measurements: the columns of the table, the jobs of a round, and how long each of them takes. */

/**
 * @typedef {object} Column
 * @property {string} name
 * @property {"baseline" | "peer" | "sous"} kind
 * @property {string} adapter Relative to the folder of the benchmark; exports `single` and `delegate`.
 * @property {string} [entry] What a user imports, for W5; resolved from the adapter's folder.
 * @property {boolean} [quick] Part of `--quick`.
 * @property {boolean} [large] Takes the largest loads, which others need minutes for.
 * @property {boolean} [byIterator] The adapter also exports `singleByIterator`.
 * @property {string} [limit] The bare loop that does what this column does; shown as a second ratio.
 */

/** @type {Column[]} */
export const COLUMNS = [
  { name: "raw", kind: "baseline", adapter: "baselines/raw.mjs", quick: true, large: true },
  { name: "raw-v4", kind: "baseline", adapter: "baselines/raw-v4.mjs", quick: true },
  { name: "raw-durable", kind: "baseline", adapter: "baselines/raw-durable.mjs", quick: true },
  { ...peer("pi", "@earendil-works/pi-agent-core", true), large: true },
  peer("ai", "ai", true),
  peer("strands", "@strands-agents/sdk"),
  peer("openai-agents", "@openai/agents", true),
  peer("voltagent", "@voltagent/core"),
  peer("langchain", "langchain"),
  peer("deepagents", "deepagents"),
  peer("mastra", "@mastra/core/agent"),
  {
    name: "sous",
    kind: "sous",
    adapter: "peers/sous/ai-sdk.mjs",
    entry: "../../../packages/sous/dist/index.js",
    quick: true,
    large: true,
    byIterator: true,
    limit: "raw-v4",
  },
  { name: "sous-native", kind: "sous", adapter: "peers/sous/native.mjs", quick: true, byIterator: true },
  {
    name: "sous-durable",
    kind: "sous",
    adapter: "peers/sous/durable.mjs",
    quick: true,
    byIterator: true,
    limit: "raw-durable",
  },
  {
    name: "sous-unsafe",
    kind: "sous",
    adapter: "peers/sous/durable-unsafe.mjs",
    quick: true,
    byIterator: true,
    limit: "raw-durable",
  },
];

/** The jobs of a round, in order. Everything else comes after the last round. */
export const JOBS = [
  ...["W1", "W1-iterator", "W2", "W3-200", "W3-heap", "W3-1000", "W3-10000", "W4", "W4-long", "W10"],
];

/** True when the column takes part in the job. */
export function takes({ byIterator = false, large = false }, job) {
  if (job === "W1-iterator") return byIterator;
  return large || (job !== "W3-10000" && job !== "W4-long");
}

export const WORKLOADS = ["W1", "W2", "W3", "W4", "W5", "W6", "W7", "W8", "W9", "W10", "size"];

const full = {
  rounds: 5,
  coldRounds: 10,
  storageRounds: 11,
  storageRows: 40_000,
  replayRounds: 11,
  replayRuns: 1_000_000,
  telemetryRounds: 11,
  telemetryMilliseconds: 400,
  /** Until V8 has optimised what runs often: less than a second for the bare loop, more than one for a runtime. */
  warmUpMilliseconds: 2500,
  measureMilliseconds: 1200,
  turns: 50,
  deltas: 200,
  delegations: 100,
  children: 200,
  manyChildren: 1000,
  hugeChildren: 10_000,
  hugeRepetitions: 3,
  growthWarmUpMilliseconds: 1500,
  growthTurns: 400,
  longGrowthTurns: 2000,
  growthRepetitions: 15,
};

/** `full` is what counts, `quick` takes about ten minutes, `smoke` only shows that every adapter does its work. */
export const MODES = {
  full,
  quick: {
    ...full,
    rounds: 3,
    coldRounds: 5,
    storageRows: 20_000,
    replayRuns: 100_000,
    telemetryRounds: 7,
    measureMilliseconds: 700,
    growthWarmUpMilliseconds: 500,
  },
  smoke: {
    rounds: 1,
    coldRounds: 1,
    storageRounds: 1,
    storageRows: 300,
    replayRounds: 1,
    replayRuns: 600,
    telemetryRounds: 1,
    telemetryMilliseconds: 0,
    warmUpMilliseconds: 0,
    measureMilliseconds: 0,
    turns: 5,
    deltas: 4,
    delegations: 3,
    children: 6,
    manyChildren: 12,
    hugeChildren: 24,
    hugeRepetitions: 1,
    growthWarmUpMilliseconds: 0,
    growthTurns: 30,
    longGrowthTurns: 40,
    growthRepetitions: 1,
  },
};

/** @returns {Column} */
function peer(name, entry, quick = false) {
  return { name, kind: "peer", adapter: `peers/${name}/adapter.mjs`, entry, quick };
}
