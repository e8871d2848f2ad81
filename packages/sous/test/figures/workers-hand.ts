/** A worker process as a figure sees it: started ahead of time, given an order, heard, stopped, killed. */

import { type ChildProcessByStdio, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import type { WorkersOrder } from "./workers-process.ts";

/** What a worker said of a run, and when, by the clock of `performance`. */
export type Said = { readonly state: string; readonly runId: string; readonly rest: string; readonly at: number };

export class WorkerHand {
  readonly said: Said[] = [];
  readonly ended: Promise<void>;
  isDead = false;
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #waits = new Set<() => void>();

  constructor(program: string) {
    const compiled = join(dirname(program), "compiled");
    const env = { ...process.env, NODE_OPTIONS: "", NODE_V8_COVERAGE: "", NODE_COMPILE_CACHE: compiled };
    this.#child = spawn(process.execPath, [program], { stdio: ["pipe", "pipe", "inherit"], env });
    // A killed process does not read what it is sent.
    this.#child.stdin.on("error", () => {});
    createInterface(this.#child.stdout).on("line", (line) => {
      const [state = "", runId = "", ...rest] = line.split(" ");
      this.said.push({ state, runId, rest: rest.join(" "), at: performance.now() });
      this.#look();
    });
    this.ended = new Promise((resolve) => {
      this.#child.once("close", () => {
        this.isDead = true;
        this.#look();
        resolve();
      });
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Resolves when it takes runs. */
  async begin(order: WorkersOrder): Promise<void> {
    this.#child.stdin.write(`${JSON.stringify(order)}\n`);
    await this.until(() => this.count("works") > 0);
  }

  count(state: string): number {
    return this.said.filter((each) => each.state === state).length;
  }

  /** The runs that it has taken and said nothing of since. */
  get held(): readonly string[] {
    const held = new Set<string>();
    for (const { state, runId } of this.said) {
      if (state === "taken") held.add(runId);
      else held.delete(runId);
    }
    return [...held];
  }

  /** Resolves when it has said so, or is dead. */
  until(isSo: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!isSo() && !this.isDead) return;
        this.#waits.delete(look);
        resolve();
      };
      this.#waits.add(look);
      look();
    });
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Resolves when it has given back what it had, and is gone. */
  async stop(): Promise<void> {
    this.#child.stdin.write("stop\n");
    await this.ended;
  }

  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.ended;
  }

  /** Resolves when SIGSTOP has reached all of it: until then a part of it may still be in the middle of a write. */
  async freeze(): Promise<void> {
    this.signal("SIGSTOP");
    const tasks = `/proc/${this.pid}/task`;
    const isStopped = (task: string) => /\) T /.test(readFileSync(`${tasks}/${task}/stat`, "latin1"));
    while (!readdirSync(tasks).every(isStopped)) await new Promise((next) => setTimeout(next, 2));
  }

  #look(): void {
    for (const look of [...this.#waits]) look();
  }
}
