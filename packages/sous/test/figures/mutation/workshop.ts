/** A copy of the repository in which sources are changed and tests run, so that every process of a test meets the change. */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync } from "node:fs";
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

export type Repository = {
  readonly root: string;
  /** Folder of the package, relative to the root; it has the folders `src` and `test`. */
  readonly packageFolder: string;
  /** Programs that look at the sources without running them. They end with 0 when they find nothing. */
  readonly checks: readonly (readonly [program: string, ...parameters: string[]])[];
};

export type TestRun = { readonly result: "passed" | "failed" | "hung"; readonly milliseconds: number };

const NOT_COPIED = new Set(["node_modules", ".git", "dist", "coverage"]);

export class Workshop implements AsyncDisposable {
  readonly root: string;
  /** Where probes leave their marks; all processes may write there. */
  readonly marks: string;
  readonly #sources: string;
  readonly #temporary: string;
  readonly #checks: Repository["checks"];

  private constructor(folder: string, { packageFolder, checks }: Repository) {
    this.root = join(folder, "copy");
    this.marks = join(folder, "marks");
    this.#temporary = join(folder, "tmp");
    this.#sources = join(this.root, packageFolder, "src");
    this.#checks = checks;
  }

  static async open(repository: Repository): Promise<Workshop> {
    const { root, packageFolder } = repository;
    const folder = await mkdtemp(join(tmpdir(), "sous-m-"));
    // Some tests run programs as another user.
    await chmod(folder, 0o755);
    const workshop = new Workshop(folder, repository);
    await cp(root, workshop.root, { recursive: true, filter: (path) => !NOT_COPIED.has(basename(path)) });
    await linkModules(root, workshop.root);
    await linkInner(root, workshop.root);
    await readOriginals(root, workshop.root, packageFolder);
    await mkdir(workshop.marks);
    await chmod(workshop.marks, 0o1777);
    return workshop;
  }

  /** Writes a source of the copy. */
  async write(path: string, text: string): Promise<void> {
    await writeFile(join(this.#sources, path), text);
  }

  /** Runs one test file, with a folder for temporary files of its own. No process is left when it resolves. */
  async runTest(file: string, limitMilliseconds: number): Promise<TestRun> {
    await mkdir(this.#temporary);
    await chmod(this.#temporary, 0o1777);
    const started = performance.now();
    const result = await endOf(file, this.root, this.#temporary, limitMilliseconds);
    const milliseconds = performance.now() - started;
    await rm(this.#temporary, { recursive: true, force: true, maxRetries: 5 });
    return { result, milliseconds };
  }

  /** The same, with one source changed meanwhile. */
  async runTestWith(
    path: string,
    { changed, text }: { changed: string; text: string },
    file: string,
    limitMilliseconds: number,
  ): Promise<TestRun> {
    await this.write(path, changed);
    try {
      return await this.runTest(file, limitMilliseconds);
    } finally {
      await this.write(path, text);
    }
  }

  async passesChecks(): Promise<boolean> {
    for (const [program, ...parameters] of this.#checks) {
      const ended = spawn(program, parameters, { cwd: this.root, stdio: "ignore" });
      const [code] = await once(ended, "exit");
      if (code !== 0) return false;
    }
    return true;
  }

  /** The same, with one source changed meanwhile. */
  async passesChecksWith(path: string, { changed, text }: { changed: string; text: string }): Promise<boolean> {
    await this.write(path, changed);
    try {
      return await this.passesChecks();
    } finally {
      await this.write(path, text);
    }
  }

  /** The numbers of the marks that were made since the last call. */
  async takeMarks(): Promise<number[]> {
    const names = await readdir(this.marks);
    await Promise.all(names.map((name) => rm(join(this.marks, name))));
    return names.map(Number);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(join(this.root, ".."), { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Links the modules of a workspace, such as those of another Node; the ones of the root are linked one by one. */
async function linkInner(root: string, copy: string): Promise<void> {
  const inner = globSync("packages/*/node_modules", { cwd: root });
  await Promise.all(inner.map((path) => symlink(join(root, path), join(copy, path))));
}

/** Links each package, but the one under test: that one would lead back to the sources that are not changed. */
async function linkModules(root: string, copy: string): Promise<void> {
  const modules = join(copy, "node_modules");
  await mkdir(modules);
  const names = await readdir(join(root, "node_modules")).catch(() => []);
  for (const name of names.filter((each) => each !== "sous" && each !== ".cache")) {
    await symlink(await realpath(join(root, "node_modules", name)), join(modules, name));
  }
  await symlink("../packages/sous", join(modules, "sous"));
}

/** Tests that remove a guard find it by its label. A mutant must not fail them by reading differently. */
async function readOriginals(root: string, copy: string, packageFolder: string): Promise<void> {
  const reader = join(copy, packageFolder, "test/support/mutation.ts");
  if (!existsSync(reader)) return;
  const found = "readFileSync(fileURLToPath(fileUrl)";
  const pieces = (await readFile(reader, "utf8")).split(found);
  if (pieces.length !== 2) throw new Error(`${reader} must read files in one place`);
  const text = pieces.join(`${found}.replace(${JSON.stringify(copy)}, ${JSON.stringify(root)})`);
  await writeFile(reader, text);
}

function endOf(file: string, cwd: string, temporary: string, limitMilliseconds: number): Promise<TestRun["result"]> {
  return new Promise((resolve, reject) => {
    const [program, ...given] = commandLine(["--conditions=sous-source", file]);
    const env = { ...process.env, TMPDIR: temporary, NODE_COMPILE_CACHE: join(temporary, "../compiled") };
    const child = spawn(program, given, { cwd, env, stdio: "ignore", detached: true });
    let isHung = false;
    const timer = setTimeout(() => {
      isHung = true;
      endAll(child);
    }, limitMilliseconds);
    child.on("error", reject);
    child.on("exit", (code) => {
      clearTimeout(timer);
      endAll(child);
      resolve(isHung ? "hung" : code === 0 ? "passed" : "failed");
    });
  });
}

/** The end of a namespace is the end of all processes in it; without one, of those that stayed in the group. */
function endAll({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/**
 * A mutant may send a signal to the wrong process, so tests see only their own where the machine allows it. The shell
 * is the first process there and collects the ended ones.
 */
const NAMESPACE = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", '"$@"; exit $?', "sh"];

export const isIsolated: boolean = spawnSync("unshare", [...NAMESPACE.slice(1), "true"]).status === 0;

function commandLine(parameters: readonly string[]): [string, ...string[]] {
  const command = ["nice", process.execPath, ...parameters];
  const [program = "nice", ...given] = isIsolated ? [...NAMESPACE, ...command] : command;
  return [program, ...given];
}
