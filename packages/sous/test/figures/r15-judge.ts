/** Watches one tree of R15 from outside: who asks, who is served or refused, and whether that was right. */

import { type Amount, amountAt, beyond, plus, toNanoUsd, toNeed } from "../../src/core/amount.ts";
import type { Account, Budget, CallAsk, LimitState } from "../../src/core/limits.ts";
import type { Run } from "./r15-run.ts";
import type { Tree } from "./r15-tree.ts";

/** One who asks. */
type Asking = {
  readonly path: string;
  readonly account: Account;
  readonly ask: Pick<CallAsk, "need" | "lastWords" | "closing">;
  /** Its place among live runs, or among those who wait to start. */
  readonly order: number;
  readonly isStart: boolean;
  readonly above: Run | undefined;
  /** The event at which it asked. */
  readonly since: number;
};

/** A limit in whole units. */
type Limit = {
  readonly key: string;
  readonly unit: keyof Amount;
  readonly limit: number;
  readonly free: number;
  readonly spent: number;
};

export class Judge {
  readonly broken: string[] = [];
  /** Ordinary calls that got less than their full cap. */
  lowered = 0;
  waited = 0;
  readonly #tree: Tree;
  readonly #waiting = new Set<Asking>();
  /** Granted since the last event. */
  #granted: (Asking & { readonly amount: Amount; readonly isLowered: boolean })[] = [];
  /** Refused since the last event, for no other reason than that nothing moved. */
  #refused: Asking[] = [];
  /** Calls in flight. */
  readonly #open = new Map<string, { readonly account: Account; readonly since: number }>();
  #starts = 0;

  constructor(tree: Tree) {
    this.#tree = tree;
  }

