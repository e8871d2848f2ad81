/** The reference run of R11 on a real database, with one write that fails in one way; then everything is compared. */

import { copyFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { agent } from "../../src/core/agent.ts";
import type { Clock } from "../../src/core/clock.ts";
import { StoreError, UserError } from "../../src/core/errors.ts";
import type { StoredEvent } from "../../src/core/event.ts";
import type { ModelRequest } from "../../src/core/model.ts";
import { RunError, type RunResult } from "../../src/core/runtime.ts";
import type { Store } from "../../src/core/store.ts";
import { type ToolContext, tool } from "../../src/core/tool.ts";
import { createRuntime } from "../../src/runtime.ts";
import { checkHistory } from "../../src/testing/checker.ts";
import { type ScriptedModel, scriptedModel } from "../../src/testing/scripted-model.ts";
import { calls, says } from "../../src/testing/steps.ts";
import { wrapStore } from "../support/testing/faults.ts";
import { type Fault, fail, type Way } from "./r11-faults.ts";

/**
 * How long the fault lasts, and what the run was told: `passing` is over at the second attempt; `lasting` when the journal
 * has given up, so that the store can keep a word at once; `staying` when the lead says its last word; `required` lasts as
 * long as `lasting`, in a run that requires its store.
 */
export const MODES = ["passing", "lasting", "staying", "required"] as const;
export type Mode = (typeof MODES)[number];

export type FailedRun = {
  problems: string[];
  /** How many writes the run made, and whether one of them failed. */
  writes: number;
  hasFailed: boolean;
};

export type RunPlan = {
  /** Which write fails; 0 for none. */
  write: number;
  way: Way;
  mode: Mode;
  /** Has an empty database to begin with, and room for another. */
  folder: string;
  /** Turns of the lead; every second one has a child. */
  turns: number;
  open: typeof import("../../src/storage/store/sqlite/store.ts")["openSqliteStore"];
  /** A runtime instead of the real one: a mutant. */
  createRuntime?: typeof createRuntime;
};

/** The database of a run that is over stays until the next begins. */
export const EMPTY = "empty.db";
const FILE = "runs.db";

/** The first attempt and three more. */
const ATTEMPTS = 4;

/** Whoever waits before another attempt waits a hundredth of the time. */
const HURRIED: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  timer(milliseconds, callback) {
    const timer = setTimeout(callback, milliseconds / 100);
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  },
};

export async function runWithFault(plan: RunPlan): Promise<FailedRun> {
  const file = join(plan.folder, FILE);
  for (const end of ["-wal", "-shm"]) rmSync(`${file}${end}`, { force: true });
  copyFileSync(join(plan.folder, EMPTY), file);
  const stage = new Stage(plan);
  const result = await stage.run();
  await using store = await plan.open(file);
  const kept = await store.read(result.runId);
  stage.compare(kept, result);
  // What never began cannot go on. A store that never came back could not be told: then it is marked beside the file.
  if (stage.hasGivenUp && kept.length > 0) await stage.goOn(store, result);
  return { problems: stage.problems, writes: stage.writes, hasFailed: stage.hasFailed };
}

class Stage {
  readonly problems: string[] = [];
  /** Everything the caller was shown. */
  readonly shown: StoredEvent[] = [];
  writes = 0;
  hasFailed = false;
  /** So many attempts failed that the journal gives up. */
  hasGivenUp = false;
  /** The store could keep something again before the run was over. */
  isBack = true;
  readonly #plan: RunPlan;
  readonly #file: string;
  readonly #createRuntime: typeof createRuntime;
  /** The last event of which the store said that it is kept. */
  #lastKept = 0;
  #lastTried = 0;
  #failures = 0;
  #fault: Fault | undefined;
  #isResumed = false;
  readonly #paid = new Set<string>();
  readonly #intended = new Set<string>();

  constructor(plan: RunPlan) {
    this.#plan = plan;
    this.#file = join(plan.folder, FILE);
    this.#createRuntime = plan.createRuntime ?? createRuntime;
  }

