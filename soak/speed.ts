/** The speed of sous on AI SDK models, against a table. Only on a machine at rest. */

import { measureCpuRatios } from "../packages/sous/test/figures/speed/cpu-ratios.ts";
import { CPU_RATIOS } from "../packages/sous/test/support/speed-table.ts";
import type { Figure } from "./main.ts";

export const SPEED: Figure = {
  name: "speed CPU time of a turn, a piece of text, a delegation and a root, at most 15 % above the table",
  async measure() {
    const figure = await measureCpuRatios();
    const names = Object.keys(CPU_RATIOS) as (keyof typeof CPU_RATIOS)[];
    return { figure, isReached: names.every((name) => figure[name] <= CPU_RATIOS[name] * 1.15) };
  },
};
