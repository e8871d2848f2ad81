/**
 * One tree through several processes, each in a world of its own: a process dies at a commit, just before it or just
 * behind it, and the next goes on from what was kept, with faults of its own.
 */

import type { AgentDefinition } from "../../src/core/agent.ts";
import { UserError } from "../../src/core/errors.ts";
import type { EventListener, StoredEvent } from "../../src/core/event.ts";
import type { ModelRequest } from "../../src/core/model.ts";
import type { RunOptions, RunResult } from "../../src/core/runtime.ts";
import { NO_OWNER, type Store } from "../../src/core/store.ts";
import type { Tool } from "../../src/core/tool.ts";
import { addCost, addUsage, noUsage } from "../../src/core/usage.ts";
import type { Runtime } from "../../src/runtime.ts";
import { decodeEvent, encodeEvent } from "../../src/storage/store/event-row.ts";
import { openMemoryStore } from "../../src/storage/store/memory.ts";
import { openRuns } from "../../src/testing/checker.ts";
import { scriptedModel } from "../../src/testing/scripted-model.ts";
import { between, chance, createWorld, pick, seededRandom, type World, WorldStuck } from "../../src/testing/world.ts";
import { checkMessages } from "../support/testing/check-messages.ts";
import { createFaults, type Faults, wrapStore } from "../support/testing/faults.ts";
import { Past } from "./crash-past.ts";
import { type CreateRuntime, leadOf, type Plan, specialists, toolsOf } from "./one-schedule.ts";
import { answersReadTwice } from "./random-answers.ts";
import { type WatchedStore, watchedStore } from "./watched-store.ts";

/** What a schedule with crashes needs of a runtime. */
export type CreateResumable = (
  options: Parameters<CreateRuntime>[0],
) => ReturnType<CreateRuntime> & Pick<Runtime, "resume" | "fanOut">;

export type CrashSchedule = {
  seed: number;
  problems: string[];
  hung: boolean;
  /** How many processes died. */
  crashes: number;
  /** How many events the store held at the end. */
  events: readonly StoredEvent[];
  faults: number;
  status: string;
  /** What the last process said; undefined when it died too, or the tree was not continued. */
  results: readonly RunResult[] | undefined;
  /** Why not everything is in the store, if so. */
  lost: string | undefined;
};

/** Called when a process begins, with its store: what it returns hears what the process shows, until it dies. */
export type WatchLife = (store: Store) => EventListener;

/** The last of them dies of nothing. */
const MOST_LIVES = 4;
const PATIENCE_MS = 3_600_000;
const HANGS = /hang|ignore the signal/;

export async function runCrashSchedule(
  seed: number,
  makePlan: (world: World) => Plan,
  createRuntime: CreateResumable,
  watchLife?: WatchLife,
): Promise<CrashSchedule> {
  const random = seededRandom(seed, "kind");
  const past = new Past(pick(random, ["read", "idempotent", "unsafe"]), chance(random, 0.15));
  const schedule = { crashes: 0, faults: 0, status: "none", hung: false };
  let ended: RunResult[] | undefined;
  let answer: Plan["answer"] | undefined;
  for (let life = 0; life < MOST_LIVES; life++) {
    // Another process has other random numbers, and a clock that has gone on.
    const startTime = Date.UTC(2026, 0, 1) + life * 86_400_000;
    const world = createWorld({ seed: seed + life * 0x1000_0000, startTime, maxSteps: 50_000, maxMs: PATIENCE_MS * 2 });
    const plan = makePlan(world);
    // The model is the same for all of them, and knows nothing of processes.
    answer ??= plan.answer;
    const faults = createFaults(world, plan.rates);
    const process = new Process(world, { ...plan, answer }, faults, past, life < MOST_LIVES - 1);
    process.listen(watchLife);
    try {
      const results = await process.live(createRuntime);
      schedule.faults += faults.happened.length;
      // A run that required its store and lost it leaves what a death would leave.
      const isCut = plan.runtime.requireStore === true && process.watched.mayGiveUp && life < MOST_LIVES - 1;
      past.endLife({ shown: process.shown, watched: process.watched, isCut: results === undefined || isCut });
      if (results !== undefined && !isCut) {
        ended = results;
        schedule.status = results.at(-1)?.status ?? "refused";
        past.checkEnd(results, plan);
        if (world.clock.liveTimers > 0) past.problem(`${world.clock.liveTimers} timers are left`);
        break;
      }
      if (results === undefined) schedule.crashes += 1;
      if (past.isOver) break;
    } catch (error) {
      if (error instanceof WorldStuck) schedule.hung = true;
      past.problem(`life ${life}: ${error instanceof WorldStuck ? error.message : String((error as Error).stack)}`);
      break;
    }
  }
  return { seed, problems: past.problems, events: past.kept, results: ended, lost: past.lost, ...schedule };
}

