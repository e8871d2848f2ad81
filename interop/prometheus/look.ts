/**
 * Debian's Prometheus reads `sous metrics` while several `sous run` write to the database: what it answers to queries is what
 * `sous stats` says, also after a tree was deleted. `promtool` reads our rules, our configuration and what we serve.
 */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { openSqliteStore } from "../../packages/sous/src/storage/store/sqlite/store.ts";
import type { Look } from "../external/look.ts";
import { type Prometheus, promtool, startPrometheus, until } from "./server.ts";

const MAIN = join(import.meta.dirname, "../../packages/sous/src/app/cli/main.ts");
const OPS = resolve(import.meta.dirname, "../../ops/prometheus");
const SAMPLE_MS = 100;
/** F3 names this gauge; Prometheus would keep the ending for histograms. */
const KNOWN_LINE = /^subagent_active_count .*"_count" suffix/;

export async function lookAtPrometheus(look: Look): Promise<void> {
  for (const program of ["prometheus", "promtool"]) {
    if (spawnSync(program, ["--version"]).status === 0) continue;
    look.at(`${program} is there (apt-get install --no-install-recommends prometheus)`, false);
    return;
  }
  await look.during("prometheus: rules and configuration", async () => lookAtRules(look));
  await look.during("prometheus: metrics of a database", () => lookAtDatabase(look));
  await look.during("prometheus: metrics of a run", () => lookAtRun(look));
}

function lookAtRules(look: Look): void {
  const rules = promtool(["check", "rules", join(OPS, "rules.yml")]);
  look.at("prometheus: promtool takes the rules", rules.code === 0, rules.lines);
  const config = promtool(["check", "config", join(OPS, "prometheus.yml")]);
  look.at("prometheus: promtool takes the configuration", config.code === 0, config.lines);
}

async function lookAtDatabase(look: Look): Promise<void> {
  using place = makePlace();
  // The database is there before the first scrape.
  await place.sous("run", "Go.", "--model", "script/slow.json", "--quiet");
  await using metrics = await place.serve("metrics", "--port", "0");
  await using prometheus = await startPrometheus(place.folder, metrics.target);
  const runs = ["lead.json", "failing.json", "slow.json"].map((name) =>
    place.sous("run", "Go.", "--model", `script/${name}`, "--quiet"),
  );
  const seen: number[] = [];
  for (let isOver = false; !isOver; await pause(SAMPLE_MS)) {
    isOver = await isSettled(runs);
    seen.push((await prometheus.query("sum(subagent_executions_total)"))[""] ?? 0);
  }
  const neverFalls = seen.every((count, index) => count >= (seen[index - 1] ?? 0));
  look.at(
    "prometheus: counters rise while three runs write, and never fall",
    neverFalls && new Set(seen).size > 1,
    seen,
  );
  await compare(look, place, prometheus, "three runs");
  const scraped = await scrape(metrics.target);
  lookAtText(look, "sous metrics", scraped);
  await deleteOne(place);
  await place.sous("run", "Go.", "--model", "script/lead.json", "--quiet");
  await compare(look, place, prometheus, "a deleted tree and one more run");
}

