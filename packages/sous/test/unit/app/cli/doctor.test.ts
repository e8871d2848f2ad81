/** `sous doctor`: what it finds, what it says about it, and that it only looks. */

import assert from "node:assert/strict";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, suite, test } from "node:test";
import {
  checkLines,
  type DoctorRequest,
  examine,
  exitCodeOf,
  toJson,
} from "../../../../src/app/cli/commands/doctor.ts";
import { type Check, checkDisk, checkTerminal } from "../../../../src/app/cli/doctor/machine.ts";
import { userFolder } from "../../../../src/app/cli/files/paths.ts";
import { chooseStyle } from "../../../../src/app/cli/terminal/style.ts";
import { readProject } from "../../../../src/app/config/trust/files.ts";
import { trust as giveTrust } from "../../../../src/app/config/trust/trust.ts";
import { PRICES_AS_OF } from "../../../../src/runtime/budget/prices.ts";
import { openSqliteStore } from "../../../../src/storage/store/sqlite/store.ts";
import { inProcess } from "../../../support/app/cli/in-process.ts";
import { keepSampleRuns } from "../../../support/app/cli/kept-runs.ts";
import { TerminalInProcess } from "../../../support/app/cli/terminal-in-process.ts";

const SECRET = "sk-ant-never-shown-0123456789";
const root = mkdtempSync(join(tmpdir(), "sous-doctor-"));
after(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }));

/** A user who has just come: a home of their own, and nothing in it. */
function home(): { path: string; env: Record<string, string>; config: string; database: string; state: string } {
  const path = mkdtempSync(join(root, "home-"));
  return {
    path,
    env: { HOME: path, PATH: "/nonexistent" },
    config: join(path, ".config/sous"),
    database: join(path, ".local/share/sous/sous.db"),
    state: join(path, ".local/state/sous"),
  };
}

type Asked = { env: Record<string, string>; cwd?: string; flags?: Partial<DoctorRequest["flags"]> };

async function examined({ env, cwd = root, flags }: Asked): Promise<Map<string, Check>> {
  const checks = await examine({
    cwd,
    env,
    flags: { model: undefined, config: undefined, "db-path": undefined, online: false, ...flags },
    terminal: { isTerminal: false, columns: undefined, rows: undefined },
    versions: { node: process.versions.node, sous: "0.1.0" },
  });
  return new Map(checks.map((check) => [check.name, check]));
}

function stateIn(checks: ReadonlyMap<string, Check>, name: string): string {
  return `${checks.get(name)?.state}: ${checks.get(name)?.found}`;
}

function codeOf(checks: ReadonlyMap<string, Check>): number {
  return exitCodeOf([...checks.values()]);
}

test("a machine that has just got sous has no problem, and nothing is made by looking", async () => {
  const { path, env } = home();
  const checks = await examined({ env });
  assert.deepEqual(
    [...checks.values()].filter(({ state }) => state === "problem"),
    [],
  );
  assert.equal(codeOf(checks), 0);
  assert.equal(existsSync(join(path, ".config")), false);
  assert.equal(existsSync(join(path, ".local")), false);
});

test("every warning and every problem says what to do", async () => {
  const { env, config } = home();
  mkdirSync(config, { recursive: true });
  chmodSync(config, 0o777);
  const { checks } = toJson([...(await examined({ env, flags: { model: "anthropic/x" } })).values()]) as {
    checks: Check[];
  };
  const bad = checks.filter(({ state }) => state !== "ok");
  assert.ok(bad.length >= 2);
  assert.deepEqual(
    bad.filter(({ fix }) => !fix),
    [],
  );
});

suite("the key of the model", () => {
  const model = "anthropic/claude-sonnet-4-5";
  test("the key of the model is named when it is set, and its value is nowhere", async () => {
    const { env } = home();
    const checks = await examined({ env: { ...env, SOUS_MODEL: model, ANTHROPIC_API_KEY: SECRET } });
    assert.equal(stateIn(checks, "key"), "ok: ANTHROPIC_API_KEY is set");
    assert.equal(JSON.stringify([...checks]).includes(SECRET), false);
  });
  test("a missing key of the model is a problem", async () => {
    const { env } = home();
    const checks = await examined({ env: { ...env, SOUS_MODEL: model } });
    assert.equal(stateIn(checks, "key"), "problem: ANTHROPIC_API_KEY is not set");
    assert.equal(codeOf(checks), 1);
  });
  test("no key is needed for a server of one's own", async () => {
    const { env } = home();
    const checks = await examined({ env, flags: { model: "ollama/llama3" } });
    assert.match(stateIn(checks, "key"), /^ok: none, and none is needed/);
  });
  test("no key is asked for when answers come from a file", async () => {
    const checks = await examined({ env: home().env, flags: { model: "script/answers.json" } });
    assert.equal(stateIn(checks, "model"), "ok: script/answers.json, answers from a file");
    assert.equal(checks.has("key"), false);
  });
  test("the key of an unknown provider is not asked for", async () => {
    const { env } = home();
    const checks = await examined({ env, flags: { model: "nobody/x" } });
    assert.match(stateIn(checks, "model"), /^problem: No model provider is called "nobody"/);
  });
});

