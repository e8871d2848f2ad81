/** One run of R15: it asks, answers, calls tools and children as the engine will, on the real ledger and in virtual time. */

import { NO_AMOUNT } from "../../src/core/amount.ts";
import { BudgetExceeded } from "../../src/core/errors.ts";
import type { Account, CallAsk, Holding, Lease, RunSlot } from "../../src/core/limits.ts";
import { Scope } from "../../src/core/scope.ts";
import { bill, billBroken, CLOSING_OUTPUT, callNeed, closingNeed, estimate, lastWordsAt } from "./r15-needs.ts";
import type { CallSpec, RunSpec, TurnSpec } from "./r15-specs.ts";
import type { Tree } from "./r15-tree.ts";

/**
 * `wrapped-up`: refused, with last words. `exhausted`: refused without. `cut`: an answer was longer than its cap. `refused`:
 * never started.
 */
export type Ending = "completed" | "wrapped-up" | "exhausted" | "cut" | "refused" | "cancelled";

export class Run {
  readonly tree: Tree;
  readonly path: string;
  readonly spec: RunSpec;
  readonly account: Account;
  readonly holding: Holding;
  readonly slot: RunSlot | undefined;
  readonly above: Run | undefined;
  readonly scope: Scope;
  /** The calls, tools and pauses that it is in, each with the event at which that began. */
  readonly busy = new Set<{ readonly since: number }>();
  answers = 0;
  readonly #background = new Set<Promise<unknown>>();
  #inBackground = 0;
  #onBackgroundEnd: (() => void)[] = [];
  /** What the provider counted last, and its answer. */
  #known = 0;
  #calls = 0;

  constructor(tree: Tree, parts: Pick<Run, "path" | "spec" | "account" | "holding" | "slot" | "above">) {
    this.tree = tree;
    this.path = parts.path;
    this.spec = parts.spec;
    this.account = parts.account;
    this.holding = parts.holding;
    this.slot = parts.slot;
    this.above = parts.above;
    this.scope = new Scope(parts.above?.scope ?? tree.scope);
  }

