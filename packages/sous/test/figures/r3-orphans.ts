/**
 * R3: processes with shells, grandchildren, programs in the background and in sessions of their own are ended by INT, TERM
 * and KILL, at random moments. Two seconds later nothing they have started is there.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Random } from "../../src/core/clock.ts";
import { between, chance, pick, seededRandom } from "../../src/testing/world.ts";
import { MAIN } from "../support/app/cli/sous-process.ts";
import type { Mutation } from "../support/mutation.ts";
import { bundleWorker } from "./kill-process.ts";
import { ProcessJudge } from "./process-judge.ts";
import type { OrphanOrder } from "./r3-worker.ts";

export type OrphanFigure = {
  seed: number;
  kills: Record<Ending, number>;
  /** Processes that were there when the signal came, all trials together. */
  processes: number;
  slowestMilliseconds: number;
  orphans: { trial: number; ending: Ending; commands: string[]; left: string[] }[];
  milliseconds: number;
};

export type OrphanOptions = {
  seed: number;
  kills: number;
  /** A fault that the figure must find. */
  mutation?: Mutation;
  lanes?: number;
  /** How the process under test is started; a small program on the runtime when unset. */
  victim?: Victim;
  endings?: readonly [Ending, ...Ending[]];
  /** What the programs do; anything when unset. */
  shapes?: readonly [Shape, ...Shape[]];
};

type Victim = (order: OrphanOrder) => { program: string; args: string[]; environment?: Record<string, string> };

type Ending = "INT" | "INT twice" | "INT, then KILL" | "TERM" | "KILL";
const ENDINGS: readonly [Ending, ...Ending[]] = ["INT", "INT twice", "INT, then KILL", "TERM", "KILL", "KILL"];

/** The real command. Its first INT lets a run finish what it has begun, so only the second ends it. */
export const REAL_COMMAND: Pick<OrphanOptions, "victim" | "endings"> = {
  endings: ["INT twice", "INT, then KILL", "TERM", "KILL", "KILL"],
  victim: (order) => realCommand(order, (input) => ({ tool: "terminal", input })),
};

