/** F4: `sous metrics` as a process of its own, read over HTTP while other processes write. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { suite, test } from "node:test";
import { noUsage } from "../../../../src/core/usage.ts";
import { openSqliteStore, type SqliteStore } from "../../../../src/storage/store/sqlite/store.ts";
import { sampleTree } from "../../../../src/testing/sample-tree.ts";
import { inProcess } from "../../../support/app/cli/in-process.ts";
import { compiled, dataFolder, MAIN } from "../../../support/app/cli/sous-process.ts";
import { samplesOf } from "../../../support/bridges/telemetry/metric-text.ts";

type Served = AsyncDisposable & {
  url: string;
  stderr(): string;
  scrape(): Promise<Response>;
  /** Resolves to its exit code. */
  stop(signal: NodeJS.Signals): Promise<number | null>;
};

/** Starts `sous metrics` on a free port, and waits until it has said where. */
async function serve(env: Record<string, string>): Promise<Served> {
  const child = spawn(process.execPath, [MAIN, "metrics", "--port", "0"], {
    env: { NODE_COMPILE_CACHE: compiled, ...env },
    stdio: ["ignore", "inherit", "pipe"],
    timeout: 60_000,
    killSignal: "SIGKILL",
  });
  const closed = once(child, "close");
  let stderr = "";
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr.on("data", (chunk) => {
      stderr += chunk;
      const [found] = /http:\/\/127\.0\.0\.1:\d+\/metrics/.exec(stderr) ?? [];
      if (found !== undefined) resolve(found);
    });
    child.on("close", (code) => reject(new Error(`It ended with ${code}: ${stderr}`)));
  });
  return {
    url,
    stderr: () => stderr,
    scrape: () => fetch(url),
    async stop(signal) {
      child.kill(signal);
      const [code] = await closed;
      return code;
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await closed;
    },
  };
}

const id = (number: number): string => `01K2H0AAAA${String(number).padStart(16, "0")}`;

/** One tree of a root and a child, whole or without its last end. */
async function keep(store: SqliteStore, rootId: string, isEnded = true): Promise<void> {
  const childId = rootId.replace("AAAA", "BBBB");
  const tree = sampleTree(rootId);
  tree.start(rootId, { label: "lead" });
  tree.start(childId, { parent: rootId, label: "scout" });
  tree.end(childId, {
    usage: { ...noUsage(), inputTokens: 90, outputTokens: 10, totalTokens: 100 },
    costUsd: 0.25,
  });
  if (isEnded) tree.end(rootId, { costUsd: 0 });
  await store.append(rootId, tree.events.slice());
}

suite("F4: sous metrics", { concurrency: true }, () => {
  test("F4: sous metrics adds up what others store while it serves, and no counter falls when runs are deleted", async () => {
    await using data = await dataFolder();
    await using store = await openSqliteStore(data.file);
    await keep(store, id(1));
    await using served = await serve(data.env);
    const counts = async () => {
      const response = await served.scrape();
      assert.equal(response.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
      const text = await response.text();
      return {
        executions: samplesOf(text, "executions"),
        active: samplesOf(text, "active"),
        completions: samplesOf(text, "completions"),
        cost: samplesOf(text, "cost"),
      };
    };
    const first = await counts();
    assert.deepEqual(first, {
      executions: { '{depth="0"}': 1, '{depth="1"}': 1 },
      active: { '{depth="0"}': 0, '{depth="1"}': 0 },
      completions: { '{depth="1",status="complete"}': 1, '{depth="0",status="complete"}': 1 },
      cost: { '{agent="scout"}': 0.25, '{agent="lead"}': 0 },
    });
    await keep(store, id(2));
    await keep(store, id(3), false);
    const second = {
      executions: { '{depth="0"}': 3, '{depth="1"}': 3 },
      active: { '{depth="0"}': 1, '{depth="1"}': 0 },
      completions: { '{depth="1",status="complete"}': 3, '{depth="0",status="complete"}': 2 },
      cost: { '{agent="scout"}': 0.75, '{agent="lead"}': 0 },
    };
    assert.deepEqual(await counts(), second);
    assert.equal(await store.delete(id(1)), true);
    assert.deepEqual(await Promise.all([counts(), counts(), counts()]), [second, second, second]);
    assert.equal((await fetch(served.url.replace("/metrics", "/"))).status, 404);
    assert.equal(await served.stop("SIGTERM"), 0);
    assert.equal(served.stderr(), `Metrics of ${data.file} are at ${served.url}\n`);
  });

  test("F4: sous metrics answers 503 while the database cannot be read, and warns once", async () => {
    await using data = await dataFolder();
    {
      await using store = await openSqliteStore(data.file);
      await keep(store, id(1));
    }
    await using served = await serve(data.env);
    writeFileSync(data.file, Buffer.alloc(65_536, "x"));
    for (const _ of [1, 2, 3]) assert.equal((await served.scrape()).status, 503);
    assert.equal(await served.stop("SIGINT"), 0);
    const warnings = served
      .stderr()
      .split("\n")
      .filter((line) => line.startsWith("warning: "));
    assert.equal(warnings.length, 1, served.stderr());
    assert.match(warnings[0] ?? "", /^warning: the database cannot be read for metrics: /);
  });

  test("F4: sous metrics says in one sentence that its port is in use, and ends with 1", async () => {
    await using data = await dataFolder();
    await (await openSqliteStore(data.file))[Symbol.asyncDispose]();
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const { port } = taken.address() as { port: number };
    const { code, stderr } = await inProcess(["metrics", "--port", String(port)], { env: data.env });
    taken.close();
    assert.deepEqual([code, stderr], [1, `error: Metrics cannot be served: port ${port} is in use, choose another\n`]);
  });

  test("F4: sous metrics needs a database and a port that there can be", async () => {
    await using data = await dataFolder();
    const none = await inProcess(["metrics"], { env: data.env });
    assert.equal(none.code, 1);
    assert.ok(none.stderr.startsWith(`error: There are no runs yet: no database at ${data.file}.`), none.stderr);
    for (const [given, options] of [
      [{ SOUS_DB_PATH: "/nowhere/a.db" }, []],
      [{ SOUS_DB_PATH: "/nowhere/b.db" }, ["--db-path", "/nowhere/a.db"]],
      [{ SOUS_AGENT_SUBAGENT_PERSISTENCE_PATH: "/nowhere/a.db" }, []],
    ] as const) {
      const { stderr } = await inProcess(["metrics", ...options], { env: { ...data.env, ...given } });
      assert.match(stderr, /no database at \/nowhere\/a\.db\./);
    }
    const large = await inProcess(["metrics", "--port", "70000"], { env: data.env });
    assert.deepEqual([large.code, large.stderr], [2, "error: --port is at most 65535; found 70000\n"]);
    assert.equal((await inProcess(["metrics", "extra"], { env: data.env })).code, 2);
  });
});
