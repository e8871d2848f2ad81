/**
 * The packed package as others install it: beside packages that are common, in what bundlers make of it, as a global command, and how
 * much room it takes. Needs a registry.
 */

import { spawnSync } from "node:child_process";
import { packedSous } from "../../packages/sous/test/support/packed-sous.ts";
import type { Look } from "../external/look.ts";
import { lookAtBundlers } from "./bundlers.ts";
import { lookAtCommand } from "./command.ts";
import { lookAtNeighbours } from "./neighbours.ts";
import { Project } from "./project.ts";

const MAX_MEGABYTES = 36;

export async function lookAtInstall(look: Look): Promise<void> {
  const { tarball } = await packedSous();
  await look.during("install: size", () => lookAtSize(look, tarball));
  await lookAtNeighbours(look, tarball);
  await lookAtBundlers(look, tarball);
  await look.during("install --global", () => lookAtCommand(look, tarball));
}

async function lookAtSize(look: Look, tarball: string): Promise<void> {
  using project = new Project();
  await project.add(tarball);
  const { stdout, stderr } = spawnSync("du", ["-sk", "node_modules"], { cwd: project.folder, encoding: "utf8" });
  const megabytes = Number.parseInt(stdout, 10) / 1024;
  const what = `install: node_modules with sous alone takes ${megabytes.toFixed(1)} MB, at most ${MAX_MEGABYTES}`;
  look.at(what, megabytes <= MAX_MEGABYTES, stderr);
}