  asks(run: Run, ask: CallAsk) {
    return this.#join({
      path: run.path,
      account: run.account,
      ask,
      order: orderOf(run),
      isStart: false,
      above: run.above,
    });
  }

  starts(parts: Pick<Asking, "path" | "account" | "ask" | "above">) {
    this.#starts += 1;
    return this.#join({ ...parts, order: this.#starts, isStart: true });
  }

  /** A child was refused because of its own share. */
  isShareRefused(
    path: string,
    { account, above, share }: { account: Account; above: Run | undefined; share: Budget },
  ): void {
    const asked = { tokens: share.tokens ?? 0, nanoUsd: toNanoUsd(share.costUsd ?? 0) };
    const isTooLarge = ({ key, unit, limit, spent }: Limit) =>
      asked[unit] > limit - spent - keptAbove(above, key, unit);
    if (!limitsOf(account).some(isTooLarge))
      this.broken.push(`${path}: its share was refused although it could be had`);
  }

  /** A call has ended. */
  settled({ path, account }: Pick<Run, "path" | "account">): void {
    this.#open.delete(path);
    for (const { key, limit, spent, free } of limitsOf(account)) {
      if (spent > limit || free < 0) this.broken.push(`${path}: ${key} overspent, ${spent} of ${limit}, ${free} free`);
    }
  }

  afterEvent(): void {
    for (const late of this.#waiting) if (this.#granted.length > 0) this.#checkOrder(late);
    for (const early of this.#refused) this.#checkLast(early);
    this.#granted = [];
    this.#refused = [];
  }

  atEnd(started: number): void {
    for (const { unit, spent } of this.#tree.account.limits()) {
      if (unit === "executions" && spent !== started)
        this.broken.push(`${spent} executions are counted for ${started} children`);
    }
    for (const { key, limit, spent, free } of limitsOf(this.#tree.account)) {
      if (free !== limit - spent) this.broken.push(`${key}: ${limit - spent - free} are still reserved at the end`);
    }
  }

  #join(parts: Omit<Asking, "since">) {
    const asking: Asking = { ...parts, since: this.#tree.time.events };
    this.#waiting.add(asking);
    return {
      isGranted: (output: number) => this.#isGranted(asking, output),
      isRefused: (error: unknown) => this.#isRefused(asking, error),
    };
  }

  #isGranted(asking: Asking, output: number): void {
    const { path, account, ask } = asking;
    const now = this.#tree.time.events;
    this.#waiting.delete(asking);
    if (asking.since < now) this.waited += 1;
    const cap = Math.min(output, ask.need.outputCap);
    const isLowered = cap < ask.need.outputCap && ask.closing === undefined;
    this.#granted.push({ ...asking, isLowered, amount: plus(amountAt(toNeed(ask.need), cap), ask.lastWords) });
    if (isLowered) {
      this.lowered += 1;
      const others = [...this.#open.values()].filter(({ since }) => since < now);
      const isQuietSomewhere = limitsOf(account).some(
        ({ key }) => !others.some((other) => drawsOn(other.account, key)),
      );
      if (!isQuietSomewhere) this.broken.push(`${path}: its cap was lowered while calls were in flight`);
    }
    this.#open.set(path, { account, since: now });
  }

  #isRefused(asking: Asking, error: unknown): void {
    this.#waiting.delete(asking);
    if (!(error instanceof Error) || error.name !== "BudgetExceeded") return;
    const { path, account, ask, above } = asking;
    const now = this.#tree.time.events;
    const least = amountAt(toNeed(ask.need), ask.need.minOutput);
    const limits = limitsOf(account);
    const isHopeless = limits.some(({ key, unit, limit, spent }) => {
      return least[unit] > limit - spent - keptAbove(above, key, unit);
    });
    if (isHopeless) return;
    this.#refused.push(asking);
    const wanted = plus(least, ask.lastWords);
    // One that waits to start may have been refused for the sake of a live run that was refused next.
    const isAlone = !asking.isStart && this.#waiting.size === 0 && this.#open.size === 0;
    if (isAlone && ask.closing === undefined && limits.every(({ unit, free }) => wanted[unit] <= free))
      this.broken.push(`${path}: refused although it could have had less: ${error.message}`);
    const moving = [...this.#tree.live].filter(({ busy }) => [...busy].some(({ since }) => since < now));
    const isStuckSomewhere = limits.some(({ key }) => !moving.some((run) => drawsOn(run.account, key)));
    if (!isStuckSomewhere) this.broken.push(`${path}: refused while others move: ${error.message}`);
  }

  /** The last in order is refused first. */
  #checkLast(refused: Asking): void {
    for (const waiting of this.#waiting) {
      if (waiting.since === this.#tree.time.events || !isBefore(refused, waiting)) continue;
      if (!limitsOf(refused.account).every(({ key }) => drawsOn(waiting.account, key))) continue;
      this.broken.push(`${refused.path}: refused before ${waiting.path}, which comes later`);
      return;
    }
  }

  /** No run that comes later is served on a limit where this one is short. */
  #checkOrder(waiting: Asking): void {
    if (waiting.since === this.#tree.time.events) return;
    const { need, closing } = waiting.ask;
    const full = amountAt(toNeed(need), closing?.enoughOutput ?? need.outputCap);
    const least = amountAt(toNeed(need), need.minOutput);
    for (const { key, unit, free } of limitsOf(waiting.account)) {
      const here = this.#granted.filter(({ account }) => drawsOn(account, key));
      if (here.some((granted) => isBefore(granted, waiting))) continue;
      const younger = here.filter(({ ask }) => ask.closing === undefined);
      const taken = here.reduce((sum, { amount }) => sum + amount[unit], 0);
      // Where nothing is in flight, one who is short elsewhere is held up here only by its least.
      const needed = younger.some(({ isLowered }) => isLowered) ? least[unit] : full[unit];
      if (younger[0] === undefined || needed <= free + taken) continue;
      if (closing !== undefined && beyond(full, this.#tree.keptBy(waiting.path))[unit] === 0) continue;
      this.broken.push(`${younger[0].path}: overtook ${waiting.path}, which is short of ${key}`);
      return;
    }
  }
}

function isBefore(one: Asking, other: Asking): boolean {
  return one.isStart === other.isStart ? one.order < other.order : other.isStart;
}

function orderOf({ holding }: Run): number {
  return (holding as unknown as { order: number }).order;
}

function drawsOn(account: Account, key: string): boolean {
  return limitsOf(account).some((limit) => limit.key === key);
}

function keptAbove(above: Run | undefined, key: string, unit: keyof Amount): number {
  let kept = 0;
  for (let run = above; run !== undefined; run = run.above) {
    if (drawsOn(run.account, key)) kept += run.tree.keptBy(run.path)[unit];
  }
  return kept;
}

function limitsOf(account: Account): Limit[] {
  return account.limits().flatMap(({ of, unit, ...state }: LimitState) => {
    if (unit !== "tokens" && unit !== "costUsd") return [];
    const whole = unit === "tokens" ? (amount: number) => amount : toNanoUsd;
    const [limit, spent, reserved] = [whole(state.limit), whole(state.spent), whole(state.reserved)];
    const name = unit === "tokens" ? ("tokens" as const) : ("nanoUsd" as const);
    return [{ key: `${of} ${unit}`, unit: name, limit, spent, free: limit - spent - reserved }];
  });
}