/** `sous run` with a model that makes one call for each command. */
export function realCommand(
  { folder, stateFolder, commands }: OrphanOrder,
  toCall: (command: OrphanOrder["commands"][number], index: number) => { tool: string; input: object },
): ReturnType<Victim> {
  const calls = commands.map(toCall);
  writeFileSync(join(folder, "answers.json"), JSON.stringify({ sous: [{ calls }, { ending: "hangs" }] }));
  const flags = ["--model", "script/answers.json", "--yes", "--output-format", "stream-json"];
  const home = { HOME: folder, XDG_STATE_HOME: stateFolder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  return { program: process.execPath, args: [MAIN, "run", "Run them.", ...flags], environment: home };
}

/** Each touches a file of its own when everything it starts is there. */
type Shape = (ready: string) => string;

/** Its session is its own, and who is in there carries no mark and does not end when it is asked to. */
export const STUBBORN_STRANGER: Shape = (ready) =>
  `setsid bash -c 'env -i bash -c "trap : TERM INT; touch ${ready}; for i in {1..300}; do sleep 1; done" & wait' & wait`;

const SHAPES: readonly [Shape, ...Shape[]] = [
  (ready) => `touch ${ready}; exec sleep 300`,
  (ready) => `sleep 300 & sleep 300 & touch ${ready}; wait`,
  (ready) => `bash -c 'bash -c "touch ${ready}; sleep 300; true"; true'; true`,
  (ready) => `trap '' TERM INT HUP; touch ${ready}; while :; do sleep 0.2; done`,
  (ready) => `( ( sleep 300 & ) & ); touch ${ready}; sleep 300`,
  (ready) => `setsid sleep 300 & setsid bash -c 'sleep 300; true' & touch ${ready}; wait`,
  (ready) => `env -i sleep 300 & touch ${ready}; wait`,
  (ready) => `setsid bash -c 'env -i sleep 300 & touch ${ready}; wait' & wait`,
  STUBBORN_STRANGER,
  (ready) => `(trap '' TERM; touch ${ready}; sleep 300 >/dev/null 2>&1 </dev/null) & wait`,
];

/** Whatever is waited for comes long before this, or never. */
const MOST_WAITING_MS = 60_000;
const MAY_TAKE_MS = 2_000;

export async function runOrphanKills(options: OrphanOptions): Promise<OrphanFigure> {
  const { seed, kills, mutation, lanes = 4, endings = ENDINGS, shapes = SHAPES } = options;
  const startedAt = performance.now();
  const folder = mkdtempSync(join(tmpdir(), "sous-r3-"));
  const figure: OrphanFigure = {
    seed,
    kills: { INT: 0, "INT twice": 0, "INT, then KILL": 0, TERM: 0, KILL: 0 },
    processes: 0,
    slowestMilliseconds: 0,
    orphans: [],
    milliseconds: 0,
  };
  try {
    const worker = await bundleWorker("r3-worker.ts", mutation);
    const victim =
      options.victim ??
      ((order: OrphanOrder) => ({ program: process.execPath, args: [worker, JSON.stringify(order)] }));
    let next = 0;
    const work = async () => {
      while (next < kills) {
        const trial = next++;
        const random = seededRandom(seed, `trial ${trial}`);
        await killOnce(
          { random, folder: join(folder, `${trial}`), trial, ending: pick(random, endings), shapes },
          victim,
          figure,
        );
      }
    };
    await Promise.all(Array.from({ length: lanes }, work));
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
  figure.milliseconds = Math.round(performance.now() - startedAt);
  figure.slowestMilliseconds = Math.round(figure.slowestMilliseconds);
  return figure;
}

type Trial = { random: Random; folder: string; trial: number; ending: Ending; shapes: readonly [Shape, ...Shape[]] };

async function killOnce(
  { random, folder, trial, ending, shapes }: Trial,
  victim: Victim,
  figure: OrphanFigure,
): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const commands = Array.from({ length: between(random, 1, 3) }, (_, index) => ({
    command: pick(random, shapes)(`ready-${index}`),
    background: chance(random, 0.3),
  }));
  const judge = new ProcessJudge(realpathSync(folder));
  const { program, args, environment } = victim({ folder, stateFolder: join(folder, "state"), commands });
  const child = spawn(program, args, {
    cwd: folder,
    // The judge counts the whole group.
    detached: true,
    stdio: ["ignore", "pipe", "ignore"],
    env: {
      ...process.env,
      NODE_OPTIONS: "",
      NODE_V8_COVERAGE: "",
      TMPDIR: folder,
      ...environment,
      ...judge.environment,
    },
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  await new Promise((begins) => child.stdout.once("data", begins));
  const isEarly = chance(random, 0.3);
  if (isEarly) await sleep(random() * 60);
  else await until(() => commands.every((_, index) => existsSync(join(folder, `ready-${index}`))));
  figure.processes += judge.look();
  await end(child, ending, random);
  const { left, milliseconds } = await judge.untilGone(MAY_TAKE_MS);
  await ended;
  figure.kills[ending] += 1;
  figure.slowestMilliseconds = Math.max(figure.slowestMilliseconds, milliseconds);
  if (left.length > 0) {
    figure.orphans.push({ trial, ending, commands: commands.map(({ command }) => command), left });
  }
}

async function end(child: ChildProcess, ending: Ending, random: Random): Promise<void> {
  switch (ending) {
    case "INT":
    case "TERM":
    case "KILL":
      child.kill(`SIG${ending}`);
      return;
    case "INT, then KILL":
      // While it waits for its programs to end by themselves.
      child.kill("SIGINT");
      await sleep(random() * 400);
      child.kill("SIGKILL");
      return;
    case "INT twice":
      child.kill("SIGINT");
      await sleep(random() * 200);
      child.kill("SIGINT");
      // Two signals that a busy process has not seen yet are one for the kernel, so it is said again, as people do.
      for (let again = 0; again < 5 && child.exitCode === null && child.signalCode === null; again++) {
        await sleep(100);
        child.kill("SIGINT");
      }
      return;
    default:
      ending satisfies never;
  }
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((next) => setTimeout(next, milliseconds));
}

async function until(isSo: () => boolean): Promise<void> {
  for (const startedAt = performance.now(); !isSo(); ) {
    if (performance.now() - startedAt > MOST_WAITING_MS) throw new Error("The commands did not start");
    await sleep(5);
  }
}