  async untilEnding(first: Lease | undefined): Promise<Ending> {
    let lease = first;
    try {
      for (const turn of this.spec.turns) {
        lease ??= await this.#reserve(turn);
        const output = await this.#call(turn, lease);
        lease = undefined;
        this.answers += 1;
        if (output < turn.output) return "cut";
        await Promise.all(turn.calls.map((call) => this.#runCall(call)));
      }
      return "completed";
    } catch (error) {
      if (this.scope.aborted) return "cancelled";
      if (!(error instanceof BudgetExceeded)) throw error;
      const refused = this.spec.turns[this.answers];
      return refused === undefined ? "exhausted" : await this.#wrapUp(refused);
    }
  }

  /** Stops its children in the background and waits for them. */
  async end(): Promise<void> {
    this.scope.abort(new Error("its parent has ended"));
    await Promise.all(this.#background);
    this.scope[Symbol.dispose]();
  }

  async #reserve(turn: TurnSpec): Promise<Lease> {
    const need = callNeed(estimate(this.#known, turn), this.spec.price);
    const lastWords = this.#lastWords(need.promptTokens);
    return await this.#ask({ need, lastWords, closing: undefined, onWait: () => {} });
  }

  async #ask(ask: CallAsk): Promise<Lease> {
    const asking = this.tree.judge.asks(this, ask);
    try {
      const lease = await this.holding.reserve(ask, this.scope);
      asking.isGranted(lease.outputCap);
      return lease;
    } catch (error) {
      asking.isRefused(error);
      throw error;
    }
  }

  /** Gives the output that it got. */
  async #call(turn: TurnSpec, first: Lease): Promise<number> {
    const { price } = this.spec;
    let lease = first;
    for (const { isBilled, milliseconds } of turn.failures) {
      await this.#spend(milliseconds, lease);
      if (isBilled) lease.settle(billBroken(estimate(this.#known, turn), price));
      else lease[Symbol.dispose]();
      this.tree.judge.settled(this);
      this.holding.takeStep();
      await this.#spend(milliseconds);
      lease = await this.#reserve(turn);
    }
    await this.#spend(turn.milliseconds, lease);
    const output = Math.min(turn.output, lease.outputCap);
    const prompt = this.#known + turn.added;
    this.#known = prompt + output;
    lease.settle(bill(prompt, output, price), this.#lastWords(this.#known));
    this.tree.judge.settled(this);
    return output;
  }

  /** With the last results, or without them when what it has kept does not pay for those. */
  async #wrapUp(turn: TurnSpec): Promise<Ending> {
    if (this.tree.onExhausted === "stop" || this.answers === 0) return "exhausted";
    try {
      try {
        await this.#sayLast(estimate(this.#known, turn), this.#known + turn.added);
      } catch (error) {
        if (!(error instanceof BudgetExceeded) || this.scope.aborted) throw error;
        await this.#sayLast(this.#known, this.#known);
      }
      return "wrapped-up";
    } catch (error) {
      if (this.scope.aborted) return "cancelled";
      if (!(error instanceof BudgetExceeded)) throw error;
      return "exhausted";
    }
  }

  async #sayLast(estimated: number, prompt: number): Promise<void> {
    const need = closingNeed(estimated, this.spec.price);
    const closing = { enoughOutput: CLOSING_OUTPUT };
    const lease = await this.#ask({ need, lastWords: NO_AMOUNT, closing, onWait: () => {} });
    await this.#spend(1_000, lease);
    lease.settle(bill(prompt, Math.min(300, lease.outputCap), this.spec.price));
    this.tree.judge.settled(this);
  }

  #lastWords(prompt: number) {
    return this.tree.onExhausted === "stop" ? NO_AMOUNT : lastWordsAt(prompt, this.spec.price);
  }

  /** A lease that is given up when the run is stopped counts as spent nowhere: nothing had come yet. */
  async #spend(milliseconds: number, lease?: Lease): Promise<void> {
    const busy = { since: this.tree.time.events };
    this.busy.add(busy);
    try {
      await this.tree.time.sleep(milliseconds, this.scope);
    } catch (error) {
      lease?.[Symbol.dispose]();
      if (lease !== undefined) this.tree.judge.settled(this);
      throw error;
    } finally {
      this.busy.delete(busy);
    }
  }

  async #runCall(call: CallSpec): Promise<void> {
    this.#calls += 1;
    const id = `${this.#calls}`;
    using _ = this.holding.runCall();
    switch (call.kind) {
      case "tool":
        return await this.#spend(call.milliseconds);
      case "question":
        this.slot?.rest();
        await this.#spend(call.milliseconds);
        return await this.slot?.wake(this.scope, this.holding, id);
      case "children":
        return await this.#runChildren(call.children, call.lanes, id);
      case "background":
        return this.#runInBackground(call.child);
      case "wait":
        return await this.#waitForBackground(id);
      default:
        call satisfies never;
    }
  }

  async #runChildren(children: readonly RunSpec[], lanes: number, callId: string): Promise<void> {
    const left = [...children];
    const lane = async (): Promise<void> => {
      for (let spec = left.shift(); spec !== undefined; spec = left.shift()) {
        this.slot?.rest();
        await this.tree.startChild(spec, { above: this, callId });
        await this.slot?.wake(this.scope, this.holding, callId);
      }
    };
    await Promise.all(Array.from({ length: Math.min(lanes, left.length) }, lane));
  }

  #runInBackground(spec: RunSpec): void {
    this.#inBackground += 1;
    const onEnd = () => {
      this.#inBackground -= 1;
      if (this.#inBackground === 0) for (const tell of this.#onBackgroundEnd.splice(0)) tell();
    };
    const child = this.tree.startChild(spec, { above: this, onEnd });
    this.#background.add(child);
    void child.finally(() => this.#background.delete(child));
  }

  async #waitForBackground(callId: string): Promise<void> {
    if (this.#inBackground === 0) return;
    await new Promise<void>((resolve) => {
      let waiting: Disposable | undefined;
      let isOver = false;
      this.#onBackgroundEnd.push(() => {
        isOver = true;
        waiting?.[Symbol.dispose]();
        resolve();
      });
      this.slot?.rest();
      waiting = this.holding.wait(callId);
      // Giving the slot back and waiting may refuse the very child that is waited for.
      if (isOver) waiting[Symbol.dispose]();
    });
    await this.slot?.wake(this.scope, this.holding, callId);
  }
}
