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
import { buildPackage } from "../../../scripts/build.ts";
import { packedManifest } from "../../../scripts/packed-manifest.ts";
import { brokenLinks } from "../../../scripts/packed-pages.ts";
import { packageFolder, readManifest, rootFolder } from "./source-files.ts";

type Installed = { node: string; folder: string };

const fixtures = join(import.meta.dirname, "pack-fixtures");
const platform = `node-linux-${process.arch}`;
const node22 = join(rootFolder, "tools/node-22/node_modules", platform, "bin/node");
const temporary = mkdtempSync(join(tmpdir(), "sous-pack-"));
after(() => rmSync(temporary, { recursive: true, force: true, maxRetries: 5 }));

/** Where Node 22 is not part of the install (it is on Linux), the Node at hand has to do. */
const nodes =
  process.platform === "linux" ? { "Node 22": node22, "Node 24": process.execPath } : { Node: process.execPath };

let tarball: string;
const bare = new Map<string, Installed>();
const full: Installed = { node: process.execPath, folder: join(temporary, "full") };

before(async () => {
  tarball = await pack(join(temporary, "stage"));
  const installs = Object.entries(nodes).map(async ([name, node]) => {
    const installed = { node, folder: join(temporary, name.toLowerCase().replace(" ", "-")) };
    bare.set(name, installed);
    await install(installed, []);
  });
  await Promise.all(installs);
  await install(full, ["@ai-sdk/openai-compatible", "@valibot/to-json-schema", "ai", "@types/node", "valibot", "zod"]);
});

test("the package holds what was built, its manifest, documentation and licence", async () => {
  const { stdout } = await start("tar", ["-tzf", tarball], temporary);
  const others = stdout
    .trim()
    .split("\n")
    .filter((file) => !/^package\/(dist\/.+\.(js|d\.ts)|docs\/.+\.md)$/.test(file));
  assert.deepEqual(others.sort(), [
    "package/CHANGELOG.md",
    "package/LICENSE",
    "package/README.md",
    "package/SECURITY.md",
    "package/package.json",
  ]);
});

test("no link in a page of the package leads to a file that the package does not have", () => {
  const packed = join(full.folder, "node_modules/sous");
  const pages = readdirSync(packed, { recursive: true, encoding: "utf8" }).filter((path) =>
    /^[^/]+\.md$|^docs\//.test(path),
  );
  const markdown = pages.filter((path) => path.endsWith(".md"));
  assert.ok(markdown.includes("README.md") && markdown.length > 60, `${markdown.length} pages`);
  assert.deepEqual(
    markdown.flatMap((page) => brokenLinks(packed, page)),
    [],
  );
});

