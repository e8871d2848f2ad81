/** Starts `npm run bench`, on whatever Node there is: installs the peers, builds sous, and measures on Node 24. */

import { spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readOptions, USAGE } from "./lib/options.mjs";

const folder = fileURLToPath(new URL(".", import.meta.url));
const parameters = process.argv.slice(2);
if (parameters.includes("--help")) {
  console.log(USAGE);
  process.exit(0);
}
const { columns } = readOptionsOrExit();
if (!isInstalled()) {
  console.log("Installing the peers, about 900 MB; this happens once …");
  run("npm", ["ci", "--ignore-scripts"], folder);
}
if (columns.some(({ kind }) => kind === "sous")) provideBuild();
run(nodeOfLockfile(), [join(folder, "run.mjs"), ...parameters], folder);

function readOptionsOrExit() {
  try {
    return readOptions(parameters);
  } catch (error) {
    console.error(`${error.message}\n\n${USAGE}`);
    return process.exit(2);
  }
}

function provideBuild() {
  const root = join(folder, "..");
  if (!parameters.includes("--no-build")) return run("npm", ["run", "--silent", "build"], root);
  if (existsSync(join(root, "packages/sous/dist/index.js"))) return;
  console.error("There is no build of sous yet: leave out --no-build.");
  process.exit(2);
}

/** False as well when the lockfile has changed since. */
function isInstalled() {
  const installed = join(folder, "node_modules/.package-lock.json");
  if (!existsSync(installed)) return false;
  return statSync(installed).mtimeMs >= statSync(join(folder, "package-lock.json")).mtimeMs;
}

function nodeOfLockfile() {
  const installed = join(folder, "node_modules/.bin/node");
  return existsSync(installed) ? installed : process.execPath;
}

/** Runs a command to its end; ends with its exit code when it fails. */
function run(command, commandParameters, cwd) {
  const { status, error } = spawnSync(command, commandParameters, { cwd, env: environment(), stdio: "inherit" });
  if (error !== undefined) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

/** Without the `--prefix` of the npm that started this, which would send every further npm to the wrong folder. */
function environment() {
  const entries = Object.entries(process.env).filter(([name]) => !/^npm_config_(local_|global_)?prefix$/.test(name));
  return Object.fromEntries(entries);
}
