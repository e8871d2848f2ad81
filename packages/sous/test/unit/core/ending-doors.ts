/** Asks every door what it says of one ending. Its own module, so that it can be loaded on a changed table. */

import { exitCodeOf } from "../../../src/app/cli/exit-codes.ts";
import { endingSentence } from "../../../src/app/cli/run/ending.ts";
import { runJson } from "../../../src/app/cli/stored/run-json.ts";
import { chooseStyle, colourOf, statusWords } from "../../../src/app/cli/terminal/style.ts";
import { ServedSessions } from "../../../src/bridges/acp/serve-sessions.ts";
import type { ServedSession } from "../../../src/bridges/acp/served-agent.ts";
import { messageOf } from "../../../src/core/errors.ts";
import type { RunOutcome } from "../../../src/core/outcome.ts";
import { type RunResult, withoutRun } from "../../../src/core/runtime.ts";
import type { ChildReport } from "../../../src/core/spawn.ts";
import { foldRunRecord } from "../../../src/core/store.ts";
import { noUsage } from "../../../src/core/usage.ts";
import { reportMetadata, toToolResult } from "../../../src/runtime/subagents/report.ts";
import { parseStoredEvent } from "../../../src/storage/store/event-schema.ts";
import { toHtmlFile } from "../../../src/storage/store/export/html.ts";
import { toMarkdownFile } from "../../../src/storage/store/export/markdown.ts";
import { viewRuns } from "../../../src/storage/store/export/view.ts";
import { sampleTree } from "../../../src/testing/sample-tree.ts";
import { VirtualClock } from "../../../src/testing/world.ts";

export { REPORT_SCHEMA } from "../../../src/app/cli/mcp-serve/report.ts";
export { RESULT_JSON } from "../../../src/app/cli/table/json-table.ts";
export { ATTRIBUTES } from "../../../src/bridges/telemetry/span-names.ts";

export type EndingFacts = Pick<RunOutcome, "status" | "stopReason">;

export type Sayings = {
  exit: number;
  look: string;
  words: string;
  person: string | undefined;
  editor: string;
  model: string;
  reported: string;
  page: string;
  markdown: string;
  /** In the metadata of a report, and in the JSON of a stored run. */
  outOfTurns: boolean[];
};

export async function sayingsOf(facts: EndingFacts): Promise<Sayings> {
  const { status } = facts;
  const hasFault = status !== "completed" && status !== "incomplete";
  const fault = hasFault ? ({ type: "crash", message: "Subagent stopped" } as const) : undefined;
  const outcome: RunOutcome = { ...OUTCOME, ...facts, fault };
  const result: RunResult = {
    ...withoutRun(status, { type: "crash", message: "It stopped" }),
    ...facts,
    text: "Part.",
  };
  const { glyphs } = chooseStyle({ color: "never", isAscii: true, isTerminal: false, env: {} });
  const metadata = reportMetadata({ ...REPORT, outcome });
  const { error = "", output } = toToolResult({ kind: "ended", report: { ...REPORT, outcome } });
  const { page, markdown, json } = stored(outcome);
  return {
    exit: exitCodeOf(result, 130),
    look: `${colourOf(status)} ${glyphs.status[status]}`,
    words: statusWords(facts),
    person: endingSentence(result, {
      stoppedBy: undefined,
      isStored: false,
      flags: { dbPath: undefined, configFile: undefined },
    }),
    editor: await editorReads(result),
    model: `${error} | ${output}`.replaceAll("\n", " "),
    reported: metadata.completion_status,
    page,
    markdown,
    outOfTurns: [metadata.max_turns_reached, json.max_turns_reached === true],
  };
}

/** A tree with this ending is parsed as a store does, then exported and listed. */
function stored(outcome: RunOutcome): { page: string; markdown: string; json: Record<string, unknown> } {
  const tree = sampleTree("lead");
  tree.start("lead");
  tree.end("lead", outcome);
  const events = tree.events.map((event) => parseStoredEvent(JSON.parse(JSON.stringify(event))));
  const record = foldRunRecord("lead", events);
  if (record === undefined) throw new Error("The sample has no run");
  const views = viewRuns([record], events);
  const [, page = ""] = /<section class="end"><h3>(.*?) <span class="time">/.exec(toHtmlFile(views)) ?? [];
  const [, markdown = ""] = /^\*\*Ended: (.*?)\*\*/m.exec(toMarkdownFile(views)) ?? [];
  return { page, markdown, json: runJson(record) };
}

async function editorReads(result: RunResult): Promise<string> {
  const session: ServedSession = {
    id: "session",
    state: { modes: { current: "ask", all: [] }, models: { current: undefined, all: [] } },
    setMode() {},
    setModel: async () => {},
    prompt: async () => result,
    close: async () => {},
  };
  const agent = {
    version: "0",
    open: async () => session,
    list: async () => ({ sessions: [], nextCursor: undefined }),
  };
  const texts: string[] = [];
  const client = {
    notify: async (_: string, { update }: { update: { content?: { text: string } } }) => {
      texts.push(update.content?.text ?? "");
    },
  };
  const sessions = new ServedSessions({ agent, clock: new VirtualClock(0) });
  await sessions.create({ cwd: "/" }, client as never);
  const answered = sessions.prompt(
    { sessionId: "session", prompt: [{ type: "text", text: "Go." }] },
    new AbortController().signal,
  );
  const stopReason = await answered.then(
    (answer) => answer.stopReason,
    (error: unknown) => `fails: ${messageOf(error)}`,
  );
  return [stopReason, ...texts].join(" ").replaceAll("\n", "");
}

const OUTCOME: RunOutcome = {
  ...{ status: "completed", stopReason: undefined, text: "Part.", fault: undefined },
  ...{ turns: 4, toolCount: 0, usage: noUsage(), costUsd: 0, durationMs: 1 },
};

const REPORT: ChildReport = {
  ...{ agentId: "a1", runId: "r1", path: "lead/scout", label: "scout", depth: 1, agentName: "scout" },
  ...{ outcome: OUTCOME, text: "Part.", truncation: undefined, isFetchable: false, toolLog: undefined },
  ...{ totalUsage: noUsage(), totalCostUsd: 0 },
};