suite("prices", () => {
  test("prices are of the date of the shipped table, and of the user's configuration", async () => {
    const { env, config } = home();
    const table = `ok: the shipped table is of ${PRICES_AS_OF}`;
    assert.equal(stateIn(await examined({ env }), "prices"), table);
    mkdirSync(config, { recursive: true });
    writeFileSync(join(config, "config.yaml"), "prices: { ollama/small: { input: 0, output: 0 } }\n", { mode: 0o600 });
    const checks = await examined({ env, flags: { model: "ollama/small" } });
    assert.equal(stateIn(checks, "prices"), `${table}, and 1 price in your configuration`);
  });

  test("an unknown price of the model is a warning only where money is limited", async () => {
    const { env } = home();
    const flags = { model: "ollama/small" };
    const found = `the shipped table is of ${PRICES_AS_OF}; ollama/small has no price, so its cost is not known`;
    assert.equal(stateIn(await examined({ env, flags }), "prices"), `ok: ${found}`);
    const limited = await examined({ env: { ...env, SOUS_AGENT_SUBAGENT_MAX_TOTAL_COST: "1" }, flags });
    assert.equal(
      stateIn(limited, "prices"),
      `warning: ${found}, and agent.subagent.max_total_cost keeps it from having children`,
    );
    assert.match(limited.get("prices")?.fix ?? "", /^add ollama\/small with input and output below prices:/);
    const stopped = await examined({ env: { ...env, SOUS_AGENT_BUDGET: "1" }, flags });
    assert.equal(stateIn(stopped, "prices"), `warning: ${found}, and agent.budget keeps it from running`);
  });
});

test("a proxy that Node would not use is a warning that names the variable and not its value", async () => {
  const { env } = home();
  const own = { ...env, SOUS_MODEL: "ollama/x", HTTPS_PROXY: `http://user:${SECRET}@proxy.test` };
  const checks = await examined({ env: own });
  assert.equal(stateIn(checks, "proxy"), "warning: HTTPS_PROXY is set, but Node does not use it by itself");
  assert.equal(JSON.stringify([...checks]).includes(SECRET), false);
  const told = await examined({ env: { ...own, NODE_USE_ENV_PROXY: "1" } });
  assert.equal(stateIn(told, "proxy"), "ok: HTTPS_PROXY is set, and Node uses it");
  assert.equal((await examined({ env: { ...env, SOUS_MODEL: "ollama/x" } })).has("proxy"), false);
});

test("no request is made unless --online asks for one, and that one carries no key", async () => {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    response.writeHead(401).end();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  try {
    const { env } = home();
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const own = { ...env, SOUS_MODEL: "anthropic/x", ANTHROPIC_API_KEY: SECRET, ANTHROPIC_BASE_URL: address };
    assert.equal((await examined({ env: own })).has("network"), false);
    assert.equal(requests.length, 0);
    const checks = await examined({ env: own, flags: { online: true } });
    assert.equal(stateIn(checks, "network"), `ok: ${address}/v1 answers (401)`);
    assert.deepEqual(
      requests.map(({ method, url }) => [method, url]),
      [["HEAD", "/v1"]],
    );
    assert.equal(JSON.stringify(requests[0]?.rawHeaders).includes(SECRET), false);
  } finally {
    server.close();
    server.closeAllConnections();
  }
  const { env } = home();
  const gone = { ...env, SOUS_MODEL: "ollama/x", OLLAMA_HOST: "127.0.0.1:9" };
  assert.match(
    stateIn(await examined({ env: gone, flags: { online: true } }), "network"),
    /^problem: .* does not answer/,
  );
});

