/** What a command loads: start-up is imports, so each loads what it needs and nothing else. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, suite, test } from "node:test";
import { pathToFileURL } from "node:url";
import { openSqliteStore } from "../../src/store/sqlite/store.ts";
import { sourceFolder } from "../source-files.ts";
import { keepSampleRuns } from "./kept-runs.ts";
import { dataFolder, sous } from "./sous-process.ts";

const folder = mkdtempSync(join(tmpdir(), "sous-loads-"));
after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

/** Tells on stderr what is loaded. */
const hook = join(folder, "hook.mjs");
writeFileSync(
  hook,
  `import { registerHooks } from "node:module";
registerHooks({ load(url, context, next) { process.stderr.write("loads " + url + "\\n"); return next(url, context); } });`,
);

/** Below `src/`, or the name of a package. */
async function loadedBy(parameters: string[], env: Record<string, string>): Promise<Set<string>> {
  const options = { fromSources: true, env: { ...env, NODE_OPTIONS: `--import=${pathToFileURL(hook)}` } };
  const { stderr } = await sous(parameters, options);
  const source = `${pathToFileURL(sourceFolder)}/`;
  const urls = [...stderr.matchAll(/^loads (file:.*)$/gm)].map(([, url = ""]) => url);
  return new Set(urls.map((url) => (url.startsWith(source) ? url.slice(source.length) : packageOf(url))));
}

function packageOf(url: string): string {
  return /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? url.split("/").slice(-2).join("/");
}

suite("start-up loads what is needed", { concurrency: true }, () => {
  test("nothing but the command itself for --version, and its text for --help", async () => {
    assert.deepEqual([...(await loadedBy(["--version"], {}))], ["cli/main.ts", "sous/package.json"]);
    const help = await loadedBy(["replay", "--help"], {});
    assert.ok(help.has("cli/table/help.ts"));
    assert.deepEqual(
      [...help].filter((path) => !path.startsWith("cli/table/")),
      ["cli/main.ts"],
    );
  });

  test("no runtime, no provider and no tool for looking at stored runs", async () => {
    await using data = await dataFolder();
    {
      await using store = await openSqliteStore(data.file);
      await keepSampleRuns(store);
    }
    for (const parameters of [["--list"], ["--tree", "--id", "last"], ["--id", "last"]]) {
      const loaded = await loadedBy(["replay", ...parameters], data.env);
      assert.ok(loaded.has("store/sqlite/store.ts"));
      const folders = new Set([...loaded].map((path) => path.split("/")[0]));
      assert.deepEqual(
        [...folders].sort(),
        ["cli", "config", "core", "host.ts", "machine", "rights", "secrets", "store", "zod"],
        parameters.join(" "),
      );
    }
  });

  test("no runtime, no provider and nothing of OpenTelemetry for serving metrics", async () => {
    await using data = await dataFolder();
    await (await openSqliteStore(data.file))[Symbol.asyncDispose]();
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const { port } = taken.address() as AddressInfo;
    const loaded = await loadedBy(["metrics", "--port", String(port)], data.env);
    taken.close();
    assert.ok(loaded.has("telemetry/metrics-endpoint.ts"));
    const folders = new Set([...loaded].map((path) => path.split("/")[0]));
    const allowed = ["cli", "config", "core", "host.ts", "machine", "rights", "secrets", "store", "telemetry", "zod"];
    assert.deepEqual([...folders].sort(), allowed);
  });

  test("nothing of the protocol for a run that delegates to no agent of others, though one is configured", async () => {
    const answers = join(folder, "answers.json");
    writeFileSync(answers, JSON.stringify({ sous: [{ text: "Done." }] }));
    mkdirSync(join(folder, "sous"), { recursive: true });
    writeFileSync(join(folder, "sous/config.yaml"), "agent_servers: { claude: { command: claude-agent-acp } }\n");
    const env = { XDG_CONFIG_HOME: folder, XDG_STATE_HOME: folder, XDG_DATA_HOME: folder };
    const loaded = await loadedBy(["run", "Go", "--model", `script/${answers}`, "--ephemeral"], env);
    assert.ok(loaded.has("cli/application/outside.ts"));
    const acp = [...loaded].filter((path) => path.startsWith("acp") || path.startsWith("@agentclientprotocol"));
    assert.deepEqual(acp, []);
  });

  test("nothing of MCP for a run that may use no tool of a server, and all of it for one that may", async () => {
    const answers = join(folder, "mcp.json");
    writeFileSync(answers, JSON.stringify({ sous: [{ text: "Done." }] }));
    const loadedWith = async (servers: object) => {
      const home = mkdtempSync(join(folder, "mcp-"));
      mkdirSync(join(home, "sous"));
      writeFileSync(join(home, "sous/config.yaml"), JSON.stringify(servers));
      const env = { XDG_CONFIG_HOME: home, XDG_STATE_HOME: home, XDG_DATA_HOME: home };
      const loaded = await loadedBy(["run", "Go", "--model", `script/${answers}`, "--ephemeral"], env);
      assert.ok(loaded.has("runtime.ts"));
      return [...loaded].filter((path) => /^(?:mcp\/|mcp\.ts|@modelcontextprotocol\/)/.test(path));
    };
    const toy = { command: process.execPath, args: [join(import.meta.dirname, "meeting-mcp-server.mjs"), folder] };
    assert.deepEqual(await loadedWith({}), []);
    const unused = { off: { ...toy, disabled: true }, others: { ...toy, agents: ["another"] } };
    assert.deepEqual(await loadedWith({ mcp_servers: unused }), []);
    const used = await loadedWith({ mcp_servers: { toy } });
    assert.ok(used.includes("mcp/open.ts") && used.includes("@modelcontextprotocol/client"), used.join());
  });

  test("F2: nothing of telemetry for a run that sends and serves nothing", async () => {
    const answers = join(folder, "telemetry.json");
    writeFileSync(answers, JSON.stringify({ sous: [{ text: "Done." }] }));
    const env = {
      XDG_CONFIG_HOME: folder,
      XDG_STATE_HOME: folder,
      OTEL_SERVICE_NAME: "x",
      OTEL_TRACES_EXPORTER: "otlp",
    };
    const run = ["run", "Go", "--model", `script/${answers}`, "--ephemeral", "--quiet"];
    const isTelemetry = (path: string): boolean => /^(?:telemetry\/|@opentelemetry\/)/.test(path);
    assert.deepEqual([...(await loadedBy(run, env))].filter(isTelemetry), []);
    const sending = await loadedBy(run, { ...env, OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" });
    assert.ok([...sending].filter(isTelemetry).length > 5);
    const serving = await loadedBy([...run, "--metrics-port", "0"], env);
    assert.ok(serving.has("telemetry/registry.ts"));
    assert.deepEqual(
      [...serving].filter((path) => path.startsWith("@opentelemetry/")),
      [],
    );
  });
});