test("the readme and the manifest in the package are for those who install it", () => {
  const packed = join(full.folder, "node_modules/sous");
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

for (const name of Object.keys(nodes)) {
  suite(`installed on ${name}`, () => {
    const here = (): Installed => bare.get(name) ?? assert.fail(`${name} has no folder`);

    test(`import "sous" loads no other package and prints nothing`, async () => {
      const { stdout, stderr } = await runFixture(here(), "loads");
      assert.equal(withoutStrippingWarning(stderr), "");
      const loaded: string[] = JSON.parse(stdout);
      assert.ok(loaded.some((url) => url.endsWith("/node_modules/sous/dist/index.js")));
      const foreign = loaded.filter((url) => url.startsWith("file:") && !url.includes("/node_modules/sous/dist/"));
      assert.deepEqual(foreign, []);
      assert.ok(!loaded.includes("node:sqlite"));
    });

    test("sous/postgres says what to install when pg is missing", async () => {
      const { stdout } = await runFixture(here(), "postgres-missing");
      const sentence = "Runs are stored in Postgres with the package pg, which is not installed: npm install pg";
      assert.equal(stdout.trim(), `UserError: ${sentence}`);
    });

    test("the readme's lines run", async () => {
      const { stdout } = await runFixture(here(), "readme");
      assert.notEqual(stdout.trim(), "");
    });

    test("the command tells its version", async () => {
      const { stdout } = await start(
        join(here().folder, "node_modules/.bin/sous"),
        ["--version"],
        here().folder,
        here().node,
      );
      assert.equal(stdout.trim(), readManifest().version);
    });

    const printed = {
      replay: "replay: true true 1",
      embed: "embed: Seen. subagent.spawn, look, subagent.error, subagent.complete, true model; run-end",
      zod: "zod: 5",
      valibot: "valibot: 5",
      "json-schema": 'json-schema: 2 + 3 is 5. [{"a":2,"b":3}]',
      "ai-sdk-tool": "ai-sdk-tool: 2 + 3 is 5. [2,3]",
      "ai-sdk-model": "ai-sdk-model: 2 + 3 is 5. completed",
    };
    for (const [fixture, line] of Object.entries(printed)) {
      test(`works with ${fixture}`, async () => {
        const { stdout } = await runFixture({ ...full, node: here().node }, fixture);
        assert.equal(stdout.trim(), line);
      });
    }
  });
}

test("the readme's lines type-check with nothing else installed, and so does every declaration of the package", async () => {
  const [installed] = bare.values();
  await typeCheck(installed ?? full, { types: [], lib: ["esnext", "dom"], skipLibCheck: false }, ["readme.ts"]);
});

test("every variant type-checks", async () => {
  const files = readdirSync(fixtures).filter((file) => file.endsWith(".ts"));
  // The declarations of the AI SDK name types of browsers and of packages that it does not bring along.
  await typeCheck(full, { types: ["node"], lib: ["esnext"], skipLibCheck: true }, files);
});

/** Builds and packs into a folder of its own, so that a build in the work tree is neither used nor disturbed. */
async function pack(stage: string): Promise<string> {
  mkdirSync(stage);
  await buildPackage(stage);
  const manifest = packedManifest(readFileSync(join(packageFolder, "package.json"), "utf8"));
  writeFileSync(join(stage, "package.json"), manifest);
  const { stdout } = await start("npm", ["pack", "--ignore-scripts", "--json"], stage);
  const filename: unknown = JSON.parse(stdout)[0]?.filename;
  assert.ok(typeof filename === "string");
  return join(stage, filename);
}

/** A folder with the package and the named others, in the versions that this repository has, and all fixtures. */
async function install({ node, folder }: Installed, others: readonly string[]): Promise<void> {
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  for (const file of readdirSync(fixtures)) copyFileSync(join(fixtures, file), join(folder, file));
  writeFileSync(join(folder, "readme.ts"), readmeExample());
  const packages = [tarball, ...others.map((name) => `${name}@${installedVersion(name)}`)];
  const flags = ["--prefer-offline", "--engine-strict", "--no-audit", "--no-fund", "--loglevel=error"];
  await start("npm", ["install", ...flags, ...packages], folder, node);
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

async function typeCheck({ folder }: Installed, options: TypeOptions, files: string[]): Promise<void> {
  const compilerOptions = { strict: true, module: "nodenext", target: "esnext", noEmit: true, ...options };
  const project = join(folder, "tsconfig.json");
  writeFileSync(project, JSON.stringify({ compilerOptions, files }));
  await start(process.execPath, [binary("typescript", "tsc"), "-p", project], folder);
}

function runFixture({ node, folder }: Installed, name: string): Promise<Output> {
  return start(node, [`${name}.ts`], folder, node);
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

/** Runs a command as if by hand: with one Node first on the path, and nothing left of the test runner or of npm. */
async function start(file: string, parameters: string[], cwd: string, node = process.execPath): Promise<Output> {
  const isOurs = (name: string): boolean =>
    /^(npm_(package|lifecycle|command|execpath|node)|NODE_|INIT_CWD)/.test(name);
  const inherited = Object.entries(process.env).filter(([name]) => !isOurs(name) && name !== "npm_config_local_prefix");
  const env = { ...Object.fromEntries(inherited), PATH: [dirname(node), process.env.PATH].join(delimiter) };
  try {
    return await promisify(execFile)(file, parameters, { cwd, env, encoding: "utf8" });
  } catch (error) {
    const { stdout = "", stderr = "" } = error as Partial<Output>;
    throw new Error(`${file} ${parameters.join(" ")} failed:\n${stdout}${stderr}`, { cause: error });
  }
}
