/** The programs of a command: which projects surround it, and what a person hears of folders that are left out of PATH. */

import { realpath } from "node:fs/promises";
import { userInfo } from "node:os";
import { resolve, sep } from "node:path";
import type { ProjectTrust } from "../../config/trust/trust.ts";
import { UserError } from "../../core/errors.ts";
import type { Programs } from "../../core/process.ts";
import type { LeftOutFolder } from "../../process/program-folders.ts";
import { userFolderIfAny } from "../files/paths.ts";
import { inertLine } from "../terminal/inert.ts";
import { findTrust } from "./agents.ts";
import type { ApplicationRequest } from "./application.ts";

type Place = Pick<ApplicationRequest, "cwd" | "env">;

/** `project` is the one we are in, when it is trusted. They end with `opened`. */
export async function openProjectPrograms(
  { cwd, env, flags, ask, warn }: ApplicationRequest,
  project: ProjectTrust | undefined,
  opened: AsyncDisposableStack,
): Promise<Programs> {
  const { openPrograms } = await import("../../process/programs.ts");
  const isTrusted = async (root: string) => !flags.isBare && (await findTrust({ cwd: root, env })).state === "trusted";
  const roots = await surroundingProjects({ cwd, env });
  const projects = await Promise.all(
    roots.map(async (root, index) => ({
      root,
      isTrusted: index === 0 ? project !== undefined : await isTrusted(root),
    })),
  );
  const atEnd = opened.use(new DisposableStack());
  const programs = openPrograms({
    stateFolder: userFolderIfAny("state", env),
    environment: env,
    place: { cwd, projects },
    onLeftOut(folders) {
      const line = leftOutWarning(folders, flags);
      // The live view of a headless run would be drawn over the line.
      if (ask === undefined) atEnd.defer(() => warn(line));
      else warn(line);
    },
  });
  return opened.use(programs);
}

/** Where programs of ours are found, by name; undefined for what is not there. Starts nothing. */
export async function findPrograms<Name extends string>(
  names: readonly Name[],
  place: Place,
): Promise<Record<Name, string | undefined>> {
  const { openPrograms } = await import("../../process/programs.ts");
  const projects = (await surroundingProjects(place)).map((root) => ({ root, isTrusted: false }));
  // Without a folder for its records it looks for no leftovers, and ends none.
  await using programs = openPrograms({ environment: place.env, place: { cwd: place.cwd, projects } });
  const found = await Promise.all(names.map(async (name) => [name, await programs.find(name)] as const));
  return Object.fromEntries(found) as Record<Name, string | undefined>;
}

/**
 * From the nearest outwards. A home that is a repository is no project: the working folder is, and the rest is the user's.
 * At the top of the machine, where containers begin, there is none: every program lies below it.
 */
async function surroundingProjects({ cwd, env }: Place): Promise<string[]> {
  const { projectRoots } = await import("../../config/trust/files.ts");
  const trusted = await trustedFolders(env);
  const [real, roots, homes] = await Promise.all([realOf(cwd), projectRoots(cwd, trusted), homesAround(cwd, env)]);
  const projects = roots.filter((root) => root !== sep && !homes.some((home) => isInside(root, home)));
  return projects.length === 0 && real !== sep ? [real] : projects;
}

/** A folder that was trusted is a project, also without a mark in it. */
async function trustedFolders(env: Place["env"]): Promise<string[]> {
  const stateFolder = userFolderIfAny("state", env);
  if (stateFolder === undefined) return [];
  const { readTrustRecords } = await import("../../config/trust/record.ts");
  const records = await readTrustRecords(stateFolder).catch((error: unknown) => {
    // What is wrong with the list is said where trust is looked up.
    if (error instanceof UserError) return [];
    throw error;
  });
  return records.map(({ path }) => path);
}

/** HOME counts where we are in it: one that a project has put beside its files would make the project smaller. */
async function homesAround(cwd: string, { HOME = "" }: Place["env"]): Promise<string[]> {
  const [real, home] = await Promise.all([realOf(cwd), HOME === "" ? undefined : realOf(HOME)]);
  const given = home !== undefined && isInside(home, real) ? [home] : [];
  try {
    return [...given, await realOf(userInfo().homedir)];
  } catch (error) {
    // In some containers our number has no name.
    if (error instanceof Error && "code" in error) return given;
    throw error;
  }
}

function realOf(folder: string): Promise<string> {
  return realpath(folder).catch(() => resolve(folder));
}

function isInside(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

const MAX_NAMED = 5;

/** One line for all of them, each with the reason and with what helps. */
function leftOutWarning(folders: readonly LeftOutFolder[], { isBare }: Pick<ApplicationRequest["flags"], "isBare">) {
  const reasons = new Map<string, string[]>();
  for (const left of folders) {
    const reason = reasonFor(left, isBare);
    reasons.set(reason, [...(reasons.get(reason) ?? []), left.folder]);
  }
  const parts = [...reasons].map(([reason, named]) => `${listed(named)} (${reason})`);
  return inertLine(`commands do not find the programs in ${parts.join(", ")}`, 1000);
}

function reasonFor({ why, root }: LeftOutFolder, isBare: boolean): string {
  switch (why) {
    case "project":
      return isBare
        ? "a part of the project, which --bare leaves out"
        : `a part of ${root}, which is not trusted; sous trust there brings them back`;
    case "above":
      return "it belongs to a folder above the project";
    case "others-write":
      return "other users can write there";
    default:
      return why satisfies never;
  }
}

function listed(folders: readonly string[]): string {
  const more = folders.length > MAX_NAMED ? ` and ${folders.length - MAX_NAMED} more` : "";
  return folders.slice(0, MAX_NAMED).join(", ") + more;
}