/** Queries that say the same as a part of `sous stats --json`. */
async function compare(look: Look, place: Place, prometheus: Prometheus, after: string): Promise<void> {
  const stats: Stats = JSON.parse((await place.sous("stats", "--json")).stdout);
  const byAgent = (field: "runs" | "cost_usd" | "unpriced_runs") =>
    Object.fromEntries(stats.agents.map((each) => [each.agent, each[field]]));
  // Zeros would agree with anything.
  const parts = [stats.total.cost_usd, stats.total.statuses.failed, stats.total.refusals];
  const isMixed = parts.every((part) => JSON.stringify(part ?? 0).match(/[1-9]/) !== null);
  look.at(`prometheus: after ${after}, there is something of every kind`, isMixed, stats.total);
  const { input_tokens, output_tokens, cached_input_tokens, cache_write_tokens } = stats.total.usage;
  const { completed = 0, ...others } = stats.total.statuses;
  const expected: [query: string, label: string | undefined, value: Record<string, number>][] = [
    ["sum(subagent_executions_total)", undefined, { "": stats.total.runs }],
    ["sum by (agent) (subagent_invocations_total)", "agent", byAgent("runs")],
    ["sum by (status) (subagent_completions_total)", "status", { complete: completed, ...others }],
    ["sum by (error_type) (subagent_errors_total)", "error_type", stats.total.error_types],
    ["sum by (agent) (sous_cost_usd_total)", "agent", byAgent("cost_usd")],
    ["sum by (agent) (sous_unpriced_runs_total)", "agent", byAgent("unpriced_runs")],
    [
      "sum by (type) (sous_tokens_total)",
      "type",
      { input: input_tokens, output: output_tokens, cache_read: cached_input_tokens, cache_write: cache_write_tokens },
    ],
    ["sum(subagent_tokens_consumed_sum)", undefined, { "": input_tokens + output_tokens }],
    ["sum(subagent_turns_used_sum)", undefined, { "": stats.total.turns }],
    ["sum(subagent_duration_seconds_count)", undefined, { "": stats.total.runs }],
    ["sum(subagent_active_count)", undefined, {}],
  ];
  const total = async () => (await prometheus.query("sum(subagent_completions_total)"))[""];
  await until("all runs are scraped", async () => (await total()) === stats.total.runs);
  for (const [query, label, value] of expected) {
    const found = await prometheus.query(query, label);
    look.at(`prometheus: after ${after}, ${query} is what sous stats says`, isSame(found, value), [found, value]);
  }
}

/** No series is as good as one that is zero. Sums of money are added in another order. */
function isSame(found: Record<string, number>, expected: Record<string, number>): boolean {
  const names = new Set([...Object.keys(found), ...Object.keys(expected)]);
  return [...names].every((name) => Math.abs((found[name] ?? 0) - (expected[name] ?? 0)) < 1e-9);
}

type Sums = { runs: number; cost_usd: number; unpriced_runs: number };
type Stats = {
  total: Sums & {
    turns: number;
    statuses: Record<string, number>;
    error_types: Record<string, number>;
    refusals: Record<string, number>;
    usage: { input_tokens: number; output_tokens: number; cached_input_tokens: number; cache_write_tokens: number };
  };
  agents: (Sums & { agent: string })[];
};

async function deleteOne(place: Place): Promise<void> {
  await using store = await openSqliteStore(place.database);
  const [root] = await store.list({ rootsOnly: true, limit: 1, status: "completed" });
  if (root === undefined || !(await store.delete(root.id))) throw new Error("There is no tree to delete");
}

/** A run that is asked while it works. */
async function lookAtRun(look: Look): Promise<void> {
  using place = makePlace();
  await using run = await place.serve("run", "Go.", "--model", "script/hanging.json", "--metrics-port", "0");
  let scraped = "";
  await until("the first answer is counted", async () => {
    scraped = await scrape(run.target);
    return scraped.includes("gen_ai_client_token_usage");
  });
  lookAtText(look, "sous run --metrics-port", scraped);
  look.at("prometheus: a run that works is active", /^subagent_active_count\{depth="0"\} 1$/m.test(scraped), scraped);
}

function lookAtText(look: Look, what: string, scraped: string): void {
  const { lines } = promtool(["check", "metrics"], scraped);
  const isKnown = lines.length === 1 && KNOWN_LINE.test(lines[0] ?? "");
  look.at(`prometheus: promtool has one known complaint about ${what}`, isKnown, lines);
}

async function scrape(target: string): Promise<string> {
  const response = await fetch(`http://${target}/metrics`);
  return response.text();
}

