/** The programs of a command: which projects surround it, and the warning about folders that are left out of PATH. */

import { realpath } from "node:fs/promises";
import { userInfo } from "node:os";
import { resolve, sep } from "node:path";
import { codeOf, UserError } from "../../../core/errors.ts";
import type { Programs } from "../../../core/process.ts";
import type { ProjectTrust } from "../../config/trust/trust.ts";
import type { LeftOutFolder } from "../../process/program-folders.ts";
import { isInside, type ProcessContext, userFolderIfAny } from "../files/paths.ts";
import { inertLine } from "../terminal/text.ts";
import { Opened } from "./opened.ts";
import { findTrust } from "./project.ts";
import type { ApplicationRequest } from "./settings.ts";

/** `project` is the one we are in, when it is trusted. They end with `opened`. */
export async function openProjectPrograms(
  { cwd, env, flags, ask, warn }: ApplicationRequest,
  project: ProjectTrust | undefined,
  opened: Opened,
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
  const atEnd = opened.use(new Opened());
  const programs = openPrograms({
    stateFolder: userFolderIfAny("state", env),
    environment: env,
    workspace: { cwd, projects },
    onLeftOut(folders) {
      const line = leftOutWarning(folders, flags);
      // The live view of a headless run would be drawn over the line.
      if (ask === undefined) atEnd.defer(() => warn(line));
      else warn(line);
    },
  });
  return opened.use(programs);
}

/** Programs of the machine, without those of any project. Without a folder for records no leftovers are looked for or ended. */
export async function openOutside({ cwd, env }: ProcessContext, stateFolder?: string): Promise<Programs> {
  const { openPrograms } = await import("../../process/programs.ts");
  const projects = (await surroundingProjects({ cwd, env })).map((root) => ({ root, isTrusted: false }));
  return openPrograms({ stateFolder, environment: env, workspace: { cwd, projects } });
}

/**
 * Lists the projects around the working folder, the nearest first. A home that is a repository is not a project: the working
 * folder is, and the rest is the user's. The root of the file system, where containers start, is not a project either: every
 * program lies below it.
 */
async function surroundingProjects({ cwd, env }: ProcessContext): Promise<string[]> {
  const { projectRoots } = await import("../../config/trust/files.ts");
  const trusted = await trustedFolders(env);
  const [real, roots, homes] = await Promise.all([realOf(cwd), projectRoots(cwd, trusted), homesAround(cwd, env)]);
  const projects = roots.filter((root) => root !== sep && !homes.some((home) => isInside(root, home)));
  return projects.length === 0 && real !== sep ? [real] : projects;
}

/** A folder that was trusted is a project, also without a mark in it. */
async function trustedFolders(env: ProcessContext["env"]): Promise<string[]> {
  const stateFolder = userFolderIfAny("state", env);
  if (stateFolder === undefined) return [];
  const { readTrustRecords } = await import("../../config/trust/record.ts");
  const records = await readTrustRecords(stateFolder).catch((error: unknown) => {
    // A broken list is reported where trust is looked up.
    if (error instanceof UserError) return [];
    throw error;
  });
  return records.map(({ path }) => path);
}

/** HOME counts only when it holds the working folder: otherwise a project could set it to exclude its own folders. */
async function homesAround(cwd: string, { HOME = "" }: ProcessContext["env"]): Promise<string[]> {
  const [real, home] = await Promise.all([realOf(cwd), HOME === "" ? undefined : realOf(HOME)]);
  const given = home !== undefined && isInside(home, real) ? [home] : [];
  try {
    return [...given, await realOf(userInfo().homedir)];
  } catch (error) {
    // In some containers the user id has no entry.
    if (codeOf(error) === undefined) throw error;
    return given;
  }
}

function realOf(folder: string): Promise<string> {
  return realpath(folder).catch(() => resolve(folder));
}

const MAX_NAMED = 5;

/** One line for all of them, each with the reason and with what helps. */
function leftOutWarning(folders: readonly LeftOutFolder[], { isBare }: Pick<ApplicationRequest["flags"], "isBare">) {
  const reasons = Map.groupBy(folders, (left) => reasonFor(left, isBare));
  const parts = [...reasons].map(([reason, left]) => `${listed(left)} (${reason})`);
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

function listed(folders: readonly LeftOutFolder[]): string {
  const named = folders.slice(0, MAX_NAMED).map(({ folder }) => folder);
  const more = folders.length > MAX_NAMED ? ` and ${folders.length - MAX_NAMED} more` : "";
  return named.join(", ") + more;
}
