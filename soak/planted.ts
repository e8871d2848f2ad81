/** The figures with faults planted in the sources: a fault that is not noticed is a figure that is missed. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { PLANTED_FAULTS } from "../packages/sous/test/figures/planted-faults.ts";
import type { Figure } from "./main.ts";

const root = resolve(import.meta.dirname, "..");
const FIGURES = "packages/sous/test/figures";

const withProcesses: readonly Figure[] = [...Map.groupBy(PLANTED_FAULTS, ({ figure }) => figure)].map(
  ([figure, faults]) => ({
    name: `${figure} ${faults.length} planted faults are noticed`,
    async measure() {
      const missed: { what: string; seen: readonly string[] }[] = [];
      for (const { what, find } of faults) {
        const { isFound, seen } = await find();
        if (!isFound) missed.push({ what, seen });
      }
      return { figure: { noticed: faults.length - missed.length, missed }, isReached: missed.length === 0 };
    },
  }),
);

/** `r9-rights.test.ts` belongs to R9, `speed/planted.test.ts` to speed. */
const inOneProcess: readonly Figure[] = globSync("**/*.test.ts", { cwd: join(root, FIGURES) })
  .sort()
  .map((file) => ({
    name: `${/^[a-z]\d+(?=-)/.exec(file)?.[0].toUpperCase() ?? dirname(file)} the tests of ${file} pass`,
    async measure() {
      const runner = [join(root, "scripts/test.ts"), `${FIGURES}/${file}`];
      const [code] = await once(spawn(process.execPath, runner, { cwd: root, stdio: "inherit" }), "exit");
      return { figure: { exitCode: code }, isReached: code === 0 };
    },
  }));

export const PLANTED: readonly Figure[] = [...withProcesses, ...inOneProcess];
