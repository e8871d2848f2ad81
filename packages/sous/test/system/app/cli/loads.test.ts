/** What a command loads: start-up is imports, so each loads what it needs and nothing else. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, suite, test } from "node:test";
import { pathToFileURL } from "node:url";
import { openSqliteStore } from "../../../../src/storage/store/sqlite/store.ts";
import { keepSampleRuns } from "../../../support/app/cli/kept-runs.ts";
import { dataFolder, sous } from "../../../support/app/cli/sous-process.ts";
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
  test("--version loads nothing but the command itself, and --help only its text", async () => {
    assert.deepEqual([...(await loadedBy(["--version"], {}))], ["app/cli/main.ts", "sous/package.json"]);
    const help = await loadedBy(["replay", "--help"], {});
    assert.ok(help.has("app/cli/table/help.ts"));
    assert.deepEqual(
      [...help].filter((path) => !path.startsWith("app/cli/table/")).sort(),
      // The flags of limits are described with their settings.
      ["app/cli/main.ts", "app/config/limit-settings.ts"],
    );
  });

  test("looking at stored runs loads no runtime, no provider and no tool", async () => {
    await using data = await dataFolder();
    {
      await using store = await openSqliteStore(data.file);
      await keepSampleRuns(store);
    }
    for (const parameters of [["--list"], ["--tree", "--id", "last"], ["--id", "last"]]) {
      const loaded = await loadedBy(["replay", ...parameters], data.env);
      assert.ok(loaded.has("storage/store/sqlite/store.ts"));
      const folders = new Set([...loaded].map((path) => folderOf(path) || path));
      assert.deepEqual(
        [...folders].sort(),
        ["app/cli", "app/config", "core", "machine", "runtime/rights", "runtime/secrets", "storage/store", "zod"],
        parameters.join(" "),
      );
    }
  });

  test("serving metrics loads no runtime, no provider and nothing of OpenTelemetry", async () => {
    await using data = await dataFolder();
    await (await openSqliteStore(data.file))[Symbol.asyncDispose]();
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const { port } = taken.address() as AddressInfo;
    const loaded = await loadedBy(["metrics", "--port", String(port)], data.env);
    taken.close();
    assert.ok(loaded.has("bridges/telemetry/metrics-endpoint.ts"));
    const folders = new Set([...loaded].map((path) => folderOf(path) || path));
    const ours = ["app/cli", "app/config", "bridges/telemetry", "core", "machine", "runtime/rights", "runtime/secrets"];
    const allowed = [...ours, "storage/store", "zod"];
    assert.deepEqual([...folders].sort(), allowed);
  });

  test("a run that delegates to no agent of others loads nothing of the protocol, though one is configured", async () => {
    const answers = join(folder, "answers.json");
    writeFileSync(answers, JSON.stringify({ sous: [{ text: "Done." }] }));
    mkdirSync(join(folder, "sous"), { recursive: true });
    writeFileSync(join(folder, "sous/config.yaml"), "agent_servers: { claude: { command: claude-agent-acp } }\n");
    const env = { XDG_CONFIG_HOME: folder, XDG_STATE_HOME: folder, XDG_DATA_HOME: folder };
    const loaded = await loadedBy(["run", "Go", "--model", `script/${answers}`, "--ephemeral"], env);
    assert.ok(loaded.has("app/cli/application/external.ts"));
    const acp = [...loaded].filter((path) => path.startsWith("bridges/acp") || path.startsWith("@agentclientprotocol"));
    assert.deepEqual(acp, []);
  });

  test("a run that may use no tool of a server loads nothing of MCP, and one that may loads all of it", async () => {
    const answers = join(folder, "mcp.json");
    writeFileSync(answers, JSON.stringify({ sous: [{ text: "Done." }] }));
    const loadedWith = async (servers: object) => {
      const home = mkdtempSync(join(folder, "mcp-"));
      mkdirSync(join(home, "sous"));
      writeFileSync(join(home, "sous/config.yaml"), JSON.stringify(servers));
      const env = { XDG_CONFIG_HOME: home, XDG_STATE_HOME: home, XDG_DATA_HOME: home };
      const loaded = await loadedBy(["run", "Go", "--model", `script/${answers}`, "--ephemeral"], env);
      assert.ok(loaded.has("runtime.ts"));
      return [...loaded].filter((path) => /^(?:bridges\/mcp\/|mcp\.ts|@modelcontextprotocol\/)/.test(path));
    };
    const toy = { command: process.execPath, args: [join(import.meta.dirname, "meeting-mcp-server.mjs"), folder] };
    assert.deepEqual(await loadedWith({}), []);
    const unused = { off: { ...toy, disabled: true }, others: { ...toy, agents: ["another"] } };
    assert.deepEqual(await loadedWith({ mcp_servers: unused }), []);
    const used = await loadedWith({ mcp_servers: { toy } });
    assert.ok(used.includes("bridges/mcp/open.ts") && used.includes("@modelcontextprotocol/client"), used.join());
  });

  test("a run that searches loads the engine of patterns, and one that does not search does not", async () => {
    const env = { XDG_CONFIG_HOME: folder, XDG_STATE_HOME: folder, XDG_DATA_HOME: folder };
    const loadsEngine = async (name: string, calls: object[]): Promise<boolean> => {
      const answers = join(folder, name);
      writeFileSync(answers, JSON.stringify({ sous: [...calls, { text: "Done." }] }));
      const loaded = await loadedBy(["run", "Go", "--model", `script/${answers}`, "--ephemeral"], env);
      assert.ok(loaded.has("core/pattern.ts"));
      return loaded.has("re2js");
    };
    assert.equal(await loadsEngine("still.json", []), false);
    const search = { pattern: "no such text", path: "package.json" };
    assert.equal(await loadsEngine("searches.json", [{ calls: [{ tool: "grep", input: search }] }]), true);
  });

  test("F2: a run that sends and serves nothing loads nothing of telemetry", async () => {
    const answers = join(folder, "telemetry.json");
    writeFileSync(answers, JSON.stringify({ sous: [{ text: "Done." }] }));
    const env = {
      XDG_CONFIG_HOME: folder,
      XDG_STATE_HOME: folder,
      OTEL_SERVICE_NAME: "x",
      OTEL_TRACES_EXPORTER: "otlp",
    };
    const run = ["run", "Go", "--model", `script/${answers}`, "--ephemeral", "--quiet"];
    const isTelemetry = (path: string): boolean => /^(?:bridges\/telemetry\/|@opentelemetry\/)/.test(path);
    assert.deepEqual([...(await loadedBy(run, env))].filter(isTelemetry), []);
    const sending = await loadedBy(run, { ...env, OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" });
    assert.ok([...sending].filter(isTelemetry).length > 5);
    const serving = await loadedBy([...run, "--metrics-port", "0"], env);
    assert.ok(serving.has("bridges/telemetry/registry.ts"));
    assert.deepEqual(
      [...serving].filter((path) => path.startsWith("@opentelemetry/")),
      [],
    );
  });
});
