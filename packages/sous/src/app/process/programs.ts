/**
 * Starts all programs, and ends all of them: with their time, with a signal, with us. What is not
 * promised: a process that leaves its session and throws its variables away is not found; one that only leaves its
 * session outlives a command that ended well, and ends when everything is closed, or at the next start.
 */

import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { userInfo } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";
import type { Clock } from "../../core/clock.ts";
import { codeOf, orUndefined, ToolFailure } from "../../core/errors.ts";
import type {
  BackgroundProgram,
  ProgramRequest,
  ProgramResult,
  Programs,
  TalkingProgram,
  TalkRequest,
} from "../../core/process.ts";
import { systemClock } from "../../machine/host.ts";
import { cleanEnvironment, gitEnvironment, MARK_VARIABLE, outerMark } from "./environment.ts";
import { gitSettingsAt } from "./git-settings.ts";
import { GroupRecord, reapLeftovers } from "./group-record.ts";
import { Guard } from "./guard.ts";
import { markedProcesses, signalMarked, startOf } from "./process-table.ts";
import { FolderJudge, type LeftOutFolder, type ProgramFolders, type ProgramWorkspace } from "./program-folders.ts";
import type { Launch, ProgramKind, RunningProgram } from "./running-program.ts";
import { type StartRequest, startProgram } from "./start-program.ts";
import { startTalk } from "./talking-program.ts";

export type ProgramsOptions = {
  /** The folder in which started groups are recorded for the next process of sous; without it leftovers are not looked for. */
  stateFolder?: string | undefined;
  /** Our own variables: a few of them are passed on. */
  environment: Readonly<Record<string, string | undefined>>;
  /** No program of ours comes from the projects here; without it there are none. */
  workspace?: ProgramWorkspace | undefined;
  /** Called once, at the first command line that does without some folders of PATH. */
  onLeftOut?: ((folders: readonly LeftOutFolder[]) => void) | undefined;
  clock?: Clock | undefined;
};

type AnyRequest = StartRequest & Pick<ProgramRequest, "environment" | "mayUseProject" | "gitFolders" | "signal">;
type Stoppable = Pick<RunningProgram, "ended" | "stop">;
type Start<Request, Program> = (request: Request, launch: Launch) => Promise<Program>;

/** Starts nothing by itself; kills what an earlier one of us left behind. The caller opens it with `await using`. */
export function openPrograms(options: ProgramsOptions): Programs {
  if (options.stateFolder !== undefined) reapLeftovers(options.stateFolder);
  return new OpenPrograms(options);
}

class OpenPrograms implements Programs {
  readonly #environment: ProgramsOptions["environment"];
  readonly #workspace: ProgramWorkspace | undefined;
  readonly #clock: Clock;
  #onLeftOut: ProgramsOptions["onLeftOut"];
  /** The mark in the variables of everything that is started here; each program adds a number of its own. */
  readonly #mark = `${randomBytes(16).toString("hex")}-`;
  readonly #guard: Guard;
  readonly #record: GroupRecord;
  readonly #running = new Set<Stoppable>();
  readonly #starting = new Set<Promise<unknown>>();
  #started = 0;
  #closed: Promise<void> | undefined;

  constructor({ stateFolder, environment, workspace, onLeftOut, clock = systemClock }: ProgramsOptions) {
    this.#environment = environment;
    this.#workspace = workspace;
    this.#onLeftOut = onLeftOut;
    this.#clock = clock;
    this.#record = new GroupRecord(stateFolder, this.#mark);
    // Our parent process ends the guard together with what it guards, so it carries the mark that we carry.
    this.#guard = new Guard(this.#mark, { PATH: "/usr/bin:/bin", [MARK_VARIABLE]: outerMark(environment) });
  }

  async run(request: ProgramRequest): Promise<ProgramResult> {
    const program = await this.#start(request, "awaited", startProgram);
    return await program.ended;
  }

  async start(request: ProgramRequest): Promise<BackgroundProgram> {
    return await this.#start(request, "background", startProgram);
  }

  async talk(request: TalkRequest): Promise<TalkingProgram> {
    return await this.#start(request, "talking", startTalk);
  }

