/**
 * The package as a stranger gets it: built, packed, alone in a folder with what it brings along, on the oldest Node. What npm and
 * common bundlers make of the tarball is seen in `npm run interop -- install`.
 */

import assert from "node:assert/strict";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { brokenLinks } from "../../../../scripts/packed-pages.ts";
import { EXAMPLE } from "../../../../scripts/repository-files.ts";
import { installAlone, packedSous } from "../support/packed-sous.ts";
import { readManifest, rootFolder } from "../support/source-files.ts";
import { importsOf } from "./packed-imports.ts";
import { namesOfLanguage, type Output, speaksWithItself, start } from "./packed-programs.ts";

const fixtures = join(import.meta.dirname, "pack-fixtures");
const platform = `node-linux-${process.arch}`;
const node22 = join(rootFolder, "packages/node-22/node_modules", platform, "bin/node");
const temporary = mkdtempSync(join(tmpdir(), "sous-pack-"));
after(() => rmSync(temporary, { recursive: true, force: true, maxRetries: 5 }));

/** Where Node 22 is not part of the install (it is on Linux), the Node at hand has to do. */
const nodes =
  process.platform === "linux" ? { "Node 22": node22, "Node 24": process.execPath } : { Node: process.execPath };
/** Runs the package here; the newest does so in the tests of the examples. */
const [[name, node]] = Object.entries(nodes) as [[string, string]];

/** Below the package that is alone in a folder. */
const COMMAND = { sous: "dist/app/cli/main.js" };

const folder = join(temporary, "installed");
const packed = join(folder, "node_modules/sous");
/** All fixtures, where every package of the repository is beside sous. */
const beside = join(temporary, "beside");

let tarball: string;
let brought: string[];

before(async () => {
  const { project, ...made } = await packedSous();
  ({ tarball } = made);
  for (const each of [folder, beside]) makeFolder(each);
  brought = await installAlone(folder);
  symlinkSync(join(project, "node_modules"), join(beside, "node_modules"));
  writeFileSync(
    join(folder, "doors.ts"),
    importsOfDoors()
      .filter((line) => !line.includes("sous/otel"))
      .join(""),
  );
  writeFileSync(join(beside, "doors.ts"), importsOfDoors().join(""));
});

test("the package holds what was built, its manifest, documentation and licence", async () => {
  const { stdout } = await start("tar", ["-tzf", tarball], temporary);
  const rest = stdout
    .trim()
    .split("\n")
    .filter((file) => !/^package\/(dist\/.+\.(js|d\.ts)|docs\/.+\.md|docs\/llms\.txt)$/.test(file))
    .filter((file) => !EXAMPLE.test(file.slice("package/".length)));
  assert.deepEqual(rest.sort(), [
    "package/CHANGELOG.md",
    "package/LICENSE",
    "package/README.md",
    "package/SECURITY.md",
    "package/dist/THIRD-PARTY-LICENSES.txt",
    "package/docs/explanation/performance.svg",
    "package/examples/README.md",
    "package/package.json",
  ]);
  const notForUsers = stdout.split("\n").filter((file) => /decisions|requirements\.md/.test(file));
  assert.deepEqual(notForUsers, []);
});

