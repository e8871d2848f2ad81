/**
 * The packed package as others install it: beside packages that are common, in what bundlers make of it, as a global command, on
 * the oldest Node, and how much room it takes. Needs a registry.
 */

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { packedSous } from "../../packages/sous/test/support/packed-sous.ts";
import type { Look } from "../external/look.ts";
import { lookAtBundlers } from "./bundlers.ts";
import { lookAtCommand } from "./command.ts";
import { lookAtNeighbours } from "./neighbours.ts";
import { Project } from "./project.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const MAX_MEGABYTES = 36;

export async function lookAtInstall(look: Look): Promise<void> {
  const { tarball } = await packedSous();
  await look.during("install: types", () => lookAtTypes(look, tarball));
  await look.during("install: oldest Node", () => lookAtOldestNode(look, tarball));
  await look.during("install: size", () => lookAtSize(look, tarball));
  await lookAtNeighbours(look, tarball);
  await lookAtBundlers(look, tarball);
  await look.during("install --global", () => lookAtCommand(look, tarball));
}

/** As a resolver of others finds them, from the tarball. */
async function lookAtTypes(look: Look, tarball: string): Promise<void> {
  const attw = join(ROOT, "node_modules/@arethetypeswrong/cli/dist/index.js");
  const { status, stdout } = spawnSync(process.execPath, [attw, tarball, "--profile", "esm-only"], {
    encoding: "utf8",
  });
  look.at("install: attw finds every type where it is promised", status === 0, stdout);
}

/** npm asks every package of the folder whether it is for this Node. On Linux Node 22 is part of the repository. */
async function lookAtOldestNode(look: Look, tarball: string): Promise<void> {
  const node = join(ROOT, `packages/node-22/node_modules/node-linux-${process.arch}/bin/node`);
  if (!existsSync(node)) return console.log(`NOT SEEN  install on Node 22: there is no ${node}`);
  using project = new Project({ node });
  const { code, output } = await project.npm("install", "--engine-strict", tarball);
  look.at("install on Node 22: npm finds that every package is for it", code === 0, output);
  const { output: version } = await project.node("node_modules/.bin/sous", ["--version"]);
  look.at("install on Node 22: sous tells its version", /^\d+\.\d+\.\d+$/.test(version.trim()), version);
}

async function lookAtSize(look: Look, tarball: string): Promise<void> {
  using project = new Project();
  await project.add(tarball);
  const { stdout, stderr } = spawnSync("du", ["-sk", "node_modules"], { cwd: project.folder, encoding: "utf8" });
  const megabytes = Number.parseInt(stdout, 10) / 1024;
  const what = `install: node_modules with sous alone takes ${megabytes.toFixed(1)} MB, at most ${MAX_MEGABYTES}`;
  look.at(what, megabytes <= MAX_MEGABYTES, stderr);
}
