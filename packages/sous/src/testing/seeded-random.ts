/** Randomness that a seed reproduces, and the few ways tests draw from it. */

import type { Random } from "../core/clock.ts";

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
