/** Builds the published package: one bundle per subpath with shared chunks, and declarations beside them. */

import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join, resolve } from "node:path";
import { rolldown } from "rolldown";
import { minifySync } from "rolldown/utils";
import { COMMAND, replaceManifest } from "./packed-manifest.ts";
import { copyPages } from "./packed-pages.ts";
import { thirdPartyLicenses } from "./third-party-licenses.ts";

const root: string = resolve(import.meta.dirname, "..");
const source: string = join(root, "packages/sous");

type Manifest = {
  exports: Record<string, string | Record<string, string>>;
  dependencies: Record<string, string>;
  peerDependencies: Record<string, string>;
};

type Known = {
  /** A folder that `bundles` has filled from the same sources; without it they are bundled here. */
  readonly bundled?: string | undefined;
  /** `npm run check` has looked at the types: the declarations are written without looking again, in half the time. */
  readonly areTypesChecked?: boolean;
};

/** Writes what is published besides `package.json` into a folder: `dist/`, the documentation and the licence. */
export async function buildPackage(target: string, { bundled, areTypesChecked = false }: Known = {}): Promise<void> {
  const dist = join(target, "dist");
  rmSync(dist, { recursive: true, force: true });
  mkdirSync(dist, { recursive: true });
  declarations(dist, areTypesChecked ? ["--noCheck"] : []);
  if (bundled === undefined) await bundles(dist);
  else cpSync(bundled, dist, { recursive: true });
  copyPages(root, target);
  copyFileSync(join(root, "LICENSE"), join(target, "LICENSE"));
}

/** Loaded by the commands and programs that speak these protocols, and for the first pattern. */
const SDK_CHUNKS = [
  { name: "mcp-core", test: /node_modules\/@modelcontextprotocol\/core\//, priority: 2 },
  { name: "mcp-client-sdk", test: /node_modules\/@modelcontextprotocol\/client\//, priority: 1 },
  { name: "mcp-server-sdk", test: /node_modules\/@modelcontextprotocol\/server\//, priority: 1 },
  { name: "acp-sdk", test: /node_modules\/@agentclientprotocol\/sdk\//, priority: 1 },
  { name: "re2js", test: /node_modules\/re2js\//, priority: 1 },
];

/**
 * Node takes half a millisecond to find and link a file: what is always loaded together is one file. Each of these is a
 * source with everything that it imports at once, and the first takes what the later ones share with it.
 */
const CHUNKS = [
  { name: "start", test: /src\/app\/cli\/main\.ts$/, priority: 6 },
  { name: "help", test: /src\/app\/cli\/table\/help\.ts$/, priority: 5 },
  { name: "core", test: /src\/core\//, priority: 4 },
  { name: "runtime", test: /src\/index\.ts$/, priority: 3 },
  ...SDK_CHUNKS,
];

const LICENSES = "THIRD-PARTY-LICENSES.txt";

/** Only what runs, without declarations: `dist` must be called so. */
export async function bundles(dist: string): Promise<void> {
  const bundle = await rolldown({
    cwd: source,
    input: entries(),
    platform: "node",
    external: isExternal,
    // Node 22 has no `using`.
    transform: { target: "node22" },
    tsconfig: false,
    onLog(level, log) {
      if (level === "warn") throw new Error(`The bundler warns: ${log.message}`);
    },
  });
  const { output } = await bundle.write({
    dir: dist,
    format: "esm",
    entryFileNames: "[name].js",
    chunkFileNames: "chunks/[name]-[hash].js",
    codeSplitting: { groups: CHUNKS },
    // Stack traces and a curious reader need the names and the lines; the comments are in the repository.
    comments: { legal: true, annotation: true, jsdoc: false },
  });
  await bundle.close();
  const chunks = output.filter((file) => file.type === "chunk");
  for (const { name, fileName } of chunks) {
    if (SDK_CHUNKS.some((chunk) => chunk.name === name)) minify(join(dist, fileName));
  }
  const written = new Set(output.map(({ fileName }) => fileName));
  // Of an earlier build into the same folder, with other hashes in their names.
  for (const file of readdirSync(join(dist, "chunks")))
    if (!written.has(`chunks/${file}`)) rmSync(join(dist, "chunks", file));
  const modules = chunks.flatMap(({ moduleIds }) => moduleIds);
  writeFileSync(join(dist, LICENSES), thirdPartyLicenses(root, modules));
  chmodSync(join(dist, "..", COMMAND), 0o755);
}

/**
 * Part of the bundle: zod, because loading its many files is most of the start-up time, the bundler's own helpers, and the SDKs
 * of the protocols with what they import. They would be 25 MB for every user, and a conflict for users of another version.
 * re2js is, because its answers to hostile patterns were measured for one version.
 */
const BUNDLED = ["zod", "@oxc-project/runtime", "@modelcontextprotocol", "@agentclientprotocol/sdk", "re2js"];

/** Loaded by the command when the user has installed them, see `bridges/telemetry/otlp.ts`. They are not peers: any version may be there. */
const LOADED_WHEN_FOUND =
  /^@opentelemetry\/(resources|sdk-trace|sdk-metrics|exporter-(trace|metrics)-otlp-(http|proto))$/;

/** Code of others, which no one reads here: two thirds of its bytes are spaces and names. */
function minify(file: string): void {
  const keepNames = { class: true, function: false };
  const { code } = minifySync(file, readFileSync(file, "utf8"), { module: true, mangle: { keepNames } });
  writeFileSync(file, code);
}

/** The user's Node resolves what is declared. An import of our sources that is neither declared nor bundled is a mistake. */
function isExternal(id: string, importer: string | undefined): boolean {
  const isOf = (name: string): boolean => id === name || id.startsWith(`${name}/`);
  if (/^(\.|\/|[A-Za-z]:[\\/])/.test(id) || BUNDLED.some(isOf)) return false;
  if (isBuiltin(id)) return true;
  if (importer?.includes("/node_modules/")) return false;
  const { dependencies, peerDependencies } = readManifest();
  if (Object.keys({ ...dependencies, ...peerDependencies }).some(isOf) || LOADED_WHEN_FOUND.test(id)) return true;
  throw new Error(`${id} is imported and is not a dependency of the package.`);
}

/** The entry of each subpath and of the command, named as `package.json` expects it below `dist/`. */
function entries(): Record<string, string> {
  const conditions = Object.values(readManifest().exports).filter((value) => typeof value === "object");
  const built = [...conditions.map((condition) => condition.default ?? ""), COMMAND];
  return Object.fromEntries(
    built.map((file) => {
      const name = file.replace(/^(\.\/)?dist\//, "").replace(/\.js$/, "");
      return [name, join(source, "src", `${name}.ts`)];
    }),
  );
}

function readManifest(): Manifest {
  return JSON.parse(readFileSync(join(source, "package.json"), "utf8"));
}

function declarations(dist: string, flags: readonly string[]): void {
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  // So few files are checked in less time by one thread, and without collecting garbage.
  const parameters = [tsc, "-p", join(source, "tsconfig.build.json"), "--outDir", dist, "--singleThreaded", ...flags];
  const env = { ...process.env, GOGC: "off" };
  const { status } = spawnSync(process.execPath, parameters, { stdio: "inherit", env });
  if (status !== 0) throw new Error("The declarations could not be built.");
}

if (process.argv[1] === import.meta.filename) {
  await buildPackage(source);
  if (process.env.npm_lifecycle_event === "prepack") replaceManifest(source);
}
