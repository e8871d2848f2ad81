/** Checks what each command loads: start-up is imports, so each loads what it needs and nothing else. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { openSqliteStore } from "../../../../src/storage/store/sqlite/store.ts";
import { keepSampleRuns } from "../../../support/app/cli/kept-runs.ts";
import { compiled, dataFolder } from "../../../support/app/cli/sous-process.ts";
import { sourceFolder } from "../../../support/source-files.ts";
import { folderOf } from "../../../support/star.ts";

const folder = mkdtempSync(join(tmpdir(), "sous-loads-"));
after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

/** Tells on stderr what is loaded. */
const hook = join(folder, "hook.mjs");
writeFileSync(
  hook,
  `import { registerHooks } from "node:module";
registerHooks({ load(url, context, next) { process.stderr.write("loads " + url + "\\n"); return next(url, context); } });`,
);

/** Is the command, one line after the other; a process for each would load most of it again. */
const driver = join(folder, "driver.mjs");
writeFileSync(
  driver,
  `for (const [index, { words, env }] of JSON.parse(process.argv[2]).entries()) {
  process.stderr.write("begins\\n");
  Object.assign(process.env, env);
  process.argv = [process.execPath, "sous", ...words];
  await import(${JSON.stringify(pathToFileURL(join(sourceFolder, "app/cli/main.ts")).href)} + "?" + index);
}`,
);

type Line = { words: string[]; env: Record<string, string> };

/** What each line loads that none before it did: below `src/`, or the name of a package. A run can only be the last. */
async function loadedBy(...lines: Line[]): Promise<ReadonlySet<string>[]> {
  const env = { NODE_COMPILE_CACHE: compiled, NODE_OPTIONS: `--import=${pathToFileURL(hook)}` };
  const child = promisify(execFile)(process.execPath, [driver, JSON.stringify(lines)], { env, maxBuffer: 2 ** 26 });
  // A run reads it to its end.
  child.child.stdin?.end();
  const { stderr } = await child.catch((error) => error);
  const source = `${pathToFileURL(sourceFolder)}/`;
  const [, ...told] = stderr.split("begins\n");
  assert.equal(told.length, lines.length, stderr);
  return told.map((text: string) => {
    const urls = [...text.matchAll(/^loads (file:[^?\n]*)/gm)].map(([, url = ""]) => url);
    return new Set(urls.map((url) => (url.startsWith(source) ? url.slice(source.length) : packageOf(url))));
  });
}

function packageOf(url: string): string {
  return /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? url.split("/").slice(-2).join("/");
}

function foldersOf(loaded: ReadonlySet<string>): string[] {
  return [...new Set([...loaded].map((path) => folderOf(path) || path))].sort();
}

/** A run with this script, and the variables and the configuration of a user. */
function running(name: string, calls: object[], configuration: object, variables: Record<string, string> = {}): Line {
  const home = join(folder, name);
  mkdirSync(join(home, "sous"), { recursive: true });
  writeFileSync(join(home, "sous/config.yaml"), JSON.stringify(configuration));
  const answers = join(home, "answers.json");
  writeFileSync(answers, JSON.stringify({ sous: [...calls, { text: "Done." }] }));
  const env = { XDG_CONFIG_HOME: home, XDG_STATE_HOME: home, XDG_DATA_HOME: home, ...variables };
  return { words: ["run", "Go", "--model", `script/${answers}`, "--ephemeral", "--quiet"], env };
}

const toy = { command: process.execPath, args: [join(import.meta.dirname, "meeting-mcp-server.mjs"), folder] };
const STORED = [
  "app/cli",
  "app/config",
  "core",
  "machine",
  "runtime/rights",
  "runtime/secrets",
  "storage/store",
  "zod",
];
const isAcp = (path: string): boolean => /^(?:bridges\/acp|@agentclientprotocol)/.test(path);
const isMcp = (path: string): boolean => /^(?:bridges\/mcp\/|mcp\.ts|@modelcontextprotocol\/)/.test(path);
const isTelemetry = (path: string): boolean => /^(?:bridges\/telemetry\/|@opentelemetry\/)/.test(path);

test("--version loads nothing but the command itself", async () => {
  const [version = new Set()] = await loadedBy({ words: ["--version"], env: {} });
  assert.deepEqual([...version], ["app/cli/main.ts", "sous/package.json"]);
});

