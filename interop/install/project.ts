/** A fresh project in a folder of its own: npm installs into it, and programs run in it. */

import { type ChildProcess, execFile, spawn } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { ownEnvironment } from "../external/peers.ts";
import { type PackageName, pinned } from "./versions.ts";

const PROGRAMS = join(import.meta.dirname, "programs");
const NPM_MS = 300_000;
const PROGRAM_MS = 180_000;
const READY_MS = 30_000;
const POLL_MS = 50;

/** How a process ended, and everything that it printed. */
export type Ended = { readonly code: number | null; readonly output: string };

export type Server = AsyncDisposable & {
  /** The text of an answer, or what the server printed when none came in time. */
  ask(path: string): Promise<string>;
};

type ServeOptions = { readonly cwd?: string; readonly parameters?: (port: string) => readonly string[] };
const NONE = (): readonly string[] => [];

export class Project implements Disposable {
  /** Holds the project and a home. */
  readonly #outer: string = realpathSync(mkdtempSync(join(tmpdir(), "sous-interop-install-")));
  readonly folder: string = join(this.#outer, "project");
  /** Beside the project, with no `node_modules` above it: where only the output of a bundler is. */
  readonly alone: string = join(this.#outer, "alone");
  /** Of the programs; npm has the user's own, with its cache. */
  readonly home: string = join(this.#outer, "home");

  readonly #node: string;

  /** `node` is what npm and the programs run on; the one of this process without it. */
  constructor({ node = process.execPath }: { node?: string } = {}) {
    this.#node = node;
    for (const folder of [this.folder, this.alone, this.home]) mkdirSync(folder);
    const manifest = JSON.stringify({ name: "project", version: "1.0.0", private: true, type: "module" });
    for (const folder of [this.folder, this.alone]) writeFileSync(join(folder, "package.json"), manifest);
  }

  [Symbol.dispose](): void {
    rmSync(this.#outer, { recursive: true, force: true, maxRetries: 5 });
  }

  write(file: string, text: string): void {
    mkdirSync(dirname(join(this.folder, file)), { recursive: true });
    writeFileSync(join(this.folder, file), text);
  }

  /** Copies from the folder `programs`. */
  take(...files: readonly string[]): void {
    for (const file of files) copyFileSync(join(PROGRAMS, file), join(this.folder, file));
  }

  npm(...parameters: readonly string[]): Promise<Ended> {
    return npm(parameters, this.folder, this.#node);
  }

  /** Installs packages of others. Their install scripts do not run. Throws when npm fails. */
  async install(...names: readonly PackageName[]): Promise<void> {
    const { code, output } = await this.npm("install", "--ignore-scripts", ...names.map(pinned));
    if (code !== 0) throw new Error(`npm cannot install ${names.map(pinned).join(" ")}:\n${output}`);
  }

  /** Installs one more package as a user does. What is wrong with that: npm's error or its warnings, and packages that it changed. */
  async add(what: string): Promise<string[]> {
    const before = this.versions();
    // What npm says without it is of this machine or of the other packages.
    const usual = warningsOf(await this.npm("install"));
    const own = warningsOf(await this.npm("install", what)).filter((line) => !usual.includes(line));
    const after = this.versions();
    const changed = Object.entries(before).filter(([path, version]) => after[path] !== version);
    return [...own, ...changed.map(([path, version]) => `${path} was ${version} and is ${after[path]}`)];
  }

  /** Of all installed packages, by their paths. */
  versions(): Record<string, string> {
    const file = join(this.folder, "node_modules/.package-lock.json");
    if (!existsSync(file)) return {};
    const { packages } = JSON.parse(readFileSync(file, "utf8")) as { packages: Record<string, { version: string }> };
    return Object.fromEntries(Object.entries(packages).map(([path, { version }]) => [path, version]));
  }

  /** Runs a file with Node, in the project. */
  node(file: string, parameters: readonly string[] = [], env: Record<string, string> = {}): Promise<Ended> {
    return execute(this.#node, [file, ...parameters], {
      cwd: this.folder,
      env: { ...this.environment(), ...env },
      timeout: PROGRAM_MS,
    });
  }

  /** Starts a server with Node; `PORT` and `parameters` tell it where to listen. */
  async serve(file: string, { cwd = this.folder, parameters = NONE }: ServeOptions): Promise<Server> {
    const port = String(await freePort());
    const child = spawn(this.#node, [file, ...parameters(port)], {
      cwd,
      env: { ...this.environment(), PORT: port },
      stdio: ["ignore", "pipe", "pipe"],
      // Ends with everything that it has started.
      detached: true,
    });
    return serverOf(child, port);
  }

  environment(): Record<string, string> {
    return {
      PATH: [dirname(this.#node), process.env.PATH].join(delimiter),
      HOME: this.home,
      NEXT_TELEMETRY_DISABLED: "1",
      /** For programs that start it. */
      SOUS_COMMAND: join(this.folder, "node_modules/sous/dist/app/cli/main.js"),
    };
  }
}

/** With the user's own settings, and none of an npm that runs around this process. */
export function npm(parameters: readonly string[], cwd: string, node: string = process.execPath): Promise<Ended> {
  const found = process.env.npm_execpath;
  const [program, first] = found === undefined ? ["npm", []] : [node, [found]];
  const env = ownEnvironment();
  env.PATH = [dirname(node), env.PATH].join(delimiter);
  return execute(program, [...first, ...parameters, "--no-audit", "--no-fund"], { cwd, env, timeout: NPM_MS });
}

/** All that was printed when npm failed. How many packages more want another one is not counted: sous may be one of them. */
export function warningsOf({ code, output }: Ended): string[] {
  return code === 0
    ? output
        .split("\n")
        .filter((line) => /^npm warn/i.test(line))
        .map((line) => line.replace(/\d+ more/, "more"))
    : [output];
}

type Options = { cwd: string; env: NodeJS.ProcessEnv; timeout: number };

/** Never rejects: a program that cannot be started or takes too long has no code. */
function execute(program: string, parameters: readonly string[], options: Options): Promise<Ended> {
  const { promise, resolve } = Promise.withResolvers<Ended>();
  const child = execFile(
    program,
    parameters,
    { ...options, maxBuffer: Infinity, killSignal: "SIGKILL" },
    (error, stdout, stderr) => {
      const output = stdout + stderr;
      if (error === null) resolve({ code: 0, output });
      else resolve({ code: typeof error.code === "number" ? error.code : null, output: output || error.message });
    },
  );
  child.stdin?.end();
  return promise;
}

function serverOf(child: ChildProcess, port: string): Server {
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => (output += chunk));
  const ended = new Promise((resolve) => child.on("close", resolve));
  return {
    async ask(path) {
      const startedAt = performance.now();
      while (child.exitCode === null && performance.now() - startedAt < READY_MS) {
        const answer = await fetch(`http://127.0.0.1:${port}/${path}`).catch(() => undefined);
        if (answer !== undefined) return await answer.text();
        await wait(POLL_MS);
      }
      return output;
    },
    async [Symbol.asyncDispose]() {
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGKILL");
      await ended;
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  await new Promise((closed) => server.close(closed));
  if (address === null || typeof address === "string") throw new Error("There is no free port");
  return address.port;
}
