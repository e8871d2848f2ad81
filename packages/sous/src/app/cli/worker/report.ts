/** The lines of `sous worker` about the runs that it takes: for people on stderr, or as JSON on stdout. */

import { visibleJson } from "../../../core/clean-text.ts";
import { messageOf } from "../../../core/errors.ts";
import type { RunRecord, Store } from "../../../core/store.ts";
import type { WorkerNews } from "../../../runtime/tree/placing/worker.ts";
import { withoutSecretsIn } from "../files/without-secrets.ts";
import { timestamp } from "../stored/run-json.ts";
import type { Output } from "../terminal/output.ts";
import { colourOf, statusWords } from "../terminal/style.ts";
import { cost, duration, inertLine, plural, tokens } from "../terminal/text.ts";

/** The state of a run, as scripts read it. `left` has several reasons. */
type RunState = "taken" | "ended" | "parked" | "given_back" | "taken_over" | "not_begun";

export type WorkerReport = {
  readonly onRun: (news: WorkerNews) => void;
  /** It gives back what it has from now on. */
  stops(): void;
  /** Resolves when everything was said. `line` is the last one for scripts. */
  end(line: Readonly<Record<string, unknown>>): Promise<void>;
};

type ReportParts = {
  readonly store: Pick<Store, "run">;
  /** Takes lines for people; undefined when none are shown. */
  readonly progress: Output | undefined;
  /** Takes a line for scripts; undefined when there are none. */
  readonly print: ((line: string) => void) | undefined;
  /** The command that answers the questions of a root. */
  readonly answerCommand: (rootId: string) => string;
  readonly now: () => number;
};

/** `first` is the line for scripts that says who this is. */
export function workerReport(parts: ReportParts, first: Readonly<Record<string, unknown>>): WorkerReport {
  const { store, progress, print, now } = parts;
  const counts: Record<RunState, number> = {
    ...{ taken: 0, ended: 0, parked: 0, given_back: 0, taken_over: 0, not_begun: 0 },
  };
  let n = 0;
  let isStopping = false;
  // The store is asked about each run: what is said keeps the order in which it happened.
  let said: Promise<void> = Promise.resolve();
  const line = (type: string, fields: Readonly<Record<string, unknown>>): void => {
    n += 1;
    const whole = withoutSecretsIn({ n, ts: timestamp(now()), type, ...fields });
    print?.(`${visibleJson(JSON.stringify(whole))}\n`);
  };
  const tell = async (news: WorkerNews, state: RunState): Promise<void> => {
    const record = await store.run(news.runId).catch(() => undefined);
    const error = news.error === undefined ? undefined : messageOf(news.error);
    line("run", { ...runFields(news.runId, record), state, status: record?.status ?? null, error: error ?? null });
    progress?.print([personLine(news.runId, record, state, error, parts)]);
  };
  line("init", first);
  return {
    onRun(news) {
      const state = stateOf(news, isStopping);
      counts[state] += 1;
      said = said.then(() => tell(news, state));
    },
    stops() {
      isStopping = true;
    },
    async end(last) {
      await said;
      line("result", { ...counts, ...last });
    },
  };
}

function stateOf({ state, error }: WorkerNews, isStopping: boolean): RunState {
  if (state !== "left") return state;
  if (error !== undefined) return "not_begun";
  return isStopping ? "given_back" : "taken_over";
}

function runFields(runId: string, record: RunRecord | undefined): Record<string, unknown> {
  const { rootId = null, path = null, agent = null, depth = null } = record ?? {};
  return { run_id: runId, root_id: rootId, path, agent, depth };
}

function personLine(
  runId: string,
  record: RunRecord | undefined,
  state: RunState,
  error: string | undefined,
  { progress, answerCommand }: ReportParts,
): string {
  const paint = progress?.style.paint ?? ((_, text) => text);
  const id = inertLine(runId, 60);
  const path = paint("bold", inertLine(record?.path ?? "", 200));
  const say = (text: string): string => `${path}  ${text} ${paint("dim", `(${id})`)}`;
  switch (state) {
    case "taken":
      return say(`taken: ${inertLine(record?.task ?? "", 160)}`);
    case "ended":
      return record === undefined ? say("ended") : say(endWords(record, progress));
    case "parked":
      return say(paint("yellow", `waits for an answer: ${answerCommand(inertLine(record?.rootId ?? runId, 60))}`));
    case "given_back":
      return say("given back: another worker continues it");
    case "taken_over":
      return say(paint("yellow", "taken over: this worker had not said for too long that it is alive"));
    case "not_begun":
      return say(paint("red", `cannot be begun here, and is given back: ${inertLine(error ?? "", 500)}`));
    default:
      return state satisfies never;
  }
}

function endWords(record: RunRecord, progress: Output | undefined): string {
  const { status, turns, usage, costUsd, durationMs } = record;
  const dot = progress?.style.glyphs.dot ?? ", ";
  const glyph = progress?.style.glyphs.status[status] ?? "";
  const figures = [
    plural(turns, "turn"),
    tokens(usage.totalTokens, usage.estimated),
    cost(costUsd),
    durationMs === undefined ? "" : duration(durationMs),
  ].filter((figure) => figure !== "");
  const paint = progress?.style.paint ?? ((_, text) => text);
  return `${paint(colourOf(status), `${glyph} ${statusWords(record)}`)} ${paint("dim", figures.join(dot))}`;
}