suite("start-up loads what is needed", () => {
  let [help, list, tree, one, run]: ReadonlySet<string>[] = [];

  before(async () => {
    await using data = await dataFolder();
    {
      await using store = await openSqliteStore(data.file);
      await keepSampleRuns(store);
    }
    const looks = [["--list"], ["--tree", "--id", "last"], ["--id", "last"]];
    const configured = {
      agent_servers: { claude: { command: "claude-agent-acp" } },
      mcp_servers: { off: { ...toy, disabled: true }, others: { ...toy, agents: ["another"] } },
    };
    [help, list, tree, one, run] = await loadedBy(
      { words: ["replay", "--help"], env: {} },
      ...looks.map((options) => ({ words: ["replay", ...options], env: data.env })),
      running("plain", [], configured, { OTEL_SERVICE_NAME: "x", OTEL_TRACES_EXPORTER: "otlp" }),
    );
  });

  /** Everything that was loaded when the run had ended. */
  const whole = (): string[] => [help, list, tree, one, run].flatMap((loaded) => [...(loaded ?? [])]);

  test("--help loads only its text", () => {
    assert.ok(help?.has("app/cli/table/help.ts"));
    assert.deepEqual(
      [...(help ?? [])].filter((path) => !path.startsWith("app/cli/table/")).sort(),
      // The flags of limits are described with their settings.
      ["app/cli/main.ts", "app/config/limit-settings.ts"],
    );
  });

  test("looking at stored runs loads no runtime, no provider and no tool", () => {
    assert.ok(list?.has("storage/store/sqlite/store.ts"));
    assert.deepEqual(foldersOf(list ?? new Set()), STORED);
    for (const more of [tree, one]) {
      assert.ok(more?.has("app/cli/main.ts"));
      assert.deepEqual(
        foldersOf(more ?? new Set()).filter((each) => !STORED.includes(each)),
        [],
      );
    }
  });

  test("a run that delegates to no external agent loads nothing of the protocol, though one is configured", () => {
    assert.ok(run?.has("runtime.ts"));
    assert.ok(run?.has("app/cli/application/external.ts"));
    assert.deepEqual(whole().filter(isAcp), []);
  });

  test("a run that may use no tool of a server loads nothing of MCP", () => {
    assert.deepEqual(whole().filter(isMcp), []);
  });

  test("a run that does not search loads no engine of patterns", () => {
    assert.ok(whole().includes("core/pattern.ts"));
    assert.equal(whole().includes("re2js"), false);
  });

  test("F2: a run that sends and serves nothing loads nothing of telemetry", () => {
    assert.deepEqual(whole().filter(isTelemetry), []);
  });
});

test("serving metrics loads no runtime but the prices, no provider and nothing of OpenTelemetry, and a run what it uses and serves", async () => {
  await using data = await dataFolder();
  await (await openSqliteStore(data.file))[Symbol.asyncDispose]();
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const { port } = taken.address() as AddressInfo;
  const search = { pattern: "no such text", path: "package.json" };
  const { words, env } = running("uses", [{ calls: [{ tool: "grep", input: search }] }], { mcp_servers: { toy } });
  const [metrics = new Set(), run = new Set()] = await loadedBy(
    { words: ["metrics", "--port", String(port)], env: data.env },
    { words: [...words, "--metrics-port", "0"], env },
  );
  taken.close();
  assert.ok(metrics.has("bridges/telemetry/metrics-endpoint.ts"));
  assert.deepEqual(foldersOf(metrics), [...STORED, "bridges/telemetry", "runtime/budget"].sort());
  assert.ok(run.has("bridges/mcp/open.ts") && run.has("@modelcontextprotocol/client"), [...run].join());
  assert.ok(run.has("re2js"));
  assert.ok(run.has("bridges/telemetry/registry.ts") || metrics.has("bridges/telemetry/registry.ts"));
  assert.deepEqual(
    [...metrics, ...run].filter((path) => path.startsWith("@opentelemetry/")),
    [],
  );
});

test("F2: a run that sends loads what it sends with", async () => {
  const line = running("sends", [], {}, { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" });
  const [sending = new Set<string>()] = await loadedBy(line);
  assert.ok([...sending].filter(isTelemetry).length > 5);
});
