/** Builds the published package: one bundle per subpath with shared chunks, and declarations beside them. */

import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { rolldown } from "rolldown";
import { packedManifest, rewriteManifest } from "./packed-manifest.ts";
import { copyPages } from "./packed-pages.ts";

const root: string = resolve(import.meta.dirname, "..");
const source: string = join(root, "packages/sous");

type Manifest = {
  bin: Record<string, string>;
  exports: Record<string, string | Record<string, string>>;
  dependencies: Record<string, string>;
  peerDependencies: Record<string, string>;
};

/** Writes what is published besides `package.json` into a folder: `dist/`, the documentation and the licence. */
export async function buildPackage(target: string): Promise<void> {
  const dist = join(target, "dist");
  rmSync(dist, { recursive: true, force: true });
  mkdirSync(dist, { recursive: true });
  declarations(dist);
  await bundles(dist);
  copyPages(root, target);
  copyFileSync(join(root, "LICENSE"), join(target, "LICENSE"));
}

/**
 * Node takes half a millisecond to find and link a file: what is always loaded together is one file. Each of these is a
 * source with everything that it imports at once, and the first takes what the later ones share with it.
 */
const CHUNKS = [
  { name: "start", test: /src\/cli\/main\.ts$/, priority: 4 },
  { name: "help", test: /src\/cli\/table\/help\.ts$/, priority: 3 },
  { name: "core", test: /src\/core\//, priority: 2 },
  { name: "runtime", test: /src\/index\.ts$/, priority: 1 },
];

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
  await bundle.write({
    dir: dist,
    format: "esm",
    entryFileNames: "[name].js",
    chunkFileNames: "chunks/[name]-[hash].js",
    codeSplitting: { groups: CHUNKS },
    // Stack traces and a curious reader need the names and the lines; the comments are in the repository.
    comments: { legal: true, annotation: true, jsdoc: false },
  });
  await bundle.close();
  for (const file of Object.values(readManifest().bin)) chmodSync(join(dist, "..", file), 0o755);
}

/**
 * Zod is inlined because loading its many files is most of the start-up time; the bundler's own helpers are, too. All else
 * that is declared is resolved by the user's Node, and what is not declared is a mistake.
 */
function isExternal(id: string): boolean {
  if (/^(\.|\/|[A-Za-z]:[\\/])/.test(id) || /^(zod|@oxc-project\/runtime)(\/|$)/.test(id)) return false;
  const { dependencies, peerDependencies } = readManifest();
  const declared = Object.keys({ ...dependencies, ...peerDependencies });
  if (id.startsWith("node:") || declared.some((name) => id === name || id.startsWith(`${name}/`))) return true;
  throw new Error(`${id} is imported and is not a dependency of the package.`);
}

/** The entry of each subpath and of each command, named as `package.json` expects it below `dist/`. */
function entries(): Record<string, string> {
  const { bin, exports } = readManifest();
  const conditions = Object.values(exports).filter((value) => typeof value === "object");
  const built = [...conditions.map((condition) => condition.default ?? ""), ...Object.values(bin)];
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

function declarations(dist: string): void {
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  // So few files are checked in less time by one thread, and without collecting garbage.
  const parameters = [tsc, "-p", join(source, "tsconfig.build.json"), "--outDir", dist, "--singleThreaded"];
  const env = { ...process.env, GOGC: "off" };
  const { status } = spawnSync(process.execPath, parameters, { stdio: "inherit", env });
  if (status !== 0) throw new Error("The declarations could not be built.");
}

if (process.argv[1] === import.meta.filename) {
  await buildPackage(source);
  if (process.env.npm_lifecycle_event === "prepack") rewriteManifest(source, packedManifest);
}