/** One life. */
class Process {
  readonly shown: StoredEvent[] = [];
  readonly watched: WatchedStore;
  readonly #world: World;
  readonly #plan: Plan;
  readonly #faults: Faults;
  readonly #past: Past;
  readonly #store: Store;
  readonly #death = Promise.withResolvers<undefined>();
  #isDead = false;
  #listener: EventListener = () => {};

  constructor(world: World, plan: Plan, faults: Faults, past: Past, mayDie: boolean) {
    this.#world = world;
    this.#plan = plan;
    this.#faults = faults;
    this.#past = past;
    this.#store = openMemoryStore();
    const random = world.random("death");
    const diesAt = mayDie && chance(random, 0.9) ? between(random, 1, pick(random, [2, 5, 12, 30])) : undefined;
    this.watched = watchedStore(faults, this.#mortal(diesAt, chance(random, 0.5)));
    past.beginLife(this.watched, plan.runtime.requireStore === true);
  }

  listen(watchLife: WatchLife | undefined): void {
    if (watchLife !== undefined) this.#listener = watchLife(this.#store);
  }

  /** Undefined when the process died. */
  async live(createRuntime: CreateResumable): Promise<RunResult[] | undefined> {
    const { kept, lost, rootId } = this.#past;
    if (rootId !== "") {
      this.#store.append(rootId, kept.map(readAgain), NO_OWNER);
      if (lost !== undefined) await this.#store.markLost(rootId, lost);
    }
    return this.#world.run(
      () => Promise.race([this.#runTree(createRuntime), this.#death.promise]),
      () => openRuns([...kept, ...this.shown]),
    );
  }

  /** A store whose process dies at this append, with it or without it. Nobody hears anything of it from then on. */
  #mortal(diesAt: number | undefined, losesIt: boolean): Store {
    let appends = 0;
    return wrapStore(this.#store, {
      isImmediate: false,
      append: async (rootId, events, fence) => {
        appends += 1;
        const dies = appends === diesAt;
        if (dies) this.#die();
        if (!this.#isDead || (dies && !losesIt)) {
          await this.#store.append(rootId, events, fence);
          this.#past.keep(rootId, events);
        }
        if (this.#isDead) await new Promise(() => {});
      },
      markLost: async (rootId, reason) => {
        if (!this.#isDead) this.#past.lost = reason;
        await this.#store.markLost(rootId, reason);
      },
    });
  }

  #die(): void {
    this.#isDead = true;
    this.#death.resolve(undefined);
  }

  async #runTree(createRuntime: CreateResumable): Promise<RunResult[]> {
    const plan = this.#plan;
    const tools = toolsOf(this.#faults).map((each) => this.#watchedTool(each));
    const model = this.#model();
    const runtime = createRuntime({
      ...plan.runtime,
      store: this.watched.store,
      host: this.#world.host,
      agents: specialists(tools),
    });
    const { rootId, lost } = this.#past;
    const lead = leadOf(model, tools);
    const options: Pick<RunOptions, "signal" | "onEvent"> = {
      signal: plan.stop.signal,
      onEvent: (event) => {
        if (this.#isDead) return;
        if (event.seq !== undefined) this.shown.push(event);
        this.#listener(event);
      },
    };
    this.#world.clock.ownTimer(PATIENCE_MS, () => this.#losePatience());
    if (this.#past.isFanOut) return this.#fanOut(runtime, lead, options);
    let handle =
      rootId === ""
        ? runtime.run(lead, "Go.", { ...plan.run, ...options })
        : runtime.resume(rootId, { agent: lead, ...options });
    plan.disturb?.(handle, this.shown);
    const results: RunResult[] = [];
    try {
      results.push(await handle.result);
    } catch (error) {
      if (!(lost !== undefined && error instanceof UserError && error.message.includes(lost))) throw error;
      return results;
    }
    if (lost !== undefined) this.#past.problem("A tree that was not kept went on");
    for (let more = plan.followUps ?? 0; more > 0; more--) {
      handle = handle.followUp("And then?");
      try {
        results.push(await handle.result);
      } catch (error) {
        // What the store gave up is not continued.
        if (!(this.watched.mayGiveUp && error instanceof UserError)) throw error;
      }
    }
    return results;
  }

  /** Several tasks from code, in one tree. Returns what a root of its own would have said. */
  async #fanOut(
    runtime: ReturnType<CreateResumable>,
    lead: AgentDefinition,
    options: Pick<RunOptions, "signal" | "onEvent">,
  ): Promise<RunResult[]> {
    const { rootId, lost } = this.#past;
    const inputs = ["Part one.", "Part two.", "Part three.", "Part four."];
    const begun = rootId === "" ? this.#plan.run : { resumes: rootId };
    let results: RunResult[];
    try {
      results = await runtime.fanOut(lead, inputs, { ...begun, ...options, concurrency: 2 });
    } catch (error) {
      if (!(lost !== undefined && error instanceof UserError && error.message.includes(lost))) throw error;
      return [];
    }
    if (results.length !== inputs.length) this.#past.problem(`${results.length} results for ${inputs.length} tasks`);
    const end = this.shown.findLast((event) => event.type === "run-end" && event.parentId === null);
    const [first] = results;
    if (first === undefined || end?.type !== "run-end") throw new Error("The fan-out has no end");
    const usage = noUsage();
    for (const each of results) addUsage(usage, each.usage);
    const costUsd = results.reduce<number | null>((sum, each) => addCost(sum, each.costUsd), 0);
    const agents = [first.agents[0], ...results.flatMap((each) => each.agents)] as RunResult["agents"];
    return [{ ...first, status: end.status, runId: end.runId, usage, costUsd, agents }];
  }

  #losePatience(): void {
    if (!this.#plan.mayHang?.() && !this.#faults.happened.some((fault) => HANGS.test(fault)))
      this.#past.problem(`Nobody hangs, and yet there is no end:\n  ${openRuns(this.#past.kept).join("\n  ")}`);
    this.#plan.stop.abort(new Error("The caller has lost patience"));
  }

  #watchedTool(given: Tool): Tool {
    // What is called most should be of every kind.
    const inner = given.name === "look" ? { ...given, effect: this.#past.lookEffect } : given;
    return {
      ...inner,
      execute: (input, context) => {
        if (this.#isDead) return new Promise(() => {});
        this.#past.execute(context, inner);
        return inner.execute(input, context);
      },
    };
  }

  #model() {
    const world = this.#world;
    const past = this.#past;
    const model = scriptedModel(
      { "**": (request: ModelRequest) => this.#faults.answer(this.#plan.answer(request)) },
      {
        clock: world.clock,
        schedule: (path) => world.turn(`model of ${path}`),
        onRequest: (request) => {
          const { caller, messages } = request;
          for (const problem of checkMessages(messages)) past.problem(`request of ${caller.path}: ${problem}`);
          for (const each of answersReadTwice(messages)) past.problem(`${caller.path} reads ${each} twice`);
        },
      },
    );
    const { answer } = model;
    return Object.assign(model, {
      answer: async (...given: Parameters<typeof answer>) => {
        if (this.#isDead) return new Promise<never>(() => {});
        const question = past.ask(given[0]);
        const answered = await answer(...given);
        question.isAnswered = true;
        return answered;
      },
    });
  }
}

/** What another process reads of it. */
function readAgain(event: StoredEvent): StoredEvent {
  const { type, json, blobs } = encodeEvent(event);
  return decodeEvent({ seq: event.seq, type, json }, event, (hash) => blobs.find((blob) => blob.hash === hash)?.text);
}
