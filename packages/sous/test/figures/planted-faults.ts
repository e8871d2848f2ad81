/**
 * Faults planted in the sources that the figures with real processes must notice. Each needs a bundle and dozens of
 * processes; faults that are found within one process are in the tests beside this file.
 */

import type { openPrograms } from "../../src/app/process/programs.ts";
import { importWithout, type Mutation } from "../support/mutation.ts";
import { runKills } from "./r2-kills.ts";
import { type OrphanOptions, runOrphanKills, STUBBORN_STRANGER } from "./r3-orphans.ts";
import { type ProcessRaceFigures, runProcessRaces } from "./r4-processes.ts";
import { runCancels } from "./r8-cancels.ts";
import { runFullDisk } from "./r17-full-disk.ts";
import { runLostStores } from "./r17-lost.ts";

export type PlantedFault = {
  readonly figure: "R2" | "R3" | "R4" | "R8" | "R17";
  readonly what: string;
  /** Measures the figure with the fault in it. */
  find(): Promise<Finding>;
};

/** Whether the figure noticed the fault, and everything it said. */
export type Finding = { readonly isFound: boolean; readonly seen: readonly string[] };

export const PLANTED_FAULTS: readonly PlantedFault[] = [
  killed("an unsafe call that begins before it is kept that it should", /ran before it was kept that it should/, {
    guard: "store-before-call",
  }),
  killed(
    "a call that is made again though its result is kept",
    /ran again, and its result was kept|ends no open call/,
    { guard: "ended-call" },
  ),
  killed("a model that is asked again what it has answered", /asks again what \d+ has answered/, {
    guard: "earlier-child",
    replace: "const earlier = undefined as any;",
  }),
  killed("events that are shown before they are kept", /were shown and are not kept/, {
    guard: "store-before-show",
    replace:
      "else { for (const event of batch.shown) this.#bus.publish(event); setTimeout(() => this.#write(batch, 0), 2); }",
  }),
  orphaned("a guard that does nothing", { guard: "sweep-when-alone", replace: "exit 0" }),
  orphaned("a program that is asked to end and never made to", { guard: "kill-after-grace" }),
  orphaned(
    "a guard that leaves the groups alone that programs have made",
    { guard: "kill-whole-groups" },
    { endings: ["KILL"], shapes: [STUBBORN_STRANGER] },
  ),
  raced("a shared budget that takes its steps without a transaction", ["overspent", "leaked", "hung", "faults"], {
    guard: "budget-in-a-transaction",
    replace: "transaction: (work) => work(),",
  }),
  raced("a shared budget whose rows have no limits", ["overspent"], {
    guard: "row-within-limit",
    replace: "return true;",
  }),
  raced("a shared budget that refuses instead of waiting", ["wrongRefusals"], {
    guard: "wait-for-other-processes",
    replace: "return super.isQuiet;",
  }),
  {
    figure: "R8",
    what: "programs that are only asked to end",
    async find() {
      const mutant = await importWithout<{ openPrograms: typeof openPrograms }>(
        import.meta.resolve("../../src/app/process/programs.ts"),
        { guard: "kill-after-grace" },
      );
      const { broken } = await runCancels({ seed: 1, trials: 11, lanes: 11, openPrograms: mutant.openPrograms });
      return { isFound: broken.length > 0, seen: broken.map(({ problem }) => problem) };
    },
  },
  {
    figure: "R17",
    what: "a database that is judged by its file alone, whatever lies beside it",
    async find() {
      const { broken } = await runFullDisk({ step: 6, isMutant: true });
      return finding(/is damaged/, broken);
    },
  },
  {
    figure: "R17",
    what: "a run of which only its store is told that it was lost",
    async find() {
      const mutation = { guard: "mark-a-lost-run", replace: "return false;" };
      const { broken } = await runLostStores({ seed: 1, trials: 1, mutation });
      return finding(/Paid twice/, broken);
    },
  },
];

/** R2. A death must come at the right moment, and on a busy machine it does less often: what one round misses, another finds. */
function killed(what: string, problem: RegExp, mutation: Mutation): PlantedFault {
  return {
    figure: "R2",
    what,
    async find() {
      const seen: string[] = [];
      for (let seed = 7; seed < 12 && !seen.some((found) => problem.test(found)); seed++) {
        const { broken } = await runKills({ seed, kills: 60, mutation });
        seen.push(...broken.flatMap(({ problems }) => problems));
      }
      return { isFound: seen.some((found) => problem.test(found)), seen };
    },
  };
}

function orphaned(what: string, mutation: Mutation, options?: Partial<OrphanOptions>): PlantedFault {
  return {
    figure: "R3",
    what,
    async find() {
      const { orphans } = await runOrphanKills({ seed: 2, kills: 4, lanes: 4, ...options, mutation });
      return { isFound: orphans.length > 0, seen: orphans.flatMap(({ left }) => left) };
    },
  };
}

type RaceFault = keyof Pick<ProcessRaceFigures, "overspent" | "leaked" | "wrongRefusals" | "hung" | "faults">;

/** R4. Real processes meet by chance, and on a busy machine less often: a fault that one round misses shows in another. */
function raced(what: string, notices: readonly RaceFault[], mutation: Mutation): PlantedFault {
  // Whoever hangs is what some faults are known by, and must not end the search for others on a slow machine.
  const patienceMs = notices.includes("hung") ? 1_000 : 30_000;
  const options = { races: 5, processes: 3, kills: 0, only: "calls", patienceMs, mutation } as const;
  return {
    figure: "R4",
    what,
    async find() {
      const seen: string[] = [];
      for (let seed = 4; seed < 16; seed++) {
        const figures = await runProcessRaces({ ...options, seed });
        seen.push(JSON.stringify(figures));
        if (notices.some((kind) => [figures[kind]].flat().some((found) => found !== 0))) return { isFound: true, seen };
      }
      return { isFound: false, seen };
    },
  };
}

function finding(problem: RegExp, broken: readonly { readonly problems: readonly string[] }[]): Finding {
  const seen = broken.flatMap(({ problems }) => problems);
  return { isFound: seen.some((found) => problem.test(found)), seen };
}
