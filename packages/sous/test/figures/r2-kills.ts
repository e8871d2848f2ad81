/**
 * R2: processes that run a tree on a real database are killed with SIGKILL at random moments, and others go on, until the
 * tree is done. Nothing that was finished is done again, nothing that was shown is lost, and the file stays sound.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Random } from "../../src/core/clock.ts";
import { between, chance, seededRandom } from "../../src/testing/world.ts";
import type { Mutation } from "../support/mutation.ts";
import { KillJudge, type Remains } from "./kill-judge.ts";
import { bundleWorker, Crew, type KillableProcess, type LastWords, until } from "./kill-process.ts";
import { type FakeProvider, startFakeProvider } from "./kill-provider.ts";
import { readRemains } from "./kill-remains.ts";
import type { WorkOrder } from "./kill-worker.ts";

export type KillFigure = {
  seed: number;
  kills: number;
  /** Trees that came to their end, and the most processes one of them needed. */
  trees: number;
  mostLives: number;
  /** Everything that was not as it must be. */
  broken: { tree: number; problems: string[] }[];
  /** Questions and calls that nobody had kept the outcome of, and that were made again. */
  repeatedQuestions: number;
  repeatedCalls: number;
  events: number;
  milliseconds: number;
};

export type KillOptions = {
  seed: number;
  kills: number;
  /** A fault that the figure must find: it stops at the first problem. */
  mutation?: Mutation;
  /** Trees at a time; one for each core when unset. */
  lanes?: number;
};

/** Requests and tool runs of a life that nobody ends: kills are spread over all of it. */
const REQUESTS = 22;
const TOOL_RUNS = 14;

export async function runKills({ seed, kills, mutation, lanes = 2 }: KillOptions): Promise<KillFigure> {
  const startedAt = performance.now();
  const folder = mkdtempSync(join(tmpdir(), "sous-r2-"));
  const figure: KillFigure = {
    seed,
    kills: 0,
    trees: 0,
    mostLives: 0,
    broken: [],
    repeatedQuestions: 0,
    repeatedCalls: 0,
    events: 0,
    milliseconds: 0,
  };
  try {
    await using provider = await startFakeProvider(seededRandom(seed, "provider"));
    const program = await bundleWorker("kill-worker.ts", mutation);
    const isDone = () => figure.kills >= kills || (mutation !== undefined && figure.broken.length > 0);
    let trees = 0;
    const work = async () => {
      await using crew = new Crew(program);
      while (!isDone()) {
        const tree = new KilledTree(seededRandom(seed, `tree ${trees}`), join(folder, `${trees}`), provider, crew);
        const number = trees++;
        await tree.live(figure, isDone);
        const { problems } = tree.judge;
        if (problems.length > 0) figure.broken.push({ tree: number, problems });
      }
    };
    await Promise.all(Array.from({ length: lanes }, work));
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
  figure.milliseconds = Math.round(performance.now() - startedAt);
  return figure;
}

/** One tree with a database of its own. */
class KilledTree {
  readonly judge = new KillJudge();
  readonly #random: Random;
  readonly #place: string;
  readonly #provider: FakeProvider;
  readonly #crew: Crew;
  #rootId: string | undefined;
  #answers = 0;
  #ran = 0;
  #onAsked: (() => void) | undefined;

  constructor(random: Random, place: string, provider: FakeProvider, crew: Crew) {
    this.#random = random;
    this.#place = place;
    this.#provider = provider;
    this.#crew = crew;
  }

  /** Kills until the tree is done; when enough were killed, the next process may live. */
  async live(figure: KillFigure, isDone: () => boolean): Promise<void> {
    const name = this.#place.split("/").at(-1) ?? "";
    const address = this.#provider.addressFor(name, (asked) => {
      this.judge.asked(asked);
      this.#onAsked?.();
    });
    for (let lives = 1; ; lives++) {
      const worker = await this.#crew.take();
      const order = { file: `${this.#place}.db`, log: `${this.#place}.log`, address, runId: this.#rootId };
      const words = await this.#oneLife(worker, order, isDone());
      const remains = await this.#remains(words);
      if (words.signal === "SIGKILL") figure.kills += 1;
      this.judge.endLife(remains);
      const isOver = remains.events.some(({ type, parentId }) => type === "run-end" && parentId === null);
      if (words.result === undefined && words.signal === null)
        this.judge.problems.push(`Died by itself: ${words.fault}`);
      if (isOver) this.judge.endTree(remains, words.result === undefined ? undefined : JSON.parse(words.result));
      if (!isOver && this.judge.problems.length === 0) continue;
      figure.trees += 1;
      figure.mostLives = Math.max(figure.mostLives, lives);
      figure.repeatedQuestions += this.judge.repeatedQuestions;
      figure.repeatedCalls += this.judge.repeatedCalls;
      figure.events += remains.events.length;
      this.#provider.forget(name);
      return;
    }
  }

  async #oneLife(worker: KillableProcess, order: WorkOrder, mayLive: boolean): Promise<LastWords> {
    const random = this.#random;
    const givesAt = performance.now();
    if (mayLive) {
      worker.give(order);
    } else if (chance(random, 0.3)) {
      // Right behind an effect outside, before anybody could know of it.
      worker.give({ ...order, diesAtLine: between(random, 1, Math.max(1, TOOL_RUNS - this.#ran)) });
    } else if (chance(random, 0.15)) {
      worker.give(order);
      void killAt(worker, givesAt + random() * 60);
    } else {
      let left = between(random, 1, Math.max(1, REQUESTS - this.#answers));
      this.#onAsked = () => {
        left -= 1;
        if (left === 0) void killAt(worker, performance.now() + random() ** 2 * 8);
      };
      worker.give(order);
    }
    const words = await worker.ended;
    this.#onAsked = undefined;
    await this.#provider.hasHeardAll();
    return words;
  }

  async #remains({ shown }: LastWords): Promise<Remains> {
    const { events, ran, problems } = await readRemains(this.#place);
    this.judge.problems.push(...problems);
    this.#rootId = events[0]?.runId;
    this.#answers = events.filter(({ type }) => type === "message-end").length;
    this.#ran = ran.length;
    return { events, ran, shown };
  }
}

async function killAt(worker: KillableProcess, time: number): Promise<void> {
  await until(time);
  worker.kill();
}