test("programs are looked for and not started", async () => {
  const { path, env } = home();
  const [bin, marker] = [join(path, "bin"), join(path, "marker")];
  mkdirSync(bin);
  for (const name of ["bash", "git", "rg"]) {
    writeFileSync(join(bin, name), `#!/bin/sh\ntouch ${marker}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  const checks = await examined({ env: { ...env, PATH: bin }, cwd: mkdtempSync(join(root, "work-")) });
  for (const name of ["bash", "git", "rg"]) assert.equal(stateIn(checks, name), `ok: ${join(bin, name)}`);
  const inside = await examined({ env: { ...env, PATH: bin }, cwd: path });
  assert.match(stateIn(inside, "bash"), /^warning: not found in PATH/);
  assert.equal(existsSync(marker), false);
  const without = await examined({ env: { ...env, PATH: "" } });
  assert.match(stateIn(without, "bash"), /^warning: not found in PATH/);
  assert.match(stateIn(without, "rg"), /^ok: not found in PATH/);
});

suite("the setup", () => {
  test("a wrong setting is a problem of its own: the command ends with 3", async () => {
    const { env, config } = home();
    mkdirSync(config, { recursive: true, mode: 0o700 });
    writeFileSync(join(config, "config.yaml"), "agent:\n  max_turns: 0\n", { mode: 0o600 });
    const checks = await examined({ env });
    assert.match(stateIn(checks, "configuration"), /^problem: 1 mistake, first .*config\.yaml:2:\d+: /);
    assert.equal(codeOf(checks), 3);
  });
  test("the check of the key names its command and does not run it", async () => {
    const { env, path, config } = home();
    const marker = join(path, "marker");
    mkdirSync(config, { recursive: true, mode: 0o700 });
    const text = `model: anthropic/x\nprovider: { api_key_command: touch ${marker} }\n`;
    writeFileSync(join(config, "config.yaml"), text, { mode: 0o600 });
    const checks = await examined({ env: { ...env, PATH: process.env.PATH ?? "" } });
    assert.equal(stateIn(checks, "key"), "ok: from provider.api_key_command, which was not run");
    assert.equal(existsSync(marker), false);
  });
  test("B4.1: the setup of a project counts for nothing before it is trusted, and is not even complained about", async () => {
    const { env, path } = home();
    const project = join(path, "project");
    mkdirSync(join(project, ".sous/agents"), { recursive: true });
    writeFileSync(join(project, ".sous/config.yaml"), "model: [not, a, model]\n");
    writeFileSync(join(project, ".sous/agents/spy.md"), "---\nname: spy\nallowed_tools: none\n---\nSpy.\n");
    const checks = await examined({ env, cwd: project });
    assert.match(stateIn(checks, "trust"), /^warning: .* is not trusted, so these are not read: \.sous$/);
    assert.match(stateIn(checks, "configuration"), /^ok: valid, 0 of/);
    assert.equal(stateIn(checks, "agents"), "ok: no agent files");
    assert.equal(codeOf(checks), 0);
  });
  test("B4.2: doctor says what has changed in a project that was trusted, also when nothing of it is left", async () => {
    const { env, path } = home();
    const project = join(path, "project");
    mkdirSync(project, { recursive: true });
    writeFileSync(join(project, "AGENTS.md"), "Be brief.\n");
    await giveTrust(realpathSync(project), await readProject(project), {
      stateFolder: userFolder("state", env),
      at: new Date(),
    });
    rmSync(join(project, "AGENTS.md"));
    const checks = await examined({ env, cwd: project });
    assert.match(stateIn(checks, "trust"), /^warning: .* has changed since it was trusted \(removed AGENTS\.md\)/);
  });
  test("doctor says which files of a trusted project are read, and what is wrong with the list of the trusted ones", async () => {
    const { env, path, state } = home();
    const project = join(path, "project");
    mkdirSync(project, { recursive: true });
    writeFileSync(join(project, "AGENTS.md"), "Be brief.\n");
    await giveTrust(realpathSync(project), await readProject(project), {
      stateFolder: userFolder("state", env),
      at: new Date(),
    });
    const root = realpathSync(project);
    assert.equal(stateIn(await examined({ env, cwd: project }), "trust"), `ok: ${root} is trusted: AGENTS.md`);
    writeFileSync(join(state, "trust.json"), "nonsense");
    const checks = await examined({ env, cwd: project });
    assert.match(stateIn(checks, "trust"), /^problem: .*trust\.json/);
    assert.equal(checks.get("trust")?.fix, "sous trust --revoke, then sous trust");
  });
  test("the agents of the user are listed, and one that cannot be loaded is a problem", async () => {
    const { env, config } = home();
    mkdirSync(join(config, "agents"), { recursive: true, mode: 0o700 });
    const [scout, broken] = [join(config, "agents/scout.md"), join(config, "agents/broken.md")];
    writeFileSync(scout, "---\nname: scout\ndescription: Finds code.\ntools: [grep]\n---\nAnswer briefly.\n");
    assert.equal(stateIn(await examined({ env }), "agents"), "ok: 1: scout");
    writeFileSync(broken, "---\nname: broken\ndescription: x\nallowed_tools: [grep]\n---\nHm.\n");
    const checks = await examined({ env });
    assert.match(stateIn(checks, "agents"), /^problem: 1: scout; .*allowed_tools/);
    assert.equal(codeOf(checks), 3);
  });
});

suite("folders", () => {
  for (const [mode, state] of [
    [0o700, "ok"],
    [0o755, "warning"],
    [0o777, "problem"],
  ] as const) {
    test(`a folder with the mode ${mode.toString(8)} is ${state}`, async () => {
      const { env, config } = home();
      mkdirSync(config, { recursive: true });
      chmodSync(config, mode);
      assert.equal((await examined({ env })).get("config folder")?.state, state);
    });
  }
  test("a file in place of a folder is a problem", async () => {
    const { path, env } = home();
    mkdirSync(join(path, ".config"));
    writeFileSync(join(path, ".config/sous"), "");
    assert.match(stateIn(await examined({ env }), "config folder"), /^problem: .* is not a folder$/);
  });
  test("folders that cannot be made, because nothing can be written above them, are a problem", async () => {
    const { path, env } = home();
    const link = join(path, "link");
    symlinkSync(join(path, "gone"), link);
    const found = await examined({ env: { ...env, XDG_CONFIG_HOME: link } });
    assert.equal(stateIn(found, "config folder"), `problem: ${link}/sous cannot be made: ${link} is not writable`);
  });
  test("folders of another user are a problem", { skip: process.getuid?.() !== 0 }, async () => {
    const { env, config } = home();
    mkdirSync(config, { recursive: true, mode: 0o700 });
    chownSync(config, 12_345, 12_345);
    const checks = await examined({ env });
    assert.equal(stateIn(checks, "config folder"), `problem: ${config} belongs to another user (12345)`);
    assert.equal(checks.get("config folder")?.fix, `chown -R 0 ${config}`);
  });
  test("a disk without any room is a problem", { skip: process.platform !== "linux" }, () => {
    const { state, found } = checkDisk("/proc/no/sous.db");
    assert.deepEqual([state, found], ["problem", "0 MB free at /proc"]);
  });
  test("settings that others can change are a problem", async () => {
    const { env, config } = home();
    mkdirSync(config, { recursive: true, mode: 0o700 });
    writeFileSync(join(config, "config.yaml"), "");
    chmodSync(join(config, "config.yaml"), 0o666);
    assert.match(stateIn(await examined({ env }), "settings file"), /^problem: .* can be changed by others$/);
  });
  test("folders without a home are a problem that says which variable helps", async () => {
    const checks = await examined({ env: { PATH: "/nonexistent" } });
    assert.match(stateIn(checks, "config folder"), /^problem: HOME is not set.*XDG_CONFIG_HOME/);
    assert.match(stateIn(checks, "database"), /^problem: HOME is not set.*--db-path/);
  });
});

suite("the database", () => {
  test("the database is described, and a look leaves no trace", async () => {
    const { env, database } = home();
    {
      await using store = await openSqliteStore(database);
      await keepSampleRuns(store);
    }
    const before = statSync(database, { bigint: true }).mtimeNs;
    const found = stateIn(await examined({ env }), "database");
    assert.match(found, /^ok: .*\/sous\.db: version \d+, [\d.]+ MB, 5 runs$/);
    assert.equal(statSync(database, { bigint: true }).mtimeNs, before);
    assert.equal(existsSync(`${database}-wal`), false);
  });
  test("a damaged database is a problem", async () => {
    const { env, database } = home();
    {
      await using store = await openSqliteStore(database);
      await keepSampleRuns(store);
    }
    const bytes = readFileSync(database);
    // All but the first page, where the schema is.
    writeFileSync(database, bytes.fill(0xa5, 4096));
    const checks = await examined({ env });
    assert.equal(checks.get("database")?.state, "problem");
    assert.equal(codeOf(checks), 1);
  });
  test("doctor tells what the check of a database that is damaged in one place found, and what to do", async () => {
    const { env, database } = home();
    {
      await using store = await openSqliteStore(database);
      await keepSampleRuns(store);
    }
    const bytes = readFileSync(database);
    writeFileSync(database, bytes.fill(0xa5, bytes.length - 4096));
    const checks = await examined({ env });
    assert.match(stateIn(checks, "database"), /^problem: .*\/sous\.db is damaged: ./);
    assert.equal(checks.get("database")?.fix, "keep a copy, and give another file with --db-path");
  });
  test("a file that is no database is a problem", async () => {
    const { env, path } = home();
    const file = join(path, "notes.txt");
    writeFileSync(file, "Nothing to see.\n".repeat(100));
    assert.match(
      stateIn(await examined({ env, flags: { "db-path": file } }), "database"),
      /^problem: .* not a database/,
    );
  });
});

test("a terminal without Unicode, or a very narrow one, is told what helps", () => {
  const terminal = { isTerminal: true, columns: 100, rows: 30 };
  assert.equal(checkTerminal(terminal, { LANG: "C.UTF-8" }).found, "100 × 30, live, colour, Unicode");
  assert.equal(checkTerminal(terminal, {}).found, "100 × 30, live, colour, Unicode");
  assert.match(checkTerminal(terminal, { LANG: "C" }).found, /locale \(C\) is not UTF-8, so glyphs are plain/);
  assert.match(checkTerminal({ ...terminal, columns: 30 }, { LANG: "C.UTF-8" }).fix ?? "", /40 columns/);
  assert.equal(
    checkTerminal(terminal, { LC_ALL: "C.UTF-8", NO_COLOR: "1", CI: "1" }).found,
    "100 × 30, plain lines, no colour, Unicode",
  );
});

test("the command prints a line for each check, ends with its code, and lets no code through to a terminal", async () => {
  const { env } = home();
  const hostile = { ...env, SOUS_MODEL: "x\u001b]0;owned\u0007\u001b[2J/y" };
  const { code, stdout, stderr } = await inProcess(["doctor", "--color", "never"], { env: hostile });
  assert.deepEqual([code, stderr], [3, ""]);
  assert.match(stdout, /^problem {2}configuration +1 mistake, first SOUS_MODEL: .*To do: sous config check/m);
  assert.match(stdout, /^problem {2}model +No model provider is called .*To do: choose another/m);
  assert.match(stdout, /\n\n2 problems, \d warnings?\.\n$/);
  assert.equal(stdout.includes("\u001b"), false);
});

test("in a terminal what is long continues below itself, beside the names of the checks", async () => {
  const { env } = home();
  await using command = new TerminalInProcess(["doctor", "--color", "never"], { cwd: root, env, columns: 60 });
  await command.ended;
  const [, first, below] = /^(warning {2}model {10}none is chosen\. .*)\n( +)\S/m.exec(command.screen.text()) ?? [];
  assert.deepEqual([below?.length, (first ?? "").length <= 60], ["warning  model          ".length, true]);
  for (const line of command.screen.text().split("\n")) assert.match(line, /^(?:\w+ {2,}\w| {24}\S|$|\d+ \w+)/);
});

test("a long name of a server, or a narrow terminal, leaves room for the sentences", () => {
  const name = "MCP server A server with a name that is quite long";
  const checks: Check[] = [
    { name: "node", state: "ok", found: "24" },
    {
      name,
      state: "problem",
      found: "It could not be started: there is no program.",
      fix: "sous mcp check shows more",
    },
  ];
  const style = chooseStyle({ color: "never", isAscii: false, isTerminal: true, env: {} });
  const at = (columns: number) => checkLines(checks, { style, columns, isTerminal: true });
  assert.deepEqual(at(79).slice(0, 3), [
    "ok       node                        24",
    `problem  ${name}`,
    `${" ".repeat(37)}It could not be started: there is no`,
  ]);
  assert.deepEqual(at(39).slice(0, 4), [
    "ok       node",
    "    24",
    "problem  MCP server A server with a na…",
    "    It could not be started: there is",
  ]);
  assert.match(at(39).join(" "), /program\. +To do: /);
});

test("F2: where telemetry goes is shown, and what is wrong with it; nothing is sent and nothing shown without any", async () => {
  const { env } = home();
  assert.equal((await examined({ env })).has("telemetry"), false);
  const to = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1", SOUS_METRICS_PORT: "9464" };
  const checks = await examined({ env: { ...env, ...to } });
  assert.equal(stateIn(checks, "telemetry"), "ok: traces to http://127.0.0.1:1, metrics to http://127.0.0.1:1");
  assert.equal(stateIn(checks, "metrics"), "ok: runs and chats serve them on port 9464");
  const wrong = await examined({ env: { ...env, OTEL_EXPORTER_OTLP_ENDPOINT: "grpc://127.0.0.1:4317" } });
  assert.match(stateIn(wrong, "telemetry"), /^warning: OTEL_EXPORTER_OTLP_ENDPOINT is not an address/);
});
