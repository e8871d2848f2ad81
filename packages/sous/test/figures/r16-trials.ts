/** R16: whether a deadline and a TERM are heard while a hostile text is read. */

import { spawn } from "node:child_process";
import { compiled, MAIN } from "../support/app/cli/sous-process.ts";
import { fetchWith, pageServer, testNetwork } from "../support/attacks/page-server.ts";
import { type HostileText, openPlace, type Place } from "./r16-place.ts";
import { starvedMilliseconds } from "./starved-time.ts";

export type TextTrial = {
  readonly name: string;
  readonly ended: "deadline" | "TERM";
  /** From when it was due: what the deadline or the signal took to end it; 0 when it had ended before. */
  readonly lateMs: number;
  /** How long this machine kept somebody waiting meanwhile. */
  readonly starvedMs: number;
};

export type TextTrialOptions = {
  readonly texts: readonly HostileText[];
  readonly endings: readonly TextTrial["ended"][];
  /** How many processes run at once. */
  readonly lanes: number;
};

const DEADLINE_MS = 2000;
/** From the start of the process to the signal. */
const TERM_AFTER_MS = 700;
/** Whoever does not answer by then never will. */
const LONGEST_MS = 20_000;
const LIMIT_MS = 2000;

/** The trials that were late, each tried again once: others are at work on the machine, too. */
export async function runTextTrials({ texts, endings, lanes }: TextTrialOptions): Promise<TextTrial[]> {
  const open = texts.flatMap((text) => endings.map((ended) => ({ text, ended })));
  const late: TextTrial[] = [];
  const lane = async (): Promise<void> => {
    for (let next = open.shift(); next !== undefined; next = open.shift()) {
      const first = await tried(next.text, next.ended);
      const trial = isLate(first) ? await tried(next.text, next.ended) : first;
      if (isLate(trial)) late.push(trial);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return late;
}

function isLate({ lateMs, starvedMs }: TextTrial): boolean {
  return lateMs - starvedMs > LIMIT_MS;
}

async function tried(text: HostileText, ended: TextTrial["ended"]): Promise<TextTrial> {
  const starvedBefore = starvedMilliseconds();
  const lateMs = text.kind === "page" ? await fetchStopped(text.text(), ended) : await commandStopped(text, ended);
  return { name: text.name, ended, lateMs, starvedMs: starvedMilliseconds() - starvedBefore };
}

async function commandStopped(text: HostileText & { kind: "command" }, ended: TextTrial["ended"]): Promise<number> {
  await using place = await openPlace();
  const parameters = await text.prepare(place);
  const isRun = parameters[0] === "run" && ended === "deadline";
  return ended === "TERM"
    ? stoppedBySignal(parameters, place)
    : endedBy([...parameters, ...(isRun ? ["--timeout", `${DEADLINE_MS}ms`] : [])], place, DEADLINE_MS);
}

function stoppedBySignal(parameters: readonly string[], place: Place): Promise<number> {
  return endedBy(parameters, place, TERM_AFTER_MS, "SIGTERM");
}

/** Milliseconds from `dueMs` after the start to the end of the process; the signal is sent when it is due. */
function endedBy(
  parameters: readonly string[],
  { cwd, env }: Place,
  dueMs: number,
  signal?: NodeJS.Signals,
): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [MAIN, ...parameters], {
    cwd,
    env: { NODE_COMPILE_CACHE: compiled, ...env },
    stdio: ["ignore", "ignore", "ignore"],
    timeout: LONGEST_MS,
    killSignal: "SIGKILL",
  });
  const timer = signal === undefined ? undefined : setTimeout(() => child.kill(signal), dueMs);
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", () => {
      clearTimeout(timer);
      resolve(Math.max(0, performance.now() - startedAt - dueMs));
    });
  });
}

/** The same for a page: `fetch` has a deadline of its own, and a signal. */
async function fetchStopped(html: string, ended: TextTrial["ended"]): Promise<number> {
  await using server = await pageServer((_, response) => {
    response.writeHead(200, { "content-type": "text/html" }).end(html);
  });
  const dueMs = ended === "deadline" ? DEADLINE_MS : TERM_AFTER_MS;
  const startedAt = performance.now();
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new Error("stopped")), ended === "TERM" ? dueMs : LONGEST_MS);
  await fetchWith(testNetwork(), { url: server.url }, { timeoutMs: DEADLINE_MS, signal: controller.signal }).catch(
    () => undefined,
  );
  clearTimeout(timer);
  return Math.max(0, performance.now() - startedAt - dueMs);
}
