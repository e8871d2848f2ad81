/** The folders that programs may come from: none that a project, or another user of the machine, can fill. */

import { lstat, readlink, stat } from "node:fs/promises";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import { codeOf } from "../../core/errors.ts";

/** The folder of the run, and the project around it. */
export type ProgramWorkspace = {
  readonly cwd: string;
  /** The projects around the working folder, the innermost first. */
  readonly projects: readonly { readonly root: string; readonly isTrusted: boolean }[];
};

/** A folder of PATH that is there and is not used. */
export type LeftOutFolder = {
  readonly folder: string;
  /** `above`: the `node_modules` of a folder that the project lies in. */
  readonly why: "project" | "above" | "others-write";
  /** The top folder of the project that it lies in. */
  readonly root?: string | undefined;
};

export type ProgramFolders = {
  /** The folders for programs of ours. */
  readonly ours: readonly string[];
  /** The folders for command lines: `ours` and those of trusted projects, in the order of PATH. */
  readonly commands: readonly string[];
  /** Programs that command lines do without. */
  readonly leftOut: readonly LeftOutFolder[];
};

/** The file that a path leads to, and who can change the way there. */
type Verdict = {
  readonly isThere: boolean;
  readonly project: Project | undefined;
  readonly isAbove: boolean;
  /** Another user could put another file there. */
  readonly isOthers: boolean;
};

type Project = ProgramWorkspace["projects"][number] & { readonly folder: Step | undefined };

/** Looks at the machine as it is now; what changes later is seen by the next one. */
export class FolderJudge {
  readonly #workspace: ProgramWorkspace | undefined;
  readonly #reader = new PathReader();
  readonly #owners: Promise<ReadonlySet<number>> = trustedOwners();
  readonly #projects: Promise<readonly Project[]>;
  readonly #above: Promise<ReadonlySet<string>>;

  constructor(workspace: ProgramWorkspace | undefined) {
    this.#workspace = workspace;
    this.#projects = this.#findProjects();
    this.#above = this.#findAbove();
  }

