/** The work of the runs of R15, drawn from a seed before any of them starts: the same at any concurrency and with any limit. */

import type { Random } from "../../src/core/clock.ts";
import type { Price } from "../../src/core/usage.ts";
import { between, chance } from "../../src/testing/world.ts";

/** One model call and the tool calls that follow from it. */
export type TurnSpec = {
  /** What the conversation has grown by since the last answer. */
  readonly added: number;
  /** How much the prompt is overestimated, as a part of it. */
  readonly slack: number;
  readonly output: number;
  readonly milliseconds: number;
  /** Attempts that fail first; each is followed by a pause. */
  readonly failures: readonly { readonly isBilled: boolean; readonly milliseconds: number }[];
  readonly calls: readonly CallSpec[];
};

export type CallSpec =
  | { readonly kind: "tool" | "question"; readonly milliseconds: number }
  /** Children, at most `lanes` at once. */
  | { readonly kind: "children"; readonly children: readonly RunSpec[]; readonly lanes: number }
  | { readonly kind: "background"; readonly child: RunSpec }
  /** `subagent_wait`: for all children in the background. */
  | { readonly kind: "wait" };

export type RunSpec = {
  readonly turns: readonly TurnSpec[];
  readonly price: Price | undefined;
  /** Its own share, as a part of what is enough for it and all its children. */
  readonly share: number | undefined;
};

/** How large and how long. */
export type Shape = {
  readonly turns: readonly [least: number, most: number];
  readonly prompt: readonly [least: number, most: number];
  readonly output: readonly [least: number, most: number];
  readonly added: readonly [least: number, most: number];
  readonly price: Price | undefined;
  /** How many turns have attempts that fail. */
  readonly failures: number;
};

export const PLAIN: Shape = {
  turns: [4, 4],
  prompt: [600, 1_200],
  output: [50, 800],
  added: [50, 350],
  price: undefined,
  failures: 0,
};

/** The output of an ordinary call: 4,096 tokens at most, and with less than 512 it is not made. */
export const OUTPUT_CAP = 4_096;

/** A run without children: every turn but the last calls one tool. */
export function flatRun(random: Random, shape: Shape): RunSpec {
  const count = between(random, ...shape.turns);
  const turns = Array.from({ length: count }, (_, index) => {
    const calls = index === count - 1 ? [] : [toolCall(random)];
    return turn(random, shape, index === 0, calls);
  });
  return { turns, price: shape.price, share: undefined };
}

export function toolCall(random: Random): CallSpec {
  return { kind: chance(random, 0.05) ? "question" : "tool", milliseconds: between(random, 1, 3_000) };
}

export function turn(random: Random, shape: Shape, isFirst: boolean, calls: readonly CallSpec[]): TurnSpec {
  const failures = chance(random, shape.failures) ? between(random, 1, 2) : 0;
  return {
    added: between(random, ...(isFirst ? shape.prompt : shape.added)),
    slack: random() * 0.2,
    output: between(random, ...shape.output),
    milliseconds: between(random, 200, 5_000),
    failures: Array.from({ length: failures }, () => ({
      isBilled: chance(random, 0.3),
      milliseconds: between(random, 100, 4_000),
    })),
    calls,
  };
}

/** The prompt that a run sends in each of its turns, if no answer is cut. */
export function promptsOf({ turns }: RunSpec): number[] {
  let prompt = 0;
  return turns.map(({ added, output }) => {
    const sent = prompt + added;
    prompt = sent + output;
    return sent;
  });
}

export function childrenOf({ turns }: RunSpec): RunSpec[] {
  return turns.flatMap(({ calls }) =>
    calls.flatMap((call) => {
      if (call.kind === "children") return call.children;
      return call.kind === "background" ? [call.child] : [];
    }),
  );
}