  async find(program: string): Promise<string | undefined> {
    const judge = new FolderJudge(this.#workspace);
    return this.#find(program, judge, (await judge.folders(this.#path)).ours);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  #start<Request extends AnyRequest, Program extends Stoppable>(
    request: Request,
    kind: ProgramKind,
    start: Start<Request, Program>,
  ): Promise<Program> {
    const starting = this.#startOne(request, kind, start);
    this.#starting.add(starting);
    const remove = () => void this.#starting.delete(starting);
    starting.then(remove, remove);
    return starting;
  }

  async #startOne<Request extends AnyRequest, Program extends Stoppable>(
    request: Request,
    kind: ProgramKind,
    start: Start<Request, Program>,
  ): Promise<Program> {
    this.#refuse(request);
    const judge = new FolderJudge(this.#workspace);
    const folders = await judge.folders(this.#path);
    const file = await this.#find(request.program, judge, folders.ours);
    if (file === undefined)
      throw new ToolFailure(`There is no program named ${request.program} on this machine outside the project.`);
    const imposed = await this.#imposed(request, judge, folders);
    this.#started += 1;
    const mark = `${this.#mark}${this.#started}/`;
    const program = await start(request, {
      file,
      environment: cleanEnvironment({ ours: this.#environment, named: request.environment ?? {}, imposed, mark }),
      mark,
      kind,
      clock: this.#clock,
      onStart: () => {
        this.#refuse(request);
        if (!this.#guard.stand()) throw new ToolFailure(NO_GUARD);
      },
      onPid: (pid) => this.#know(pid),
    });
    this.#running.add(program);
    void program.ended.then(() => this.#running.delete(program));
    return program;
  }

  get #path(): string {
    return this.#environment.PATH ?? DEFAULT_PATH;
  }

  /** An absolute path is taken as it was written, unless the project could change what is there. */
  async #find(program: string, judge: FolderJudge, folders: readonly string[]): Promise<string | undefined> {
    if (isAbsolute(program)) {
      const isTheirs = (await judge.projectOf(program)) !== undefined;
      return !isTheirs && (await isProgram(program)) ? program : undefined;
    }
    if (program === "" || /[/\0]/.test(program)) return undefined;
    for (const folder of folders) {
      const file = join(folder, program);
      if ((await isProgram(file)) && (await judge.mayBeOurs(file))) return file;
    }
    return undefined;
  }

  async #imposed(
    { cwd, mayUseProject = false, gitFolders = [] }: AnyRequest,
    judge: FolderJudge,
    folders: ProgramFolders,
  ) {
    if (mayUseProject && folders.leftOut.length > 0) {
      this.#onLeftOut?.(folders.leftOut);
      this.#onLeftOut = undefined;
    }
    const { HOME, SHELL } = this.#environment;
    const isTheirs = async (path = "/") => !isAbsolute(path) || (await judge.projectOf(path))?.isTrusted === false;
    const path = mayUseProject ? folders.commands : folders.ours;
    const project = this.#workspace?.projects[0];
    const isTrusted = project?.isTrusted === true;
    const looked =
      gitFolders === "anywhere" ? { folders: [cwd], below: project?.root ?? cwd } : { folders: [cwd, ...gitFolders] };
    // The home is the one the machine knows, whatever the variables say; in some containers our number has no name.
    const home = (await isTheirs(HOME)) ? (orUndefined(() => userInfo().homedir) ?? "/") : HOME;
    return {
      ...gitEnvironment(isTrusted ? "trusted" : await gitSettingsAt(looked, home)),
      // An empty PATH means the working folder, and none at all may mean it too.
      PATH: path.join(delimiter) || SYSTEM_PATH,
      HOME: home,
      // ssh and others start it.
      SHELL: (await isTheirs(SHELL)) ? undefined : SHELL,
    };
  }

  #refuse({ signal }: AnyRequest): void {
    signal?.throwIfAborted();
    if (this.#closed !== undefined) throw new ToolFailure("No further program is started: everything is being closed.");
  }

  /** Guarded and written down for as long as it may have to be killed. */
  #know(pid: number): Disposable {
    const group = { pid, start: startOf(pid) };
    this.#guard.add(group);
    this.#record.add(group);
    return {
      [Symbol.dispose]: () => {
        this.#guard.remove(pid);
        this.#record.remove(pid);
      },
    };
  }

  async #close(): Promise<void> {
    await Promise.allSettled(this.#starting);
    await Promise.all([...this.#running].map((each) => each.stop("cancelled")));
    // The sweep also kills what left the group of a command that ended long ago.
    if (this.#started > 0) await this.#sweep();
    await this.#guard.dismiss();
    this.#record.close();
  }

  async #sweep(): Promise<void> {
    for (let sweep = 0; sweep < MAX_SWEEPS; sweep++) {
      const left = markedProcesses(this.#mark);
      if (left.length === 0) return;
      for (const each of left) signalMarked(each, "SIGKILL");
      await new Promise<void>((next) => this.#clock.timer(5, next));
    }
  }
}

const NO_GUARD =
  "No program is started without the guard that ends it with us, and the guard cannot be started: /bin/sh is missing, or this machine has no room for more.";
const MAX_SWEEPS = 40;
const DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin";
const SYSTEM_PATH = "/usr/bin:/bin";

async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch (error) {
    if (codeOf(error) !== undefined) return false;
    throw error;
  }
}