type Served = AsyncDisposable & { readonly target: string };
type Ended = { code: number | null; stdout: string; stderr: string };
type Place = Disposable & {
  readonly folder: string;
  readonly database: string;
  sous(...parameters: string[]): Promise<Ended>;
  /** A command that says where its metrics are, and lives until it is disposed. */
  serve(...parameters: string[]): Promise<Served>;
};

const CHILD = (label: string) => ({ tool: "subagent", input: { label, task_prompt: "Look." } });
const USAGE = { usage: { input: 1200, output: 34 } };
const SCRIPTS = {
  "lead.json": {
    sous: [
      { calls: [CHILD("one"), CHILD("two")], ...USAGE },
      { text: "Done.", ...USAGE },
    ],
    "sous/*": [{ text: "Here.", wait_ms: 300, ...USAGE }],
  },
  "failing.json": {
    sous: [
      { calls: [CHILD("one")], ...USAGE },
      { text: "Done.", ...USAGE },
    ],
    "sous/one": [{ calls: [CHILD("deeper")], ...USAGE }, { error: { kind: "auth" } }],
  },
  "slow.json": { sous: [{ text: "Slow.", wait_ms: 800, ...USAGE }] },
  "hanging.json": { sous: [{ calls: [{ tool: "list_files" }], ...USAGE }, { ending: "hangs" }] },
};

function makePlace(): Place {
  const folder = mkdtempSync(join(tmpdir(), "sous-interop-"));
  const work = join(folder, "work");
  mkdirSync(join(folder, "config/sous"), { recursive: true });
  mkdirSync(work);
  for (const [name, script] of Object.entries(SCRIPTS)) writeFileSync(join(work, name), JSON.stringify(script));
  // A call below the deepest level is refused.
  const limits = "agent: { subagent: { max_depth: 1 } }\n";
  const prices =
    "prices: { script/lead.json: { input: 3, output: 15 }, script/failing.json: { input: 1, output: 2 } }\n";
  writeFileSync(join(folder, "config/sous/config.yaml"), limits + prices, { mode: 0o600 });
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: folder,
    XDG_CONFIG_HOME: join(folder, "config"),
    XDG_STATE_HOME: join(folder, "state"),
    XDG_DATA_HOME: join(folder, "data"),
    TZ: "UTC",
  };
  const start = (parameters: readonly string[]) =>
    spawn(process.execPath, ["--conditions=sous-source", MAIN, ...parameters], {
      cwd: work,
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
  return {
    folder,
    database: join(folder, "data/sous/sous.db"),
    sous: (...parameters) => ended(start(parameters)),
    serve: (...parameters) => served(start(parameters)),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }),
  };
}

async function ended(child: ChildProcess): Promise<Ended> {
  const said = { stdout: "", stderr: "" };
  child.stdout?.on("data", (chunk) => (said.stdout += chunk));
  child.stderr?.on("data", (chunk) => (said.stderr += chunk));
  const [code] = await once(child, "close");
  return { code, ...said };
}

async function served(child: ChildProcess): Promise<Served> {
  const exit = ended(child);
  let stderr = "";
  child.stderr?.on("data", (chunk) => (stderr += chunk));
  const target = () => /127\.0\.0\.1:\d+/.exec(stderr)?.[0];
  const dispose = async () => {
    child.kill("SIGKILL");
    await exit;
  };
  try {
    await until("the address of the metrics", () => target() !== undefined || child.exitCode !== null);
    if (target() === undefined) throw new Error("It has ended");
  } catch (error) {
    await dispose();
    throw new Error(`${error}: ${stderr}`);
  }
  return { target: target() ?? "", [Symbol.asyncDispose]: dispose };
}

async function isSettled(work: readonly Promise<unknown>[]): Promise<boolean> {
  return Promise.race([
    Promise.allSettled(work).then(() => true),
    new Promise<false>((tick) => setImmediate(tick, false)),
  ]);
}
