/** The guard of speed finds what made sous slow before: planted in a copy of the built package, one at a time. */

import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test } from "node:test";
import { changedText } from "../../support/changed-sources.ts";
import { builtPackage, countSpeed, type SpeedCounts } from "../../support/speed-counts.ts";
import { CHILD_FUNCTIONS, COUNTS, MAX_SURVIVORS } from "../../support/speed-table.ts";

type Fault = {
  readonly what: string;
  readonly place: string;
  readonly planted: string;
  readonly isFound: (counts: SpeedCounts) => boolean;
};

const FAULTS: readonly Fault[] = [
  {
    what: "a combined signal for each call",
    place: "return this.call.signal;",
    planted: "return AbortSignal.any([this.call.signal]);",
    isFound: ({ counts }) => counts.turn.signals > COUNTS.turn.signals,
  },
  {
    what: "a wait for each piece of text",
    place: "else gathered.take(next.value);",
    planted: "else { await undefined; gathered.take(next.value); }",
    isFound: ({ counts }) => counts.delta.promises > COUNTS.delta.promises,
  },
  {
    what: "a function that is kept for each child",
    place: "async function runAgent(run, work = untilEnding) {",
    planted: "async function runAgent(run, work = untilEnding) { run.planted = () => run;",
    isFound: ({ functions }) => functions > CHILD_FUNCTIONS,
  },
  {
    what: "a getter in a literal of each tree, for which V8 keeps the tree",
    place: "this.#state = newState(parts);",
    planted: "this.#state = newState(parts); this.planted = { get state() { return parts; } };",
    isFound: ({ survivors }) => survivors > MAX_SURVIVORS,
  },
];

suite("speed: the guard finds", () => {
  for (const { what, place, planted, isFound } of FAULTS) {
    test(`speed: the guard finds ${what}`, async () => {
      using built = await builtPackage();
      const folder = mkdtempSync(join(tmpdir(), "sous-slow-"));
      try {
        const dist = join(folder, "dist");
        cpSync(built.dist, dist, { recursive: true });
        const [file = ""] = readdirSync(join(dist, "chunks"))
          .map((name) => join(dist, "chunks", name))
          .filter((path) => readFileSync(path, "utf8").includes(place));
        writeFileSync(file, changedText(file, readFileSync(file, "utf8"), [[place, planted]]));
        assert.ok(isFound(await countSpeed(dist)));
      } finally {
        rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
      }
    });
  }
});
