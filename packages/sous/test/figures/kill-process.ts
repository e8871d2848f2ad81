/** A worker process as its killer sees it: started ahead of time, given an order, listened to, killed. */

import { type ChildProcessByStdio, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath, pathToFileURL } from "node:url";
import { rolldown } from "rolldown";
import { type Mutation, mutate } from "../support/mutation.ts";
import { rootFolder } from "../support/source-files.ts";

/** What a worker said before it ended. */
export type LastWords = {
  /** The numbers of what it said that it begins. */
  readonly begun: readonly number[];
  /** The numbers of the events it was shown. */
  readonly shown: readonly number[];
  /** The run it said that it begins. */
  readonly runId: string | undefined;
  /** The result as JSON, if it came so far. */
  readonly result: string | undefined;
  /** What was thrown instead of a result. */
  readonly fault: string | undefined;
  readonly signal: NodeJS.Signals | null;
};

const bundles = new Map<string, Promise<string>>();

/** They ask a fake server of the common protocol. No other worker loads a package. */
const ASK_PROVIDER: ReadonlySet<string> = new Set(["kill-worker.ts", "workers-process.ts"]);
/** Each takes as long to bundle as all the rest. */
const OTHER_PROVIDERS = /^@ai-sdk\/(?!openai-compatible|provider)/;

/**
 * Bundles the program of a worker, because two hundred files take longer to load than a life lasts. Made once in a process
 * for every fault.
 */
export function bundleWorker(name: string, mutation?: Mutation): Promise<string> {
  const key = JSON.stringify([name, mutation]);
  const made = bundles.get(key) ?? bundle(name, mutation);
  bundles.set(key, made);
  return made;
}

async function bundle(name: string, mutation: Mutation | undefined): Promise<string> {
  place ??= workersFolder();
  const folder = mkdtempSync(join(place, "worker-"));
  const bundled = await rolldown({
    input: fileURLToPath(new URL(name, import.meta.url)),
    platform: "node",
    tsconfig: false,
    external: ASK_PROVIDER.has(name) ? ["pg", OTHER_PROVIDERS] : /^[^./]/,
    logLevel: "silent",
    plugins: mutation === undefined ? [] : [mutating(mutation)],
  });
  // Not `.js`: where no package.json says what it is, Node parses that twice.
  await bundled.write({ dir: folder, format: "esm", entryFileNames: "[name].mjs", chunkFileNames: "[name].mjs" });
  await bundled.close();
  return join(folder, name.replace(/\.ts$/, ".mjs"));
}

let place: string | undefined;

/** For all bundles of this process; gone with it. */
function workersFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "sous-workers-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  // For the packages that are not bundled.
  symlinkSync(join(rootFolder, "node_modules"), join(folder, "node_modules"));
  return folder;
}

function mutating(mutation: Mutation) {
  const { fileUrl, text } = mutate(mutation);
  return {
    name: "mutation",
    load: (file: string) =>
      pathToFileURL(file).href === fileUrl ? { code: text, moduleType: "ts" as const } : undefined,
  };
}

export class KillableProcess {
  readonly ready: Promise<void>;
  readonly ended: Promise<LastWords>;
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  #heard = "";
  #onHeard: (() => void) | undefined;

  constructor(program: string) {
    // Beside the bundle, which has another path every time: what one that ends by itself has compiled the next ones find.
    const compiled = join(dirname(program), "compiled");
    const environment = { ...process.env, NODE_OPTIONS: "", NODE_V8_COVERAGE: "", NODE_COMPILE_CACHE: compiled };
    this.#child = spawn(process.execPath, [program], { stdio: "pipe", env: environment });
    // A killed process does not read what it is sent.
    this.#child.stdin.on("error", () => {});
    const ready = Promise.withResolvers<void>();
    this.ready = ready.promise;
    this.ended = this.#listen(ready.resolve);
    void this.ended.then(({ fault }) => ready.reject(new Error(`The worker ended before it was ready: ${fault}`)));
    ready.promise.catch(() => {});
  }

  give(order: object): void {
    this.#child.stdin.write(JSON.stringify(order));
  }

  /** Resolves when it has said so, or has ended. */
  untilSaid(line: string): Promise<void> {
    return new Promise((resolve) => {
      this.#onHeard = () => {
        if (this.#heard.includes(`\n${line}\n`) || this.#child.exitCode !== null) resolve();
      };
      this.#onHeard();
    });
  }

  kill(signal: NodeJS.Signals = "SIGKILL"): void {
    this.#child.kill(signal);
  }

  /** Resolves when SIGSTOP has reached all of it: until then a part of it may still be in the middle of a write. */
  async untilStopped(): Promise<void> {
    const tasks = `/proc/${this.#child.pid}/task`;
    const isStopped = (task: string) => /\) T /.test(readFileSync(`${tasks}/${task}/stat`, "latin1"));
    while (!readdirSync(tasks).every(isStopped)) await new Promise((next) => setTimeout(next, 2));
  }

  /** One that nobody needs any more. */
  async dismiss(): Promise<void> {
    this.kill();
    await this.ended;
  }

  async #listen(onReady: () => void): Promise<LastWords> {
    const ended = new Promise<NodeJS.Signals | null>((resolve) =>
      this.#child.on("close", (_code, signal) => resolve(signal)),
    );
    let errors = "";
    this.#child.stdout.setEncoding("utf8").on("data", (text: string) => {
      this.#heard += text;
      if (this.#heard.startsWith("ready\n")) onReady();
      this.#onHeard?.();
    });
    this.#child.stderr.setEncoding("utf8").on("data", (text: string) => {
      errors += text;
    });
    const signal = await ended;
    // The last line may be cut.
    this.#onHeard?.();
    const lines = this.#heard.split("\n").slice(0, -1);
    const numbers = (start: string) =>
      lines.filter((line) => line.startsWith(start)).map((line) => Number(line.slice(2)));
    const after = (start: string) => lines.find((line) => line.startsWith(start))?.slice(start.length);
    return {
      begun: numbers("b "),
      shown: numbers("e "),
      runId: after("i "),
      result: after("r "),
      fault: after("x ") ?? (errors === "" ? undefined : errors),
      signal,
    };
  }
}

/** The next process is started while the one before it works. */
export class Crew implements AsyncDisposable {
  readonly #program: string;
  #next: KillableProcess;

  constructor(program: string) {
    this.#program = program;
    this.#next = new KillableProcess(program);
  }

  async take(): Promise<KillableProcess> {
    const taken = this.#next;
    await taken.ready;
    this.#next = new KillableProcess(this.#program);
    return taken;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#next.dismiss();
  }
}

/** Waits until this time of `performance.now()`: finer than a timer, while others go on. */
export async function until(time: number): Promise<void> {
  const wait = Math.floor(time - performance.now()) - 1;
  if (wait > 0) await new Promise((next) => setTimeout(next, wait));
  while (performance.now() < time) await new Promise((next) => setImmediate(next));
}
