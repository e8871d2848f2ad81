/**
 * The costs of a turn, a piece of text, a delegation, a child and a root on an AI SDK model, by `bench/lib/exact.mjs`: the same
 * on every machine and under any load. Whoever raises a number says in the commit why it is worth it; whoever lowers one writes
 * it here.
 */

type Counts = { readonly promises: number; readonly jobs: number; readonly signals: number };

/** Promises that are made, jobs that are run for them, and abort signals. The stream of the model takes 22 and 11 of a turn. */
export const COUNTS: Readonly<Record<"turn" | "delta" | "delegation" | "child" | "root", Counts>> = {
  turn: { promises: 46, jobs: 23, signals: 1 },
  delta: { promises: 2, jobs: 1, signals: 0 },
  delegation: { promises: 331, jobs: 169, signals: 5 },
  child: { promises: 431, jobs: 219, signals: 6 },
  root: { promises: 77, jobs: 44, signals: 1 },
};

/** Functions that a child holds while it waits in its last call. */
export const CHILD_FUNCTIONS = 35;

/** Kilobytes of heap of such a child; 3 % more fail. */
export const CHILD_KILOBYTES = 19;

/** The part of what is allocated that may survive a young collection. It is 0.027, and was 0.065 while V8 kept trees that had ended. */
export const MAX_SURVIVORS = 0.05;

/** CPU time as multiples of the bare loop, by `npm run soak -- speed`; 15 % more fail. On a machine at rest. */
export const CPU_RATIOS: Readonly<Record<"turn" | "delta" | "delegation" | "root", number>> = {
  turn: 6.6,
  delta: 1.5,
  delegation: 5,
  root: 14.5,
};
