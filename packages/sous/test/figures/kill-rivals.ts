/**
 * Two processes and one tree: both want to go on with it at the same moment, or one sleeps until everybody thinks it dead,
 * another takes over, and the sleeper wakes up. One history comes of it, and whoever may not write it says so.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Random } from "../../src/core/clock.ts";
import { between, seededRandom } from "../../src/testing/world.ts";
import { KillJudge } from "./kill-judge.ts";
import { bundleWorker, Crew, type KillableProcess, until } from "./kill-process.ts";
import { type FakeProvider, startFakeProvider } from "./kill-provider.ts";
import { readRemains } from "./kill-remains.ts";
import type { WorkOrder } from "./kill-worker.ts";

export type RivalFigure = {
  seed: number;
  trials: number;
  /** Trials in which anything was wrong, with what it was. */
  broken: { trial: number; problems: string[] }[];
  /** How often each sentence was said by the one who may not go on, without what differs. */
  refusals: Record<string, number>;
  milliseconds: number;
};

type Options = { seed: number; trials: number };

/** Two processes resume one tree at the same moment: exactly one wins. */
export function runRivals(options: Options): Promise<RivalFigure> {
  return runTrials(options, "rivals", async (trial) => {
    const first = await trial.startAndStop("SIGKILL");
    const runId = await trial.rootId();
    const rivals = [await trial.crew.take(), await trial.crew.take()];
    await first.ended;
    for (const rival of rivals) rival.give(trial.order("rivals", { runId }));
    const words = await Promise.all(rivals.map((rival) => rival.ended));
    const winners = words.filter(({ result }) => result !== undefined);
    if (winners.length !== 1) trial.problem(`${winners.length} of two have won`);
    for (const { result, fault } of words) if (result === undefined) trial.refused(fault, IS_TAKEN);
    await trial.judgeEnd(winners[0]?.result);
  });
}

/** A process sleeps past its lease while another takes over; it wakes up in the middle of that, or behind its end. */
export function runSleepers(options: Options): Promise<RivalFigure> {
  return runTrials(options, "sleepers", async (trial) => {
    const sleeper = await trial.startAndStop("SIGSTOP");
    const runId = await trial.rootId();
    const mayAsk = await trial.decided();
    const heir = await trial.crew.take();
    heir.give(trial.order("heir", { runId, clockAheadMs: 3_600_000 }));
    // Behind the first question of the heir the tree is no longer the sleeper's.
    await Promise.race([trial.hasAsked("heir", between(trial.random, 1, 20)), heir.ended]);
    sleeper.kill("SIGCONT");
    const [late, { result, fault }] = await Promise.all([sleeper.ended, heir.ended]);
    // It fell asleep in the middle of a write: nobody else can write then, and the tree is still its own.
    if (IS_LOCKED.test(fault ?? "") && late.result !== undefined) {
      trial.refused(fault, IS_LOCKED);
      await trial.judgeEnd(late.result);
      return;
    }
    if (result === undefined) trial.problem(`The heir did not come to an end: ${fault}`);
    if (late.result === undefined) trial.refused(late.fault, WAS_TAKEN_OVER);
    else trial.problem("The sleeper came to an end of its own");
    if (trial.asked("first") > mayAsk) trial.problem(`The sleeper asked ${trial.asked("first") - mayAsk} more`);
    await trial.judgeEnd(result);
  });
}

const IS_TAKEN =
  /Run \w+ (is at work in process \d+ on [\w.-]+, which holds it until [\w:.-]+: wait, or stop that process|has completed\. Give it a message to continue with, or fork it\.)/;
const IS_LOCKED = /is locked by another program: close that program, or wait until it is done/;
const WAS_TAKEN_OVER = /Tree \w+ was taken over: claim 1 is not the latest, which is 2/;

