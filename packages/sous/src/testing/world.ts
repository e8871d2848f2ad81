/**
 * A small world for a runtime to live in: time, chance and the order of events follow from one seed, so whatever goes
 * wrong in it goes wrong again with the same seed.
 *
 * Everything that takes its time asks the world for a turn: parts of a model's stream, the ends of tools, commits of a
 * store, answers of a person. The world chooses who is next. Time stands still while there is a turn to take or a
 * file is being read or written, and then moves to the next timer. Promises in between run as they do.
 */

import type { Clock, Host, Random } from "../core/clock.ts";
import { ulidSource } from "../core/ulid.ts";

/** The seed of a world, and how late its timers may be. */
export type WorldOptions = {
  seed: number;
  /** Wall time at the beginning; 2026-01-01 when unset. */
  startTime?: number;
  /** The share of turns that come late, by up to `maxDelayMs` of virtual time; 0.1 and 2,000 when unset. */
  lateness?: number;
  maxDelayMs?: number;
  /** A run that takes more turns than this is called endless; 200,000 when unset. */
  maxSteps?: number;
  /** A run that takes more virtual time than this is called hanging, though it may still set timers; a week when unset. */
  maxMs?: number;
  cwd?: string;
};

/** A world in which time passes when nothing else can happen. */
export type World = {
  readonly seed: number;
  readonly clock: Clock & {
    /** Moves wall time alone, as an operator or a time server would; timers do not notice. */
    jump(milliseconds: number): void;
    /** A timer of the test itself: it is not counted as something the code under test left behind. */
    ownTimer(milliseconds: number, callback: () => void): Disposable;
    /** The number of timers that the code under test has set and neither disposed nor seen fire. */
    readonly liveTimers: number;
  };
  /** Clock, randomness, working directory and no variables, for a runtime. */
  readonly host: Host;
  /** Makes ULIDs of this world. */
  readonly nextId: () => string;
  /** A row of random numbers for one purpose; drawing from it does not change any other. */
  random(purpose: string): () => number;
  /** Resolves when the world gives the turn. `what` says who is waiting, for the message about a hang. */
  turn(what: string): Promise<void>;
  /**
   * Lets the work happen until it has settled. Throws when nothing more can happen before that;
   * `describe` may say what the code under test is still waiting for.
   */
  run<T>(work: () => PromiseLike<T>, describe?: () => readonly string[]): Promise<T>;
  /** The number of turns and timers so far. */
  readonly steps: number;
};

/** The work can never settle, or does not seem to. */
export class WorldStuck extends Error {
  override name = "WorldStuck";
}

const START_TIME = Date.UTC(2026, 0, 1);
const WEEK_MS = 7 * 24 * 3_600_000;

type Turn = { what: string; take: () => void };

/** Makes a world from a seed: a clock, randomness and an order of events that repeat. */
export function createWorld(options: WorldOptions): World {
  const { seed, startTime = START_TIME, lateness = 0.1, maxDelayMs = 2000, cwd = "/" } = options;
  const { maxSteps = 200_000, maxMs = WEEK_MS } = options;
  const clock = new VirtualClock(startTime);
  const order = seededRandom(seed, "order");
  const delays = seededRandom(seed, "delays");
  const hostRandom = seededRandom(seed, "host");
  const turns: Turn[] = [];
  let steps = 0;

  function turn(what: string): Promise<void> {
    return new Promise<void>((take) => {
      const isLate = chance(delays, lateness);
      if (isLate) clock.ownTimer(between(delays, 1, maxDelayMs), () => turns.push({ what, take }));
      else turns.push({ what, take });
    });
  }

  /** Lets one thing happen; false when there is nothing. */
  function step(): boolean {
    const index = Math.floor(order() * turns.length);
    const chosen = turns[index];
    if (chosen === undefined) return clock.fireNext((count) => Math.floor(order() * count));
    const last = turns.pop();
    if (last !== undefined && last !== chosen) turns[index] = last;
    chosen.take();
    return true;
  }

  async function run<T>(work: () => PromiseLike<T>, describe?: () => readonly string[]): Promise<T> {
    let isSettled = false;
    const settle = () => {
      isSettled = true;
    };
    const result = Promise.resolve().then(work);
    result.then(settle, settle);
    await quiet(2);
    const limits = { steps: steps + maxSteps, time: clock.monotonic() + maxMs };
    while (!isSettled) {
      if (turns.length === 0) await untilFilesRest();
      if (isSettled) break;
      if (!step() && !(await isBusyAfterAll())) throw stuck("Nothing more can happen");
      await quiet(2);
      steps += 1;
      if (steps > limits.steps) throw stuck(`No end after ${maxSteps} steps`);
      if (clock.monotonic() > limits.time) throw stuck(`No end after ${maxMs} ms`);
    }
    return result;

    /** Promises and immediates can follow one another for longer than one look; a hang is worth several. */
    async function isBusyAfterAll(): Promise<boolean> {
      await quiet(16);
      return isSettled || step();
    }

    function stuck(why: string): WorldStuck {
      const waiting = [...(describe?.() ?? []), ...turns.map(({ what }) => what)];
      const list = waiting.length === 0 ? "" : `\nStill waiting:\n  ${waiting.slice(0, 20).join("\n  ")}`;
      return new WorldStuck(`${why}, seed ${seed}, step ${steps}, ${clock.monotonic()} ms${list}`);
    }
  }

  return {
    seed,
    clock,
    host: { clock, random: hostRandom, cwd, environment: {} },
    nextId: ulidSource(() => clock.now(), seededRandom(seed, "ids")),
    random: (purpose) => seededRandom(seed, purpose),
    turn,
    run,
    get steps() {
      return steps;
    },
  };
}

