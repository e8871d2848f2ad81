/** Kills processes with SIGKILL between all steps of a tree that parks and is answered, and judges what is left. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { ulidSource } from "../../src/core/ulid.ts";
import { openSqliteStore } from "../../src/storage/store/sqlite/store.ts";
import { checkHistory } from "../../src/testing/checker.ts";
import { bundleWorker } from "./kill-process.ts";

export type ParkKillFigure = { kills: number; broken: string[]; processes: number; milliseconds: number };

type Ended = { status: string; text: string; questions: string[]; steps: number };

/** One tree for each kill. The steps of the first life come first, then those of the process that answers. */
export async function runParkKills({ kills, every = 1 }: { kills: number; every?: number }): Promise<ParkKillFigure> {
  const startedAt = performance.now();
  const figure: ParkKillFigure = { kills: 0, broken: [], processes: 0, milliseconds: 0 };
  // How many steps there are in the life that parks, and in the one that answers.
  const [parking, answering] = await withTree(async (tree) => {
    const first = await live(tree, 0, false);
    const second = await live(tree, 0, true);
    return [first?.steps ?? 0, second?.steps ?? 0];
  });
  for (let at = 0; figure.kills < kills; at += every) {
    const step = (at % (parking + answering)) + 1;
    const isFirst = step <= parking;
    const problems = await withTree(async (tree) => {
      const found: string[] = [];
      if (!isFirst) await live(tree, 0, false);
      const killed = await live(tree, isFirst ? step : step - parking, !isFirst);
      if (killed !== undefined) found.push("was not killed");
      let last: Ended | undefined;
      for (let again = 0; again < 4 && last?.status !== "completed"; again++) {
        figure.processes += 1;
        last = await live(tree, 0, true);
      }
      if (last?.status !== "completed" || last.text !== "All done.") found.push(`ends ${JSON.stringify(last)}`);
      return [...found, ...(await judge(tree))];
    });
    figure.kills += 1;
    figure.broken.push(...problems.map((problem) => `killed at step ${step} of ${parking} + ${answering}: ${problem}`));
  }
  figure.milliseconds = Math.round(performance.now() - startedAt);
  return figure;
}

type TreeFiles = { file: string; effects: string; rootId: string };

const newId = ulidSource(Date.now, Math.random);

async function withTree<T>(work: (tree: TreeFiles) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "sous-park-"));
  const tree = { file: join(folder, "runs.db"), effects: join(folder, "effects"), rootId: newId() };
  try {
    await writeFile(tree.effects, "");
    return await work(tree);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Undefined when the process was killed. */
async function live(
  { file, effects, rootId }: TreeFiles,
  killAt: number,
  isAnswering: boolean,
): Promise<Ended | undefined> {
  const parameters = [file, effects, rootId, String(killAt), isAnswering ? "answers" : ""];
  const worker = await bundleWorker("park-kill-worker.ts");
  const child = spawn(process.execPath, [worker, ...parameters], {
    // Beside the bundle, which has another path every time.
    env: { ...process.env, NODE_COMPILE_CACHE: join(dirname(worker), "compiled") },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [said, complaint, [code, signal]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close"),
  ]);
  if (signal === "SIGKILL") return undefined;
  if (code !== 0) throw new Error(`The worker failed: ${complaint}`);
  return JSON.parse(said);
}

/** Nothing lost, nothing twice. */
async function judge({ file, effects, rootId }: TreeFiles): Promise<string[]> {
  await using store = await openSqliteStore(file);
  const events = await store.read(rootId);
  const problems = checkHistory(events);
  const done = (await readFile(effects, "utf8")).split("\n").filter((line) => line !== "");
  const posted = done.filter((line) => line === "lead/a post post-a").length;
  const paid = done.filter((line) => line === "lead pay pay-1").length;
  if (posted !== 1) problems.push(`posted ${posted} times`);
  if (paid > 1) problems.push(`paid ${paid} times`);
  for (const callId of ["post-a", "pay-1"]) {
    const answers = events.filter((event) => event.type === "approval-end" && event.callId === callId);
    if (answers.length !== 1) problems.push(`${callId} was answered ${answers.length} times`);
    const results = events.filter((event) => event.type === "tool-call-end" && event.callId === callId);
    const [result] = results;
    if (results.length !== 1) problems.push(`${callId} has ${results.length} results`);
    // A call that may have had its effect when its process was killed is not made again.
    const isUnknown = result?.type === "tool-call-end" && result.metadata?.error_type === "unknown_outcome";
    if (callId === "pay-1" && paid === 0 && !isUnknown) problems.push("did not pay");
  }
  return problems;
}
