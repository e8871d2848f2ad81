/** Damage that can happen to the bytes of a stream on their way. */

import type { Random } from "../../src/core/clock.ts";
import { between, chance, pick } from "../../src/testing/world.ts";

export type Damage = {
  body: Uint8Array;
  /** True when the stream only ends too early. */
  isOnlyCut: boolean;
};

/** A third of the streams are only cut; the others suffer one to three harms of any kind. */
export function damage(body: Uint8Array, random: Random): Damage {
  if (chance(random, 1 / 3)) return { body: cut(body, random), isOnlyCut: true };
  let harmed = body;
  for (let harm = between(random, 1, 3); harm > 0; harm--) harmed = pick(random, HARMS)(harmed, random);
  return { body: harmed, isOnlyCut: false };
}

export const LINE_ENDINGS = ["\n", "\r\n", "\r"] as const;

/**
 * The same stream with other line endings. The parser behind every provider package waits after a lone `\r` for the `\n`
 * that may follow, so such a stream needs something after its last line; no provider is known to send one.
 */
export function withLineEnding(body: Uint8Array, ending: (typeof LINE_ENDINGS)[number]): Uint8Array {
  const text = Buffer.from(body).toString("utf8").replaceAll("\n", ending);
  return new Uint8Array(Buffer.from(ending === "\r" ? `${text}: end\r` : text));
}

type Harm = (body: Uint8Array, random: Random) => Uint8Array;

function cut(body: Uint8Array, random: Random): Uint8Array {
  return body.subarray(0, between(random, 0, body.length - 1));
}

function deleteBytes(body: Uint8Array, random: Random): Uint8Array {
  const start = between(random, 0, body.length);
  return joined(body.subarray(0, start), body.subarray(start + between(random, 1, 200)));
}

function duplicateBytes(body: Uint8Array, random: Random): Uint8Array {
  const start = between(random, 0, body.length);
  const end = start + between(random, 1, 200);
  return joined(body.subarray(0, end), body.subarray(start));
}

function flipBytes(body: Uint8Array, random: Random): Uint8Array {
  const flipped = body.slice();
  for (let flips = between(random, 1, 4); flips > 0 && flipped.length > 0; flips--) {
    flipped[between(random, 0, flipped.length - 1)] = between(random, 0, 255);
  }
  return flipped;
}

function swapLines(body: Uint8Array, random: Random): Uint8Array {
  return withLines(body, (lines) => {
    const [one, other] = [between(random, 0, lines.length - 1), between(random, 0, lines.length - 1)];
    [lines[one], lines[other]] = [lines[other] ?? "", lines[one] ?? ""];
  });
}

function deleteLines(body: Uint8Array, random: Random): Uint8Array {
  return withLines(body, (lines) => void lines.splice(between(random, 0, lines.length), between(random, 1, 9)));
}

function duplicateLines(body: Uint8Array, random: Random): Uint8Array {
  return withLines(body, (lines) => {
    const start = between(random, 0, lines.length);
    lines.splice(start, 0, ...lines.slice(start, start + between(random, 1, 9)));
  });
}

const GARBAGE = [
  "data: {",
  "data: [DONE]",
  "data:",
  "event: nonsense",
  ": hush",
  "garbage",
  "",
  "data: null",
  "data: []",
] as const;

function addGarbage(body: Uint8Array, random: Random): Uint8Array {
  return withLines(body, (lines) => void lines.splice(between(random, 0, lines.length), 0, pick(random, GARBAGE), ""));
}

const HARMS: readonly [Harm, ...Harm[]] = [
  cut,
  deleteBytes,
  duplicateBytes,
  flipBytes,
  swapLines,
  deleteLines,
  duplicateLines,
  addGarbage,
];

/** Latin-1 keeps every byte as it is. */
function withLines(body: Uint8Array, change: (lines: string[]) => void): Uint8Array {
  const lines = Buffer.from(body).toString("latin1").split("\n");
  change(lines);
  return new Uint8Array(Buffer.from(lines.join("\n"), "latin1"));
}

function joined(before: Uint8Array, after: Uint8Array): Uint8Array {
  return new Uint8Array(Buffer.concat([before, after]));
}
