/** Faults by injection: stores, tools and answers that go wrong now and then, drawn from the seed of a world. */

import { forever } from "../../../src/core/clock.ts";
import { StoreError } from "../../../src/core/errors.ts";
import type { StoredEvent } from "../../../src/core/event.ts";
import type { Store } from "../../../src/core/store.ts";
import type { Tool, ToolContext } from "../../../src/core/tool.ts";
import {
  type Answer,
  after,
  beginsCall,
  calls,
  cuts,
  fails,
  hangs,
  refuses,
  reportsNoUsage,
  type Step,
  says,
  stopsAtLength,
  thinksUnseen,
} from "../../../src/testing/steps.ts";
import { between, chance, pick, type World } from "../../../src/testing/world.ts";

/** The share of operations of each kind that go wrong; 0 when unset. */
export type FaultRates = { store?: number; tool?: number; model?: number };

const STORE_FAULTS = ["error", "short write", "busy", "disk full"] as const;
const TOOL_FAULTS = ["throw", "hang", "ignore the signal", "huge output", "binary output"] as const;
const MODEL_FAULTS = [
  "rate limit",
  "overloaded",
  "network",
  "cut",
  "cut in a call",
  "cut in arguments",
  "cut in hidden thinking",
  "hang",
  "refusal",
  "length",
  "no usage",
  "empty",
  "crash",
  "slow",
] as const;

/** Random faults at given rates. */
export type Faults = {
  /** The faults that have happened, in their order. */
  readonly happened: readonly string[];
  /** A store whose commits take turns and sometimes fail; what fails is not kept. */
  store(inner: Store): Store;
  /** A tool whose end takes turns and that sometimes misbehaves. */
  tool<Input>(inner: Tool<Input>): Tool<Input>;
  /** The answer, or one that goes wrong. */
  answer(steps: Answer): readonly Step[];
};

/** Makes random faults for stores and models from a seed. */
export function createFaults(world: World, rates: FaultRates): Faults {
  const happened: string[] = [];
  const random = { store: world.random("store"), tool: world.random("tool"), model: world.random("model") };

  function draw<Fault extends string>(kind: keyof FaultRates, faults: readonly [Fault, ...Fault[]]): Fault | undefined {
    if (!chance(random[kind], rates[kind] ?? 0)) return undefined;
    const fault = pick(random[kind], faults);
    happened.push(`${kind}: ${fault}`);
    return fault;
  }

  function store(inner: Store): Store {
    // A full disk stays full for a while: the next commits fail too.
    let fullFor = 0;
    return wrapStore(inner, {
      isImmediate: false,
      async append(rootId: string, events: readonly StoredEvent[], fence?: number) {
        await world.turn(`commit of ${events.length} events`);
        const fault = fullFor > 0 ? "disk full" : draw("store", STORE_FAULTS);
        if (fault === undefined) return inner.append(rootId, events, fence);
        if (fault === "disk full") fullFor = fullFor > 0 ? fullFor - 1 : between(random.store, 0, 12);
        throw new StoreError(STORE_MESSAGES[fault]);
      },
    });
  }

  function tool<Input>(inner: Tool<Input>): Tool<Input> {
    return {
      ...inner,
      async execute(input: Input, context: ToolContext) {
        await world.turn(`${inner.name} of ${context.path}`);
        const fault = draw("tool", TOOL_FAULTS);
        switch (fault) {
          case undefined:
            return inner.execute(input, context);
          case "throw":
            throw new Error(`${inner.name} broke`);
          case "hang":
            return forever(context.signal);
          case "ignore the signal":
            return chance(random.tool, 0.5) ? new Promise<never>(() => {}) : world.turn(`deaf ${inner.name}`);
          case "huge output":
            return "0123456789abcdef".repeat(between(random.tool, 1, 20_000));
          case "binary output":
            return "\u0000\ud800 \u001b]52;c;\udc00\ufffe\u202e end";
          default:
            return fault satisfies never;
        }
      },
    };
  }

  function answer(given: Answer): readonly Step[] {
    const steps = "step" in given ? [given] : given;
    const fault = draw("model", MODEL_FAULTS);
    switch (fault) {
      case undefined:
        return steps;
      case "rate limit":
        return [fails("rate_limit", chance(random.model, 0.5) ? { retryAfterMs: between(random.model, 1, 5000) } : {})];
      case "overloaded":
        return [fails("overloaded")];
      case "network":
        return [fails("network")];
      case "cut":
        return [...textOnly(steps), cuts()];
      case "cut in a call":
        return [...textOnly(steps), calls("never_run", { half: true }), cuts()];
      case "cut in arguments":
        return [...textOnly(steps), beginsCall("never_run", '{"half":'), cuts()];
      case "cut in hidden thinking":
        return [thinksUnseen(), ...textOnly(steps), cuts()];
      case "hang":
        return [...textOnly(steps), hangs()];
      case "refusal":
        return [...textOnly(steps), refuses()];
      case "length":
        return [...steps, stopsAtLength()];
      case "no usage":
        return [...steps, reportsNoUsage()];
      case "empty":
        return [says("")];
      case "crash":
        return [fails(new Error("The provider's code broke"))];
      case "slow":
        return [after(between(random.model, 1, 60_000)), ...steps];
      default:
        return fault satisfies never;
    }
  }

  return { happened, store, tool, answer };
}

const STORE_MESSAGES: Readonly<Record<(typeof STORE_FAULTS)[number], string>> = {
  error: "The disk reports an error",
  "short write": "Only a part was written; it was taken back",
  busy: "The database is busy",
  "disk full": "No space is left",
};

function textOnly(steps: readonly Step[]): Step[] {
  return steps.filter(({ step }) => step === "text");
}

/** A store around another one: what is not changed is passed on. */
export function wrapStore(inner: Store, changes: Partial<Store>): Store {
  return {
    isImmediate: inner.isImmediate,
    append: (...given) => inner.append(...given),
    claim: (...given) => inner.claim(...given),
    release: (...given) => inner.release(...given),
    markLost: (...given) => inner.markLost(...given),
    read: (...given) => inner.read(...given),
    run: (...given) => inner.run(...given),
    list: (...given) => inner.list(...given),
    children: (...given) => inner.children(...given),
    tree: (...given) => inner.tree(...given),
    totals: (...given) => inner.totals(...given),
    delete: (...given) => inner.delete(...given),
    prune: (...given) => inner.prune(...given),
    [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose](),
    ...changes,
  };
}