/**
 * A disk takes real time, which virtual time must not outrun: a tool that reads files would meet the deadlines of a
 * week before its first file was opened.
 */
async function untilFilesRest(): Promise<void> {
  while (process.getActiveResourcesInfo().some(isFileRequest)) await quiet(2);
}

function isFileRequest(resource: string): boolean {
  return resource.startsWith("FSReq") || resource === "CloseReq";
}

/** Waits until promises, and what they queue for the end of the round, have run. */
async function quiet(rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** Numbers in [0, 1) that follow from the seed. A name gives each purpose its own row, so that they do not disturb each other. */
export function seededRandom(seed: number, name = ""): Random {
  let state = seed | 0;
  for (let index = 0; index < name.length; index++) state = Math.imul(state ^ name.charCodeAt(index), 0x01000193);
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 0x1_0000_0000;
  };
}

/** True in this share of the draws. */
export function chance(random: Random, share: number): boolean {
  return random() < share;
}

/** A whole number from `least` to `most`, both included. */
export function between(random: Random, least: number, most: number): number {
  return least + Math.floor(random() * (most - least + 1));
}

/** One of the items. */
export function pick<T>(random: Random, choices: readonly [T, ...T[]]): T {
  return choices[Math.floor(random() * choices.length)] ?? choices[0];
}

type Timer = { due: number; callback: () => void; isGuest: boolean };

/** A clock that moves only when a test moves it. */
export class VirtualClock implements Clock {
  readonly #startTime: number;
  readonly #timers = new Set<Timer>();
  #elapsed = 0;
  #jumped = 0;

  constructor(startTime: number) {
    this.#startTime = startTime;
  }

  // Fields, not methods: a clock is handed around in pieces.
  readonly now = (): number => this.#startTime + this.#elapsed + this.#jumped;
  readonly monotonic = (): number => this.#elapsed;
  /** One that would not keep a process alive is not counted as left behind. */
  readonly timer = (milliseconds: number, callback: () => void, isQuiet = false): Disposable =>
    this.#add(milliseconds, callback, !isQuiet);

  /** A timer of the world itself: it is not counted as something the code under test left behind. */
  ownTimer(milliseconds: number, callback: () => void): Disposable {
    return this.#add(milliseconds, callback, false);
  }

  /** Moves wall time alone, as an operator or a time server would; timers do not notice. */
  jump(milliseconds: number): void {
    this.#jumped += milliseconds;
  }

  /** The number of timers that the code under test has set and neither disposed nor seen fire. */
  get liveTimers(): number {
    let count = 0;
    for (const timer of this.#timers) if (timer.isGuest) count += 1;
    return count;
  }

  /** Moves time to the earliest timer and fires it; false when there is none. Among equals `choose` decides. */
  fireNext(choose: (count: number) => number): boolean {
    let earliest: Timer[] = [];
    for (const timer of this.#timers) {
      const due = earliest[0]?.due ?? Number.POSITIVE_INFINITY;
      if (timer.due < due) earliest = [timer];
      else if (timer.due === due) earliest.push(timer);
    }
    const chosen = earliest[earliest.length > 1 ? choose(earliest.length) : 0];
    if (chosen === undefined) return false;
    this.#timers.delete(chosen);
    this.#elapsed = Math.max(this.#elapsed, chosen.due);
    chosen.callback();
    return true;
  }

  #add(milliseconds: number, callback: () => void, isGuest: boolean): Disposable {
    const timer = { due: this.#elapsed + Math.max(0, milliseconds), callback, isGuest };
    this.#timers.add(timer);
    return { [Symbol.dispose]: () => void this.#timers.delete(timer) };
  }
}
