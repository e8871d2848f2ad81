/**
 * T1: random trees under faults, whose processes die and are followed by others, seen by every sink: gauges end at zero,
 * counters say what the journal says, spans form its tree, and all sums agree.
 */

import { type ReadableSpan, type SpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { createLifecycleLog } from "../../src/bridges/telemetry/log.ts";
import { measureRuns } from "../../src/bridges/telemetry/metrics.ts";
import { runIdGenerator } from "../../src/bridges/telemetry/run-ids.ts";
import { traceRuns } from "../../src/bridges/telemetry/spans.ts";
import type { EventListener, SousEvent, StoredEvent } from "../../src/core/event.ts";
import type { Store } from "../../src/core/store.ts";
import type { Price } from "../../src/core/usage.ts";
import { createRuntime } from "../../src/runtime.ts";
import type { World } from "../../src/testing/world.ts";
import { type CrashSchedule, runCrashSchedule } from "./crash-schedule.ts";
import type { Plan } from "./one-schedule.ts";
import { faultPlan } from "./r1-schedules.ts";
import { CountingMeter, compareCounts, compareGauges } from "./telemetry-counts.ts";
import { compareSpans, compareSpent } from "./telemetry-spans.ts";
import { compareLog, compareResultSum, compareTallies, readTallies } from "./telemetry-sums.ts";

/** The sinks; a planted fault brings its own. */
export type Sinks = { measureRuns: typeof measureRuns; traceRuns: typeof traceRuns };

export type TelemetryFigure = {
  seed: number;
  trees: number;
  /** Trees in which anything was wrong, with what it was. */
  broken: { seed: number; problems: string[] }[];
  /** What there was to see. */
  seen: {
    kills: number;
    resumes: number;
    refusals: number;
    backgroundChildren: number;
    retries: number;
    spans: number;
  };
  milliseconds: number;
};

/** Runs the trees of the seeds `seed`, `seed + 1`, … */
export async function runTelemetryTrees(given: {
  seed: number;
  count: number;
  sinks?: Partial<Sinks>;
}): Promise<TelemetryFigure> {
  const startedAt = performance.now();
  const { measureRuns: measure = measureRuns, traceRuns: trace = traceRuns } = given.sinks ?? {};
  const sinks = { measureRuns: measure, traceRuns: trace };
  const seen = { kills: 0, resumes: 0, refusals: 0, backgroundChildren: 0, retries: 0, spans: 0 };
  const figure: TelemetryFigure = { seed: given.seed, trees: given.count, broken: [], seen, milliseconds: 0 };
  for (let seed = given.seed; seed < given.seed + given.count; seed++) {
    const lives: Life[] = [];
    const watch = (store: Store): EventListener => {
      const life = new Life(store, sinks);
      lives.push(life);
      return life.onEvent;
    };
    const schedule = await runCrashSchedule(seed, planOf(seed), createRuntime, watch);
    const problems = [...schedule.problems, ...(await judge(schedule, lives))];
    if (problems.length > 0) figure.broken.push({ seed, problems });
    addSeen(seen, schedule, lives);
  }
  figure.milliseconds = Math.round(performance.now() - startedAt);
  return figure;
}

/** Two of three trees know what their model costs. */
function planOf(seed: number): (world: World) => Plan {
  const price: Price = { input: 3, output: 15 };
  const prices = seed % 3 === 0 ? undefined : { "scripted/model": price };
  return (world) => {
    const plan = faultPlan(world);
    return { ...plan, runtime: { ...plan.runtime, models: { prices } } };
  };
}

/** One process, and everything that its sinks have made of its events. */
class Life {
  readonly store: Store;
  readonly shown: SousEvent[] = [];
  readonly meter = new CountingMeter();
  readonly spans: ReadableSpan[] = [];
  readonly log: string[] = [];
  readonly thrown: string[] = [];
  readonly #listeners: EventListener[];

  constructor(store: Store, sinks: Sinks) {
    this.store = store;
    const spanProcessors = [collector(this.spans)];
    const tracerProvider = new TracerProvider({ idGenerator: runIdGenerator(), spanProcessors });
    const log = createLifecycleLog({ write: (line) => this.log.push(line), level: "debug" });
    this.#listeners = [sinks.measureRuns(this.meter), sinks.traceRuns({ tracerProvider }), log.onEvent];
  }

  readonly onEvent: EventListener = (event) => {
    this.shown.push(event);
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        this.thrown.push(`A sink throws at ${event.type}: ${error instanceof Error ? error.stack : error}`);
      }
    }
  };
}

/** Spans as they end: a process that dies has exported those, at best. */
function collector(spans: ReadableSpan[]): SpanProcessor {
  const done = async () => {};
  return { onStart: () => {}, onEnd: (span) => void spans.push(span), forceFlush: done, shutdown: done };
}

async function judge(schedule: CrashSchedule, lives: readonly Life[]): Promise<string[]> {
  const { events: journal, results, lost } = schedule;
  const shown = lives.map((life) => life.shown);
  const told = { journal, shown: new Set(shown.flat().flatMap(({ seq }) => (seq === undefined ? [] : [seq]))) };
  const spans = lives.flatMap((life) => life.spans);
  const meters = lives.map(({ meter }) => meter);
  const problems = [
    ...lives.flatMap(({ thrown }) => thrown.slice(0, 1)),
    ...lives.flatMap((life) => compareGauges(life.meter, life.shown)),
    ...lives.flatMap((life) => compareLog(life.log, life.shown)),
    ...compareCounts(meters, shown, journal),
  ];
  if (isForked(shown, journal)) return problems;
  problems.push(...compareSpans(spans, told), ...compareSpent(spans, told));
  if (isWhole(schedule)) problems.push(...compareTallies(await talliesOf(lives), journal));
  const result = results?.at(-1);
  if (result === undefined || lost !== undefined || !isWhole(schedule)) return problems;
  return [...problems, ...compareResultSum(result, journal)];
}

/** A process that had lost its store showed what it could not keep, and the next continued from before that. */
function isForked(shown: readonly (readonly SousEvent[])[], journal: readonly StoredEvent[]): boolean {
  const kept = new Map(journal.map((event) => [event.seq, event]));
  return shown.flat().some(({ seq, type, runId, time }) => {
    const same = seq === undefined ? undefined : kept.get(seq);
    return seq !== undefined && (same?.type !== type || same.runId !== runId || same.time !== time);
  });
}

/** Everything that happened is in the store. */
function isWhole({ lost, results }: CrashSchedule): boolean {
  return lost === undefined && !results?.some(({ error }) => error?.type === "store");
}

async function talliesOf(lives: readonly Life[]) {
  const pages = await Promise.all(lives.map(({ store }) => readTallies(store)));
  return pages.flat();
}

function addSeen(seen: TelemetryFigure["seen"], { crashes, events }: CrashSchedule, lives: readonly Life[]): void {
  const count = (is: (event: StoredEvent) => boolean) => events.filter(is).length;
  seen.kills += crashes;
  seen.resumes += count(({ type }) => type === "resume");
  seen.refusals += count(({ type }) => type === "spawn-refused");
  seen.backgroundChildren += count((event) => event.type === "run-start" && event.call?.background === true);
  seen.retries += count(({ type }) => type === "retry");
  seen.spans += lives.reduce((sum, { spans }) => sum + spans.length, 0);
}