test("the licences of all bundled packages are in the package", () => {
  const text = readFileSync(join(packed, "dist/THIRD-PARTY-LICENSES.txt"), "utf8");
  const names = [...text.matchAll(/^-{80}\n(\S+) \S+ \(/gm)].map(([, name]) => name);
  assert.deepEqual(names, [
    ...["@agentclientprotocol/sdk", "@modelcontextprotocol/client", "@modelcontextprotocol/core"],
    ...["@modelcontextprotocol/server", "ajv", "ajv-formats", "content-type", "eventsource", "eventsource-parser"],
    ...["fast-deep-equal", "fast-uri", "json-schema-traverse", "pkce-challenge", "re2js", "rolldown", "zod"],
  ]);
  assert.ok(text.split("Permission is hereby granted").length > 5 && text.includes("Apache License"));
});

test("the SDKs of the protocols are in files of their own, of less than 0.7 MB together", () => {
  const chunks = readdirSync(join(packed, "dist/chunks")).filter((file) => /^(mcp-core|\w+(-\w+)?-sdk)-/.test(file));
  assert.equal(chunks.length, 4, chunks.join());
  const bytes = chunks.map((file) => statSync(join(packed, "dist/chunks", file)).size);
  const total = bytes.reduce((sum, size) => sum + size, 0);
  assert.ok(total < 700_000, `${total} bytes`);
});

test("a bundler has to resolve nothing that an install does not bring, but pg for sous/postgres and the API of OpenTelemetry for sous/otel", () => {
  const { dependencies, peerDependencies, exports } = readPacked();
  const doors = Object.values<string | Record<string, string>>(exports).flatMap((door) =>
    typeof door === "string" ? [] : Object.values(door),
  );
  const brought = new Set(Object.keys(dependencies));
  const missing = doors.flatMap((file) =>
    importsOf(join(packed, file))
      .filter((name) => !brought.has(name))
      .map((name) => `${file}: ${name}`),
  );
  assert.deepEqual(missing, [
    "./dist/postgres.js: pg",
    "./dist/otel.d.ts: @opentelemetry/api",
    "./dist/otel.js: @opentelemetry/api",
  ]);
  assert.deepEqual(peerDependencies, { "@opentelemetry/api": "^1.9.0", pg: ">=8" });
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
  const { engines, scripts, bin, keywords, exports } = readPacked();
  assert.deepEqual({ engines, scripts, bin }, { engines: { node: ">=22.18" }, scripts: undefined, bin: COMMAND });
  assert.ok(keywords.length > 5);
  const conditions = new Set(Object.values<object | string>(exports).flatMap((door) => Object.keys(Object(door))));
  assert.deepEqual(exports["./mcp"], { types: "./dist/mcp.d.ts", default: "./dist/mcp.js" });
  assert.ok(!conditions.has("sous-source"));
});

test("the package names nothing of the language that the oldest Node does not have", async () => {
  const [before = [], now = []] = await Promise.all(Object.values(nodes).map(namesOfLanguage));
  const known = new Set(before);
  const files = readdirSync(join(packed, "dist"), { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".js"),
  );
  const code = files.map((file) => readFileSync(join(packed, "dist", file), "utf8")).join("\n");
  const isNamed = (name: string): boolean =>
    new RegExp(String.raw`(?<![\w$.#"'])${RegExp.escape(name)}(?![\w$"'])`).test(code);
  // The helper of the bundler for `using` asks whether there is one.
  assert.deepEqual(
    now.filter((name) => !known.has(name) && isNamed(name)),
    process.platform === "linux" ? ["SuppressedError"] : [],
  );
});

test("publint has nothing to say about the package", async () => {
  await start(process.execPath, [binary("publint"), "run", tarball, "--strict"], temporary);
});

test("everything that the package brings along supports the oldest Node", () => {
  const oldest = readPacked().engines.node.replace(">=", "");
  const others = brought.flatMap((name) => {
    const { engines } = JSON.parse(readFileSync(join(folder, "node_modules", name, "package.json"), "utf8"));
    const least = engines?.node === undefined ? "0" : /^>= ?([\d.]+)$/.exec(engines.node)?.[1];
    const isSupported = least !== undefined && oldest.localeCompare(least, "en", { numeric: true }) >= 0;
    return isSupported ? [] : [`${name}: ${engines.node}`];
  });
  assert.ok(brought.includes("yaml") && brought.includes("@standard-schema/spec"), "also what others bring along");
  assert.deepEqual(others, []);
});

suite(`installed on ${name}, alone`, { concurrency: 2 }, () => {
  test(`import of "sous" loads no other package and prints nothing`, async () => {
    const { stdout, stderr } = await runFixtures(folder, "loads.ts");
    assert.equal(withoutStrippingWarning(stderr), "");
    const loaded: string[] = JSON.parse(stdout);
    assert.ok(loaded.some((url) => url.endsWith("/node_modules/sous/dist/index.js")));
    const foreign = loaded.filter((url) => url.startsWith("file:") && !url.includes("/node_modules/sous/dist/"));
    assert.deepEqual(foreign, []);
    assert.ok(!loaded.includes("node:sqlite"));
  });

  test("require() gives the same as import, and the readme's lines run", async () => {
    const { stdout } = await runFixtures(folder, "require.cjs", "readme.ts");
    const [required, ...printed] = stdout.trim().split("\n");
    assert.equal(required, "function function");
    assert.notEqual(printed.join(""), "");
  });

  test("sous/postgres and sous/otel say which package is missing", async () => {
    const { stdout } = await runFixtures(folder, "postgres-missing.ts", "otel-missing.ts");
    const [postgres, otel = ""] = stdout.trim().split("\n");
    const sentence = "Runs are stored in Postgres with the package pg, which is not installed: npm install pg";
    assert.equal(postgres, `UserError: ${sentence}`);
    assert.match(otel, /Cannot find package '@opentelemetry\/api' imported from .*sous\/dist/);
  });

  test("an installed sous calls tools of an MCP server and an agent over ACP, and is both itself", async () => {
    await speaksWithItself(packed, mkdtempSync(join(temporary, "home-")), { node });
  });

  test("the command tells its version", async () => {
    const { stdout } = await start(join(folder, "node_modules/.bin/sous"), ["--version"], folder, { node });
    assert.equal(stdout.trim(), readManifest().version);
  });
});

test("the readme's lines type-check with nothing else installed, and so does every declaration of the package", async () => {
  // Named by sous/otel, which needs it.
  const paths = { "@opentelemetry/api": [join(rootFolder, "node_modules/@opentelemetry/api")] };
  const options = { types: [], lib: ["esnext", "dom"], skipLibCheck: false, preserveSymlinks: true, paths };
  await typeCheck(folder, options, ["readme.ts", "doors.ts"]);
});

test(`beside other packages every variant works on ${name}`, async () => {
  const printed = {
    replay: "true true 1",
    embed: "Seen. subagent.spawn, look, subagent.error, subagent.complete, true model; run-end",
    otel: "chat model, invoke_agent lead, true",
    zod: "5",
    valibot: "5",
    "json-schema": '2 + 3 is 5. [{"a":2,"b":3}]',
    "ai-sdk-tool": "2 + 3 is 5. [2,3]",
    "ai-sdk-model": "2 + 3 is 5. completed",
  };
  const { stdout } = await runFixtures(beside, ...Object.keys(printed).map((fixture) => `${fixture}.ts`));
  const expected = Object.entries(printed).map(([fixture, line]) => `${fixture}: ${line}`);
  assert.deepEqual(stdout.trim().split("\n"), expected);
});

for (const resolution of ["nodenext", "bundler"]) {
  test(`every variant type-checks with strict, and every subpath has its types, for the resolution ${resolution}`, async () => {
    const files = readdirSync(beside).filter((file) => file.endsWith(".ts"));
    const module = resolution === "bundler" ? "esnext" : resolution;
    // The declarations of the AI SDK name types of browsers and of packages that it does not bring along.
    const options = { types: ["node"], lib: ["esnext"], skipLibCheck: true, module, moduleResolution: resolution };
    await typeCheck(beside, options, files);
  });
}

/** An empty project with all fixtures. */
function makeFolder(project: string): void {
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), JSON.stringify({ private: true, type: "module" }));
  for (const file of readdirSync(fixtures)) copyFileSync(join(fixtures, file), join(project, file));
  writeFileSync(join(project, "readme.ts"), readmeExample());
}