  /** The folders of a PATH. Relative ones would be folders of the workspace, and are left out without a word. */
  async folders(path: string): Promise<ProgramFolders> {
    const given = [...new Set(path.split(delimiter).filter(isAbsolute))];
    const judged = await Promise.all(given.map(async (folder) => ({ folder, verdict: await this.#judge(folder) })));
    const ours = judged.filter(({ verdict }) => verdict.isThere && isOutside(verdict)).map(({ folder }) => folder);
    const commands = judged.filter(({ verdict }) => isForCommands(verdict)).map(({ folder }) => folder);
    const leftOut = judged.flatMap(({ folder, verdict }) => {
      if (!verdict.isThere || isForCommands(verdict)) return [];
      return [{ folder, why: whyNot(verdict), root: verdict.project?.root }];
    });
    return { ours, commands, leftOut };
  }

  /** True when a program of ours may be this file, wherever links lead. */
  async mayBeOurs(file: string): Promise<boolean> {
    const verdict = await this.#judge(file);
    return verdict.isThere && isOutside(verdict);
  }

  /** The project that a path passes through, whether or not it is there. */
  async projectOf(path: string): Promise<ProgramWorkspace["projects"][number] | undefined> {
    return (await this.#judge(path)).project;
  }

  async #judge(path: string): Promise<Verdict> {
    const [{ steps, isThere }, owners, projects, above] = await Promise.all([
      this.#reader.follow(path),
      this.#owners,
      this.#projects,
      this.#above,
    ]);
    const project = innermost(steps, projects);
    // Trust in a project includes its owner: in a container that is often another user than we are.
    const owner = project?.isTrusted ? project.folder?.owner : undefined;
    const isOurs = (step: Step) => owners.has(step.owner) || step.owner === owner;
    const isEnd = (step: Step) => isThere && step === steps.at(-1);
    return {
      isThere,
      project,
      isAbove: project === undefined && steps.some(({ identity }) => above.has(identity)),
      isOthers: steps.some((step) => !isOurs(step) || isReplaceable(step, isEnd(step)) || isOfProcess(step)),
    };
  }

  async #findProjects(): Promise<readonly Project[]> {
    const projects = this.#workspace?.projects ?? [];
    return Promise.all(
      projects.map(async (project) => {
        const { steps, isThere } = await this.#reader.follow(project.root);
        return { ...project, folder: isThere ? steps.at(-1) : undefined };
      }),
    );
  }

  /** The `node_modules` of the working folder and of every folder above it: `npx` and `npm run` put all of them into PATH. */
  async #findAbove(): Promise<ReadonlySet<string>> {
    if (this.#workspace === undefined) return new Set();
    const { steps } = await this.#reader.follow(this.#workspace.cwd);
    const folders = new Set([...steps.map(({ path }) => path), ...ancestorsOf(this.#workspace.cwd)]);
    const found = await Promise.all(
      [...folders].map(async (folder) => {
        const { steps: within, isThere } = await this.#reader.follow(join(folder, "node_modules"));
        return isThere ? within.at(-1)?.identity : undefined;
      }),
    );
    return new Set(found.filter((identity) => identity !== undefined));
  }
}

function isOutside({ project, isAbove, isOthers }: Verdict): boolean {
  return project === undefined && !isAbove && !isOthers;
}

/** A folder of a trusted project may still be made by the command itself; of others only what is there counts. */
function isForCommands(verdict: Verdict): boolean {
  if (verdict.project?.isTrusted) return !verdict.isOthers;
  return verdict.isThere && isOutside(verdict);
}

function whyNot({ project, isAbove, isOthers }: Verdict): LeftOutFolder["why"] {
  if (project !== undefined && !project.isTrusted) return "project";
  return isAbove && !isOthers ? "above" : "others-write";
}

/** The last project on the way: the one that a folder belongs to when projects lie in each other. */
function innermost(steps: readonly Step[], projects: readonly Project[]): Project | undefined {
  for (const step of steps.toReversed()) {
    const found = projects.find((project) => project.folder?.identity === step.identity);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Others may add files to a sticky folder like `/tmp`, and not replace ours: it may be on the way, and not the end. */
function isReplaceable(step: Step, isEnd: boolean): boolean {
  if (step.isLink || !step.isOpenToAll) return false;
  return isEnd || !step.isSticky;
}

/** `/proc/self/cwd` is another folder for every process. */
function isOfProcess({ path }: Step): boolean {
  return path === "/proc" || path.startsWith("/proc/");
}

function ancestorsOf(folder: string): string[] {
  const above = dirname(folder);
  return above === folder ? [folder] : [folder, ...ancestorsOf(above)];
}

/** The superuser, this user, and the owner of the system: in a namespace the superuser's files may have another number. */
async function trustedOwners(): Promise<ReadonlySet<number>> {
  const system = await stat("/usr").then(
    ({ uid }) => [uid],
    () => [],
  );
  return new Set([0, process.getuid?.() ?? 0, ...system]);
}

/**
 * A path followed step by step, every link included: who owns each step, and who could make it lead elsewhere. `realpath`
 * gives the end of a path only, and a link on the way may belong to any user.
 */
type Step = {
  /** The path without links in front of its last name. */
  readonly path: string;
  /** The same for every name of one file or folder, also where names differ in case or a folder is mounted twice. */
  readonly identity: string;
  readonly owner: number;
  readonly isLink: boolean;
  /** Any user may make files in it, or change it. */
  readonly isOpenToAll: boolean;
  /** Only its owner can replace what is in it. */
  readonly isSticky: boolean;
};

type Steps = {
  readonly steps: readonly Step[];
  /** False when the last steps do not exist, or cannot be looked at. */
  readonly isThere: boolean;
};

const MAX_LINKS = 40;

/** Looks at most once at each step, so that many folders of one machine cost little. */
class PathReader {
  readonly #seen = new Map<string, Promise<Step | undefined>>();

  /** Follows an absolute path. */
  async follow(path: string): Promise<Steps> {
    let at = "/";
    let rest = namesIn(path);
    const first = await this.#look(at);
    if (first === undefined) return { steps: [], isThere: false };
    const steps = [first];
    let links = 0;
    for (let [name] = rest; name !== undefined; [name] = rest) {
      rest = rest.slice(1);
      // After `..` the folder above is a step again: the last step is always where the path ends.
      const step = await this.#look(name === ".." ? dirname(at) : join(at, name));
      if (step === undefined) return { steps, isThere: false };
      steps.push(step);
      if (!step.isLink) {
        at = step.path;
        continue;
      }
      links += 1;
      const target = await unlessGone(readlink(step.path));
      if (target === undefined || links > MAX_LINKS) return { steps, isThere: false };
      if (target.startsWith("/")) at = "/";
      rest = [...namesIn(target), ...rest];
    }
    return { steps, isThere: true };
  }

  #look(path: string): Promise<Step | undefined> {
    const seen = this.#seen.get(path) ?? look(path);
    this.#seen.set(path, seen);
    return seen;
  }
}

function namesIn(path: string): string[] {
  return path.split("/").filter((name) => name !== "" && name !== ".");
}

async function look(path: string): Promise<Step | undefined> {
  const found = await unlessGone(lstat(path, { bigint: true }));
  if (found === undefined) return undefined;
  return {
    path,
    identity: `${found.dev}:${found.ino}`,
    owner: Number(found.uid),
    isLink: found.isSymbolicLink(),
    isOpenToAll: (found.mode & 0o002n) !== 0n,
    isSticky: (found.mode & 0o1000n) !== 0n,
  };
}

async function unlessGone<T>(looking: Promise<T>): Promise<T | undefined> {
  try {
    return await looking;
  } catch (error) {
    if (codeOf(error) !== undefined) return undefined;
    throw error;
  }
}
