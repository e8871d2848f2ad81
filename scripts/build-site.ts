/**
 * Builds the site of the documentation into `site/.cache/site`. It installs VitePress the first time.
 *
 *   npm run site
 *   npm run site -- --base /sous/
 */

import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { picturePaths } from "./repository-files.ts";
import { addressOf } from "./site/address.ts";
import { deadTargets } from "./site/built-site.ts";
import { fullText, siteLlms } from "./site/llms.ts";
import { sitePages } from "./site/site-pages.ts";

const root: string = resolve(import.meta.dirname, "..");
const folder: string = join(root, "site");
const [staged, built]: [string, string] = [join(folder, ".cache/pages"), join(folder, ".cache/site")];

const { values } = parseArgs({ options: { base: { type: "string", default: "/" } } });

install();
stage();
start(process.execPath, [join(folder, "node_modules/vitepress/bin/vitepress.js"), "build", "--base", values.base]);
// Models read the Markdown.
cpSync(staged, built, { recursive: true });
const dead = deadTargets(built, values.base);
for (const line of dead) console.error(`Dead link in ${line}`);
if (dead.length > 0) process.exitCode = 1;
else console.log(`The site is in ${built}`);

/** Again when the lockfile has changed. */
function install(): void {
  const mark = join(folder, "node_modules/.lockfile");
  const lockfile = readFileSync(join(folder, "package-lock.json"), "utf8");
  if (existsSync(mark) && readFileSync(mark, "utf8") === lockfile) return;
  // Not `npm ci`: it wants the packages of all other platforms in the lockfile, and not all of them are to be had.
  start("npm", ["install", "--ignore-scripts", "--no-save", "--prefer-offline"]);
  writeFileSync(mark, lockfile);
}

function stage(): void {
  for (const each of [staged, built]) rmSync(each, { recursive: true, force: true });
  const pages = sitePages(root);
  for (const { address, text } of pages) write(address, text);
  for (const path of picturePaths(root)) write(addressOf(path), readFileSync(join(root, path), "utf8"));
  write("llms.txt", siteLlms(root));
  write("llms-full.txt", fullText(root, pages));
}

function write(address: string, text: string): void {
  mkdirSync(dirname(join(staged, address)), { recursive: true });
  writeFileSync(join(staged, address), text);
}

function start(command: string, parameters: string[]): void {
  // The variables of `npm run` would make the inner npm work on the outer project.
  const isOwn = ([name]: [string, unknown]): boolean => !name.toLowerCase().startsWith("npm_");
  const env = { ...Object.fromEntries(Object.entries(process.env).filter(isOwn)), SOUS_ROOT: root };
  const { status, error } = spawnSync(command, parameters, { cwd: folder, env, stdio: "inherit" });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${command} ${parameters.join(" ")} has ended with ${status}.`);
}