function readPacked() {
  return JSON.parse(readFileSync(join(packed, "package.json"), "utf8"));
}

/** A line for every subpath. */
function importsOfDoors(): string[] {
  const doors = Object.entries(readPacked().exports).filter(([, conditions]) => typeof conditions === "object");
  return doors.map(([door], index) => `export * as door${index} from "sous${door.slice(1)}";\n`);
}

function readmeExample(): string {
  const readme = readFileSync(join(rootFolder, "README.md"), "utf8");
  const example = /<!-- example -->\s*```ts\n(.*?)```/s.exec(readme)?.[1];
  assert.ok(example !== undefined, "README.md has a block of ts after <!-- example -->");
  return example;
}

type TypeOptions = { types: string[]; lib: string[]; skipLibCheck: boolean; [more: string]: unknown };

async function typeCheck(project: string, options: TypeOptions, files: string[]): Promise<void> {
  const compilerOptions = {
    strict: true,
    module: "nodenext",
    moduleDetection: "force",
    target: "esnext",
    noEmit: true,
  };
  const config = join(mkdtempSync(join(project, "types-")), "tsconfig.json");
  writeFileSync(
    config,
    JSON.stringify({
      compilerOptions: { ...compilerOptions, ...options },
      files: files.map((file) => join(project, file)),
    }),
  );
  // As the build does: so few files take less time so.
  const flags = ["-p", config, "--singleThreaded"];
  await start(process.execPath, [binary("typescript", "tsc"), ...flags], project, { extra: { GOGC: "off" } });
}

/** One after the other in one process. */
function runFixtures(project: string, ...files: string[]): Promise<Output> {
  const lines = files.map((file) => `await import(${JSON.stringify(`./${file}`)});\n`);
  const program = `${files.join("-and-")}.mjs`;
  writeFileSync(join(project, program), lines.join(""));
  // What they load is the same, and is compiled once. Nobody will load it from this folder again.
  return start(node, [program], project, { node, extra: { NODE_COMPILE_CACHE: join(temporary, "compiled") } });
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