  async run(): Promise<RunResult> {
    const { open, mode } = this.#plan;
    await using opened = await open(this.#file, { busyTimeoutMs: 0 });
    const store = wrapStore(opened, { append: (...given) => this.#append(opened, ...given) });
    const runtime = this.#createRuntime({ store, requireStore: mode === "required", host: { clock: HURRIED } });
    const onEvent = (event: { seq?: number | undefined }) => {
      if (event.seq !== undefined) this.shown.push(event as StoredEvent);
    };
    try {
      return await runtime.run(this.#lead(), "Go.", { onEvent });
    } catch (error) {
      if (!(error instanceof RunError)) throw error;
      if (!(error.cause instanceof StoreError)) this.problems.push(`The cause is ${error.cause}`);
      return error.result;
    } finally {
      this.isBack = this.#fault === undefined;
      this.#endFault();
      const status = (await opened.run(this.shown[0]?.runId ?? ""))?.status;
      if (status === "running" && this.isBack)
        this.problems.push("The run is over, and its store says that it is at work");
    }
  }

  /** What a required store has kept is as good as after a crash; any other tree is refused with the reason. */
  async goOn(store: Store, { runId, lost }: RunResult): Promise<void> {
    this.#isResumed = true;
    const problem = (what: string) => void this.problems.push(`When it goes on: ${what}`);
    try {
      const { status } = await this.#createRuntime({ store }).resume(runId, { agent: this.#lead() });
      if (this.#plan.mode !== "required") problem(`nobody refuses it, though ${lost}`);
      if (status !== "completed") problem(`it is ${status}`);
      for (const each of checkHistory(await store.read(runId))) problem(each);
    } catch (error) {
      const isRefusal = error instanceof UserError && error.message.includes(lost ?? "never");
      if (!isRefusal || this.#plan.mode === "required") problem(String(error));
    }
  }

  #append(inner: Store, ...given: Parameters<Store["append"]>): void {
    const [, events] = given;
    const first = events[0]?.seq ?? 0;
    if (first > this.#lastTried) this.writes += 1;
    this.#lastTried = first;
    if (this.writes === this.#plan.write && !this.hasFailed) this.#fault ??= fail(this.#plan.way, this.#file);
    try {
      inner.append(...given);
    } catch (error) {
      this.#failed();
      throw error;
    }
    this.#lastKept = events.at(-1)?.seq ?? 0;
    for (const event of events)
      if (event.type === "tool-call-start") this.#intended.add(`${event.runId} ${event.callId}`);
  }

  #failed(): void {
    this.hasFailed = true;
    this.#failures += 1;
    this.hasGivenUp = this.#failures >= ATTEMPTS;
    const isOver = this.#plan.mode === "passing" || (this.hasGivenUp && this.#plan.mode !== "staying");
    if (isOver) this.#endFault();
  }

  #endFault(): void {
    this.#fault?.[Symbol.dispose]();
    this.#fault = undefined;
  }

  #lead() {
    const model = this.#model();
    const inputSchema = { type: "object" } as const;
    const pay = tool({
      name: "pay",
      description: "Pays.",
      effect: "unsafe",
      inputSchema,
      execute: (_input, context: ToolContext) => this.#pay(context),
    });
    const look = tool({ name: "look", description: "Looks.", effect: "read", inputSchema, execute: () => "A view." });
    return agent({ name: "lead", model, tools: [pay, look], delegate: true, maxTurns: 1_000 });
  }

  #pay({ runId, callId }: ToolContext): string {
    const key = `${runId} ${callId}`;
    if (this.#paid.has(key)) this.problems.push(`${callId} is paid twice`);
    this.#paid.add(key);
    if (!this.#mayForget && !this.#intended.has(key))
      this.problems.push(`${callId} is paid before it is kept that it should`);
    return "Paid.";
  }

  /** The caller knows that not everything is kept. */
  get #mayForget(): boolean {
    return this.#isResumed || (this.hasGivenUp && this.#plan.mode !== "required");
  }

  #model(): ScriptedModel {
    const { turns } = this.#plan;
    const onRequest = ({ caller: { path, depth, turn } }: ModelRequest) => {
      if (depth === 0 && turn > turns) this.#endFault();
      if (this.#mayForget) return;
      if (this.#lastKept < (this.shown.at(-1)?.seq ?? 0)) this.problems.push(`${path} asks on what is not kept`);
      if (this.hasGivenUp) this.problems.push(`${path} asks after the loss`);
    };
    return scriptedModel(
      {
        lead: ({ caller: { turn } }) => {
          if (turn > turns) return says("Done.");
          const child = calls("subagent", { label: "child", task_prompt: `Part ${turn}.` });
          return turn % 2 === 0 ? [child, calls("look")] : [calls("pay"), calls("look"), calls("pay")];
        },
        "lead/*": ({ caller: { turn } }) => (turn === 1 ? [calls("look"), calls("pay")] : says("Here.")),
      },
      { onRequest },
    );
  }

  /** What a fresh connection reads, what the store had promised, and what the caller was told. */
  compare(kept: readonly StoredEvent[], result: RunResult): void {
    const { mode } = this.#plan;
    const isWhole = !this.hasGivenUp;
    const problem = (what: string) => void this.problems.push(what);
    const promised = this.shown.filter(({ seq }) => seq <= this.#lastKept);
    if (JSON.stringify(kept.map(nameOf)) !== JSON.stringify(promised.map(nameOf)))
      problem(`${kept.length} events are in the file, ${promised.length} were promised`);
    if (isWhole && kept.length !== this.shown.length)
      problem(`${this.shown.length} events were shown, ${kept.length} are kept`);
    if (isWhole !== (result.lost === undefined)) problem(`The caller is told: ${result.lost}`);
    const expected = isWhole || mode !== "required" ? "completed" : "failed";
    if (result.status !== expected) problem(`The run is ${result.status}: ${result.error?.message}`);
    if (expected === "failed" && result.error?.type !== "store") problem(`The fault is ${result.error?.type}`);
    for (const each of checkHistory(kept, { isUnfinished: !isWhole })) problem(each);
    if (mode !== "required") for (const each of checkHistory(this.shown, { resultUsage: result.usage })) problem(each);
  }
}

function nameOf({ seq, type, runId }: StoredEvent): unknown[] {
  return [seq, type, runId];
}