async function runTrials(
  { seed, trials }: Options,
  name: string,
  run: (trial: Trial) => Promise<void>,
): Promise<RivalFigure> {
  const startedAt = performance.now();
  const folder = mkdtempSync(join(tmpdir(), `sous-${name}-`));
  const figure: RivalFigure = { seed, trials, broken: [], refusals: {}, milliseconds: 0 };
  try {
    await using provider = await startFakeProvider(seededRandom(seed, "provider"));
    const program = await bundleWorker("kill-worker.ts");
    await using crew = new Crew(program);
    for (let number = 0; number < trials; number++) {
      const random = seededRandom(seed, `${name} ${number}`);
      const trial = new Trial(random, join(folder, String(number)), provider, crew);
      await run(trial);
      for (const sentence of trial.refusals) figure.refusals[sentence] = (figure.refusals[sentence] ?? 0) + 1;
      if (trial.problems.length > 0) figure.broken.push({ trial: number, problems: trial.problems });
    }
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
  figure.milliseconds = Math.round(performance.now() - startedAt);
  return figure;
}

/** One tree with a database of its own. */
class Trial {
  readonly random: Random;
  readonly crew: Crew;
  readonly refusals: string[] = [];
  readonly #place: string;
  readonly #provider: FakeProvider;
  readonly #judge = new KillJudge();
  readonly #asked = new Map<string, number>();
  #onAsked: (() => void) | undefined;

  constructor(random: Random, place: string, provider: FakeProvider, crew: Crew) {
    this.random = random;
    this.#place = place;
    this.#provider = provider;
    this.crew = crew;
  }

  get problems(): string[] {
    return this.#judge.problems;
  }

  problem(what: string): void {
    this.#judge.problems.push(what);
  }

  /** Each process has an address of its own, so that it is known who asks. */
  order(who: string, more: Partial<WorkOrder> = {}): WorkOrder {
    const tree = `${this.#place.split("/").at(-1)}-${who}`;
    const address = this.#provider.addressFor(tree, (asked) => {
      this.#asked.set(who, this.asked(who) + 1);
      this.#judge.asked(asked);
      this.#onAsked?.();
    });
    return { file: `${this.#place}.db`, log: `${this.#place}.log`, address, ...more };
  }

  asked(who: string): number {
    return this.#asked.get(who) ?? 0;
  }

  /** Resolves when it has asked so often. */
  async hasAsked(who: string, often: number): Promise<void> {
    while (this.asked(who) < often) {
      await new Promise<void>((resolve) => {
        this.#onAsked = resolve;
      });
    }
  }

  /** Begins a tree and stops its process somewhere in the middle. */
  async startAndStop(signal: "SIGKILL" | "SIGSTOP"): Promise<KillableProcess> {
    const worker = await this.crew.take();
    worker.give(this.order("first"));
    await this.hasAsked("first", between(this.random, 1, 14));
    await until(performance.now() + this.random() * 3);
    worker.kill(signal);
    if (signal === "SIGKILL") await worker.ended;
    else await worker.untilStopped();
    await this.#provider.hasHeardAll();
    const { events, ran, problems } = await readRemains(this.#place);
    this.problems.push(...problems);
    this.#judge.endLife({ events, ran, shown: [] });
    return worker;
  }

  async rootId(): Promise<string | undefined> {
    return (await readRemains(this.#place)).events[0]?.runId;
  }

  /** How many questions are kept as asked. Some may be on their way, or leave the machine only when the sleeper wakes up. */
  async decided(): Promise<number> {
    const { events } = await readRemains(this.#place);
    const open = new Set<string>();
    for (const { type, runId } of events) {
      if (type === "turn-start") open.add(runId);
      if (type === "message-end") open.delete(runId);
    }
    return open.size + events.filter(({ type }) => type === "message-end").length;
  }

  /** Notes what the one who may not go on says, if it is a sentence for people. */
  refused(fault: string | undefined, sentence: RegExp): void {
    const said = sentence.exec(fault ?? "")?.[0];
    if (said === undefined) this.problem(`It says: ${fault}`);
    else this.refusals.push(said.replace(/\b\w{26}\b|\d+(?=\son)|on [\w.-]+|until \S+/g, "…"));
  }

  async judgeEnd(result: string | undefined): Promise<void> {
    const { events, ran, problems } = await readRemains(this.#place);
    this.problems.push(...problems);
    this.#judge.endTree({ events, ran, shown: [] }, result === undefined ? undefined : JSON.parse(result));
    const paid = ran.filter(({ name }) => name === "pay").map(({ runId, callId }) => `${runId} ${callId}`);
    if (new Set(paid).size < paid.length) this.problem("Something was paid twice");
    for (const who of this.#asked.keys()) this.#provider.forget(`${this.#place.split("/").at(-1)}-${who}`);
  }
}
