/** Measures the room of an installed library on disk, in megabytes as `du` counts them. */

import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";

const MEGABYTE = 2 ** 20;

/**
 * @param {string} folder The folder of the benchmark.
 * @param {import("./plan.mjs").Column[]} columns
 * @returns {import("./rounds.mjs").Measurement[]}
 */
export function measureInstalledSizes(folder, columns) {
  return columns
    .filter((column) => column.entry !== undefined)
    .map(({ name, kind, adapter }) => {
      const bytes =
        kind === "sous" ? sizeOfPackage(join(folder, "../packages/sous")) : sizeOfPeer(join(folder, dirname(adapter)));
      return { column: name, job: "size", round: 1, figures: { installed: bytes / MEGABYTE } };
    });
}

/** A peer has a tree of its own, so all of it counts. */
function sizeOfPeer(folder) {
  return diskUsage(join(folder, "node_modules"));
}

/**
 * A package of this repository: the files it publishes, and everything npm would install with it, found where Node finds
 * it. Optional peers are not installed, so they do not count.
 */
function sizeOfPackage(folder) {
  const { files = [] } = readManifest(folder);
  let bytes = 0;
  for (const file of ["package.json", ...files]) bytes += diskUsage(join(folder, file));
  for (const found of dependenciesOf(folder)) bytes += diskUsage(found, "node_modules");
  return bytes;
}

function dependenciesOf(folder, found = new Set()) {
  const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } = readManifest(folder);
  const peers = Object.keys(peerDependencies ?? {}).filter((name) => !peerDependenciesMeta?.[name]?.optional);
  for (const name of [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers]) {
    const dependency = locate(name, folder);
    if (dependency === undefined && optionalDependencies?.[name] !== undefined) continue;
    if (dependency === undefined) throw new Error(`${name}, which ${folder} depends on, is not installed`);
    if (found.has(dependency)) continue;
    found.add(dependency);
    dependenciesOf(dependency, found);
  }
  return found;
}

function locate(name, from) {
  for (let folder = from; ; folder = dirname(folder)) {
    const candidate = join(folder, "node_modules", name);
    if (existsSync(join(candidate, "package.json"))) return realpathSync(candidate);
    if (folder === dirname(folder)) return undefined;
  }
}

function readManifest(folder) {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
}

function diskUsage(path, leaveOut) {
  const status = lstatSync(path);
  let bytes = status.blocks * 512;
  if (!status.isDirectory()) return bytes;
  for (const name of readdirSync(path)) if (name !== leaveOut) bytes += diskUsage(join(path, name), leaveOut);
  return bytes;
}
