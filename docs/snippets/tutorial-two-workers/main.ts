/** The tutorial as one program: a model, two workers, and a tree. One of the workers is killed. The server is named in DATABASE_URL. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** The lines of each process. */
const said = new Map<ChildProcess, string[]>();
let heard: PromiseWithResolvers<void> = Promise.withResolvers();

function start(program: string, parameters: readonly string[], more: Record<string, string>): ChildProcess {
  const file = join(import.meta.dirname, program);
  const child = spawn(process.execPath, [...process.execArgv, file, ...parameters], {
    env: { ...process.env, ...more },
    stdio: ["ignore", "pipe", "inherit"],
  });
  said.set(child, []);
  createInterface(child.stdout).on("line", (line) => {
    said.get(child)?.push(line);
    heard.resolve();
    heard = Promise.withResolvers();
  });
  return child;
}

/** The text behind `words` in the lines of a process. */
function behind(child: ChildProcess, words: string): string[] {
  return (said.get(child) ?? []).flatMap((line) => (line.includes(words) ? [line.split(words)[1] ?? ""] : []));
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await heard.promise;
}

const model = start("model.ts", [], { MODEL_PORT: "0", ANSWER_MS: "200" });
await until(() => behind(model, "answers at ").length > 0);
const address = { OPENAI_COMPATIBLE_BASE_URL: behind(model, "answers at ")[0] ?? "" };
const [one, two] = [start("worker.ts", ["one"], address), start("worker.ts", ["two"], address)];
await until(() => [one, two].every((worker) => behind(worker, "is ready").length > 0));

const ask = start("ask.ts", [], address);
const asked = once(ask, "exit");
// Some are in the middle of their work.
await until(() => behind(model, "request 2").length > 0 && behind(one, "taken ").length > 0);
const isOver = new Set(behind(one, "ended "));
const held = behind(one, "taken ").filter((path) => !isOver.has(path));
one.kill("SIGKILL");
await asked;

console.log(said.get(ask)?.at(-1));
const taken = new Set(behind(two, "taken "));
console.log(
  `the killed worker had some: ${held.length > 0}, the other one continued them: ${held.every((path) => taken.has(path))}`,
);

const stopped = once(two, "exit");
two.kill("SIGTERM");
await stopped;
model.kill();
