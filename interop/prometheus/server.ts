/** Debian's Prometheus as it is: a server that scrapes one address, and `promtool`. */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

const SCRAPE_MS = 200;
const LONGEST_MS = 30_000;

export type Prometheus = AsyncDisposable & {
  /** The value of each series that a query gives, by the value of this label; of a query without labels by "". */
  query(query: string, label?: string): Promise<Record<string, number>>;
  /** True when the address was scraped well, the last time. */
  isUp(): Promise<boolean>;
};

/** `folder` is for its database; `target` is host and port. */
export async function startPrometheus(folder: string, target: string): Promise<Prometheus> {
  const file = join(folder, "prometheus.yml");
  writeFileSync(
    file,
    `global: { scrape_interval: ${SCRAPE_MS}ms, scrape_timeout: ${SCRAPE_MS}ms }
scrape_configs: [{ job_name: sous, static_configs: [{ targets: ["${target}"] }] }]
`,
  );
  const address = `127.0.0.1:${await freePort()}`;
  const parameters = [
    `--config.file=${file}`,
    `--storage.tsdb.path=${join(folder, "tsdb")}`,
    `--web.listen-address=${address}`,
  ];
  const child = spawn("prometheus", [...parameters, "--log.level=warn"], { cwd: folder, stdio: "ignore" });
  const query = (text: string, label?: string) => ask(`http://${address}`, text, label);
  const isUp = async () => Object.values(await query("up", "job").catch(() => ({}))).includes(1);
  try {
    await until("Prometheus scrapes", isUp);
  } catch (error) {
    await end(child);
    throw error;
  }
  return { query, isUp, [Symbol.asyncDispose]: () => end(child) };
}

async function ask(url: string, query: string, label: string | undefined): Promise<Record<string, number>> {
  const response = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(query)}`);
  const { data, error } = (await response.json()) as Answer;
  if (data === undefined) throw new Error(`Prometheus does not take ${query}: ${error}`);
  return Object.fromEntries(
    data.result.map(({ metric, value }) => [label === undefined ? "" : (metric[label] ?? ""), Number(value[1])]),
  );
}

type Answer = { error?: string; data?: { result: { metric: Record<string, string>; value: [number, string] }[] } };

/** What `promtool` says of a file, or of what it is given, and whether it is content. */
export function promtool(parameters: readonly string[], input = ""): { code: number | null; lines: string[] } {
  const { status, stdout, stderr } = spawnSync("promtool", parameters, { input, encoding: "utf8" });
  return { code: status, lines: `${stdout}${stderr}`.split("\n").filter((line) => line !== "") };
}

/** Resolves when it holds; rejects after half a minute. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = performance.now() + LONGEST_MS; !(await holds()); await pause(SCRAPE_MS / 4)) {
    if (performance.now() > end) throw new Error(`Not seen in time: ${what}`);
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  return port;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.pid === undefined) return;
  const exit = once(child, "exit");
  child.kill("SIGKILL");
  await exit;
}
