/** The package as it is published, for tests that use it as a stranger does. It is packed once for all tests of a run. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { buildPackage } from "../../../../scripts/build.ts";
import { packedManifest } from "../../../../scripts/packed-manifest.ts";
import { madeOnce } from "./made-once.ts";
import { packageFolder, rootFolder } from "./source-files.ts";

export type PackedSous = {
  readonly tarball: string;
  /** A folder with `node_modules`: sous from the tarball, everything else as links to the packages of this repository. */
  readonly project: string;
};

let packed: Promise<PackedSous> | undefined;

export function packedSous(): Promise<PackedSous> {
  packed ??= packOnce();
  return packed;
}

async function packOnce(): Promise<PackedSous> {
  const done = await madeOnce(process.env.SOUS_TEST_SHARED ?? ownFolder(), "packed", fill);
  return { tarball: join(done, "stage", tarballIn(join(done, "stage"))), project: join(done, "project") };
}

/** For a test file that runs without `npm test`. */
function ownFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "sous-packed-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

/** Builds into a folder of its own, so that a build in the work tree is neither used nor disturbed. */
async function fill(work: string): Promise<void> {
  const [stage, project] = [join(work, "stage"), join(work, "project")];
  mkdirSync(stage);
  const command = process.env.SOUS_TEST_COMMAND;
  // `npm test` has bundled the sources already, for the tests that start the command.
  const bundled = command === undefined ? undefined : resolve(command, "../../..");
  await buildPackage(stage, { bundled, areTypesChecked: true });
  const manifest = packedManifest(readFileSync(join(packageFolder, "package.json"), "utf8"));
  writeFileSync(join(stage, "package.json"), manifest);
  await promisify(execFile)("npm", ["pack", "--ignore-scripts"], { cwd: stage });
  await install(join(stage, tarballIn(stage)), project);
}

function tarballIn(stage: string): string {
  const name = readdirSync(stage).find((file) => file.endsWith(".tgz"));
  assert.ok(name !== undefined, "npm pack has written a tarball");
  return name;
}

/** Without a registry. What npm itself makes of the tarball is seen in `npm run interop -- install`. */
async function install(tarball: string, project: string): Promise<void> {
  const modules = join(project, "node_modules");
  mkdirSync(join(modules, ".bin"), { recursive: true });
  writeFileSync(join(project, "package.json"), JSON.stringify({ private: true, type: "module" }));
  await promisify(execFile)("tar", ["-xzf", tarball, "-C", modules]);
  renameSync(join(modules, "package"), join(modules, "sous"));
  symlinkSync("../sous/dist/app/cli/main.js", join(modules, ".bin/sous"));
  for (const name of readdirSync(join(rootFolder, "node_modules"))) {
    if (name.startsWith(".") || name === "sous") continue;
    symlinkSync(join(rootFolder, "node_modules", name), join(modules, name));
  }
}

/** Puts sous and what it brings along into a folder, and nothing else. The names of what it brings along. */
export async function installAlone(folder: string): Promise<string[]> {
  const { project } = await packedSous();
  const modules = join(folder, "node_modules");
  cpSync(join(project, "node_modules/sous"), join(modules, "sous"), { recursive: true });
  mkdirSync(join(modules, ".bin"));
  symlinkSync("../sous/dist/app/cli/main.js", join(modules, ".bin/sous"));
  const brought = new Set<string>();
  const bring = (manifest: string): void => {
    const { dependencies = {} } = JSON.parse(readFileSync(manifest, "utf8")) as { dependencies?: object };
    for (const name of Object.keys(dependencies)) {
      if (brought.has(name)) continue;
      brought.add(name);
      mkdirSync(dirname(join(modules, name)), { recursive: true });
      symlinkSync(join(rootFolder, "node_modules", name), join(modules, name));
      bring(join(modules, name, "package.json"));
    }
  };
  bring(join(modules, "sous/package.json"));
  return [...brought];
}
