/** The package as a stranger gets it: built, packed, installed in an empty folder, on the oldest and the newest Node. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { after, before, suite, test } from "node:test";
import { promisify } from "node:util";
import { brokenLinks } from "../../../scripts/packed-pages.ts";
import { packedSous } from "./packed-sous.ts";
import { readManifest, rootFolder } from "./source-files.ts";

const fixtures = join(import.meta.dirname, "pack-fixtures");
const platform = `node-linux-${process.arch}`;
const node22 = join(rootFolder, "packages/node-22/node_modules", platform, "bin/node");
const temporary = mkdtempSync(join(tmpdir(), "sous-pack-"));
after(() => rmSync(temporary, { recursive: true, force: true, maxRetries: 5 }));

/** Where Node 22 is not part of the install (it is on Linux), the Node at hand has to do. */
const nodes =
  process.platform === "linux" ? { "Node 22": node22, "Node 24": process.execPath } : { Node: process.execPath };

/** The variants that need more than the package. */
const others = [
  ...["@ai-sdk/openai-compatible", "@valibot/to-json-schema", "ai", "@types/node", "valibot", "zod"],
  ...["@opentelemetry/api", "@opentelemetry/sdk-trace"],
];

const INSTALL_MS = 120_000;

let tarball: string;
const folder = join(temporary, "installed");
const packed = join(folder, "node_modules/sous");

before(async () => {
  ({ tarball } = await packedSous());
  makeFolder();
  // Each Node installs once, and asks all packages of the folder whether they are for it: the oldest now, the newest later.
  const [oldest] = Object.values(nodes);
  await install([tarball], oldest);
});

test("the package holds what was built, its manifest, documentation and licence", async () => {
  const { stdout } = await start("tar", ["-tzf", tarball], temporary);
  const rest = stdout
    .trim()
    .split("\n")
    .filter((file) => !/^package\/(dist\/.+\.(js|d\.ts)|docs\/.+\.md|docs\/llms\.txt)$/.test(file));
  assert.deepEqual(rest.sort(), [
    "package/CHANGELOG.md",
    "package/LICENSE",
    "package/README.md",
    "package/SECURITY.md",
    "package/package.json",
  ]);
});

test("no link in a page of the package leads to a file that the package does not have", () => {
  const pages = readdirSync(packed, { recursive: true, encoding: "utf8" }).filter((path) =>
    /^[^/]+\.md$|^docs\//.test(path),
  );
  const markdown = pages.filter((path) => /\.md$|llms\.txt$/.test(path));
  assert.ok(markdown.includes("docs/llms.txt"));
  assert.ok(markdown.includes("README.md") && markdown.length > 60, `${markdown.length} pages`);
  assert.deepEqual(
    markdown.flatMap((page) => brokenLinks(packed, page)),
    [],
  );
});

test("the readme and the manifest in the package are for those who install it", () => {
  const readme = readFileSync(join(packed, "README.md"), "utf8");
  assert.match(readme, /^npm install sous$/m);
  assert.doesNotMatch(readme, /clone|npm ci|<!-- (?:repository|package)|not on npm/);
  assert.deepEqual(JSON.parse(readFileSync(join(packed, "package.json"), "utf8")).engines, { node: ">=22.18" });
});

test("publint has nothing to say about the package", async () => {
  await start(process.execPath, [binary("publint"), "run", tarball, "--strict"], temporary);
});

test("attw finds every type where it is promised", async () => {
  await start(process.execPath, [binary("@arethetypeswrong/cli", "attw"), tarball, "--profile", "esm-only"], temporary);
});

for (const [name, node] of Object.entries(nodes)) {
  suite(`installed on ${name}, alone`, () => {
    test(`import "sous" loads no other package and prints nothing`, async () => {
      const { stdout, stderr } = await runFixture("loads", node);
      assert.equal(withoutStrippingWarning(stderr), "");
      const loaded: string[] = JSON.parse(stdout);
      assert.ok(loaded.some((url) => url.endsWith("/node_modules/sous/dist/index.js")));
      const foreign = loaded.filter((url) => url.startsWith("file:") && !url.includes("/node_modules/sous/dist/"));
      assert.deepEqual(foreign, []);
      assert.ok(!loaded.includes("node:sqlite"));
    });

    test("sous/postgres says what to install when pg is missing", async () => {
      const { stdout } = await runFixture("postgres-missing", node);
      const sentence = "Runs are stored in Postgres with the package pg, which is not installed: npm install pg";
      assert.equal(stdout.trim(), `UserError: ${sentence}`);
    });

    test("sous/otel says what to install when OpenTelemetry is missing", async () => {
      const { stdout } = await runFixture("otel-missing", node);
      const sentence =
        "Traces and metrics need the package @opentelemetry/api: install it beside sous, npm install @opentelemetry/api";
      assert.equal(stdout.trim(), `UserError: ${sentence}`);
    });

    test("the readme's lines run", async () => {
      const { stdout } = await runFixture("readme", node);
      assert.notEqual(stdout.trim(), "");
    });

    test("the command tells its version", async () => {
      const { stdout } = await start(join(folder, "node_modules/.bin/sous"), ["--version"], folder, { node });
      assert.equal(stdout.trim(), readManifest().version);
    });
  });
}

test("the readme's lines type-check with nothing else installed, and so does every declaration of the package", async () => {
  await typeCheck({ types: [], lib: ["esnext", "dom"], skipLibCheck: false }, ["readme.ts"]);
});

// The suites run in the order of the file: those above have seen the folder without the others.
suite("installed beside other packages", () => {
  before(() => install(others.map((name) => `${name}@${installedVersion(name)}`)));

  const printed = {
    replay: "replay: true true 1",
    embed: "embed: Seen. subagent.spawn, look, subagent.error, subagent.complete, true model; run-end",
    otel: "otel: chat model, invoke_agent lead, true",
    zod: "zod: 5",
    valibot: "valibot: 5",
    "json-schema": 'json-schema: 2 + 3 is 5. [{"a":2,"b":3}]',
    "ai-sdk-tool": "ai-sdk-tool: 2 + 3 is 5. [2,3]",
    "ai-sdk-model": "ai-sdk-model: 2 + 3 is 5. completed",
  };
  for (const [name, node] of Object.entries(nodes)) {
    for (const [fixture, line] of Object.entries(printed)) {
      test(`works with ${fixture} on ${name}`, async () => {
        const { stdout } = await runFixture(fixture, node);
        assert.equal(stdout.trim(), line);
      });
    }
  }

  test("every variant type-checks", async () => {
    const files = readdirSync(fixtures).filter((file) => file.endsWith(".ts"));
    // The declarations of the AI SDK name types of browsers and of packages that it does not bring along.
    await typeCheck({ types: ["node"], lib: ["esnext"], skipLibCheck: true }, files);
  });
});

/** An empty project with all fixtures. */
function makeFolder(): void {
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  for (const file of readdirSync(fixtures)) copyFileSync(join(fixtures, file), join(folder, file));
  writeFileSync(join(folder, "readme.ts"), readmeExample());
}

/** npm waits five minutes for an answer that does not come. */
const PATIENCE = ["--fetch-timeout=15000", "--fetch-retries=3", "--fetch-retry-mintimeout=1000"];

/** From npm's cache alone where that is enough. Else the registry is asked, which must answer in time. */
async function install(packages: readonly string[], node = process.execPath): Promise<void> {
  const flags = ["--engine-strict", "--no-audit", "--no-fund", "--loglevel=error", ...PATIENCE];
  const from = (where: string): Promise<Output> =>
    start("npm", ["install", where, ...flags, ...packages], folder, { node, timeout: INSTALL_MS });
  await from("--offline").catch(() => from("--prefer-offline"));
}

function readmeExample(): string {
  const readme = readFileSync(join(rootFolder, "README.md"), "utf8");
  const example = /<!-- example -->\s*```ts\n(.*?)```/s.exec(readme)?.[1];
  assert.ok(example !== undefined, "README.md has a block of ts after <!-- example -->");
  return example;
}

function installedVersion(name: string): string {
  return JSON.parse(readFileSync(join(rootFolder, "node_modules", name, "package.json"), "utf8")).version;
}

type TypeOptions = { types: string[]; lib: string[]; skipLibCheck: boolean };

async function typeCheck(options: TypeOptions, files: string[]): Promise<void> {
  const compilerOptions = { strict: true, module: "nodenext", target: "esnext", noEmit: true, ...options };
  const project = join(folder, "tsconfig.json");
  writeFileSync(project, JSON.stringify({ compilerOptions, files }));
  // As the build does: so few files take less time so.
  const flags = ["-p", project, "--singleThreaded"];
  await start(process.execPath, [binary("typescript", "tsc"), ...flags], folder, { extra: { GOGC: "off" } });
}

function runFixture(name: string, node: string): Promise<Output> {
  // What they load is the same, and is compiled once. Nobody will load it from this folder again.
  return start(node, [`${name}.ts`], folder, { node, extra: { NODE_COMPILE_CACHE: join(temporary, "compiled") } });
}

function withoutStrippingWarning(stderr: string): string {
  return stderr
    .split("\n")
    .filter((line) => !line.includes("Type Stripping is an experimental feature") && !line.includes("--trace-warnings"))
    .join("\n")
    .trim();
}

/** The file behind a command of an installed tool, to be run by the Node of our choice. */
function binary(name: string, command = name): string {
  const folder = join(rootFolder, "node_modules", name);
  const { bin } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = join(folder, typeof bin === "string" ? bin : bin[command]);
  assert.ok(existsSync(file));
  return file;
}

type Output = { stdout: string; stderr: string };

type StartOptions = { node?: string; extra?: Record<string, string>; timeout?: number };

/** Runs a command as if by hand: with one Node first on the path, and nothing left of the test runner or of npm. */
async function start(file: string, parameters: string[], cwd: string, options: StartOptions = {}): Promise<Output> {
  const { node = process.execPath, extra = {}, timeout } = options;
  const isOurs = (name: string): boolean =>
    /^(npm_(package|lifecycle|command|execpath|node)|NODE_(?!COMPILE_CACHE)|INIT_CWD)/.test(name);
  const inherited = Object.entries(process.env).filter(([name]) => !isOurs(name) && name !== "npm_config_local_prefix");
  const PATH = [dirname(node), process.env.PATH].join(delimiter);
  const env = { ...Object.fromEntries(inherited), PATH, ...extra };
  try {
    return await promisify(execFile)(file, parameters, { cwd, env, timeout, killSignal: "SIGKILL", encoding: "utf8" });
  } catch (error) {
    const { stdout = "", stderr = "", killed = false } = error as Partial<Output & { killed: boolean }>;
    const how = killed ? `did not end within ${timeout} ms` : "failed";
    throw new Error(`${file} ${parameters.join(" ")} ${how}:\n${stdout}${stderr}`, { cause: error });
  }
}
