/** `sous replay --id` and `--tree`: one run in full, one of its requests to the model, or its whole tree. */

import { systemPrompt } from "../../core/agent.ts";
import type { EventOf, StoredEvent } from "../../core/event.ts";
import type { RunRecord, Store } from "../../core/store.ts";
import { readHistory } from "../../store/history.ts";
import { CommandError } from "../exit-codes.ts";
import { changeTo, thisFolder } from "../files/paths.ts";
import { type DatabaseFlags, eventsOf, openRuns, sameDatabase } from "../stored/database.ts";
import { eventJson, messageJson, runJson } from "../stored/run-json.ts";
import { readWhole } from "../table/options.ts";
import { plural } from "../terminal/figures.ts";
import { inertLine } from "../terminal/inert.ts";
import { printJson } from "../terminal/output.ts";
import { RunTree } from "../view/run-tree.ts";
import { treeLines } from "../view/tree-lines.ts";
import { findToRead, type Replay } from "./request.ts";
import { indented, type MessageView, messageLines, readRun, showLines, textLines, toolsText } from "./show-lines.ts";

export async function replayShow(replay: Replay): Promise<number> {
  const { values } = replay;
  const request = values.request === undefined ? undefined : readWhole("request", values.request, 1);
  await using store = await openRuns(replay.file, "read");
  const record = await findToRead(store, values.id ?? "");
  const events = await store.read(record.rootId, { runId: record.id });
  if (request !== undefined) await showRequest(replay, { store, record, events }, request);
  else await showRun(replay, { store, record, events });
  return 0;
}

type Found = { store: Store; record: RunRecord; events: readonly StoredEvent[] };

async function showRun({ values, flags, output }: Replay, { store, record, events }: Found): Promise<void> {
  const children = await store.children(record.id);
  const shown = readRun(record, events, children.length, {
    here: thisFolder(),
    database: sameDatabase(flags),
  });
  if (!values.json) {
    output.print(showLines(shown, viewOf(output, values.full)));
    return;
  }
  const start = events.find((event) => event.type === "run-start");
  const end = events.find((event) => event.type === "run-end");
  printJson({
    schema: "sous.run.v1",
    run: {
      ...runJson(record),
      max_turns: start?.maxTurns ?? null,
      instructions: (start && systemPrompt(start)) ?? null,
      origin: originJson(start),
      error: end?.fault === undefined ? null : { type: end.fault.type, message: end.fault.message },
      result: end?.text ?? null,
      output: end?.output ?? null,
    },
    children: children.map(({ id }) => id),
    messages: shown.messages.map((message, index) => messageJson(message, index + 1)),
    events: events.map(eventJson),
  });
}

function originJson(start: EventOf<"run-start"> | undefined): unknown {
  const origin = start?.origin;
  if (origin === undefined) return null;
  const { kind, runId: run_id } = origin;
  const messages = kind === "fork" ? origin.messages : kind === "branch" ? origin.history.length : null;
  return { kind, run_id, messages, turn: kind === "branch" ? origin.turn : null };
}

async function showRequest(
  { values, output }: Replay,
  { store, record, events }: Found,
  number: number,
): Promise<void> {
  const asked = events.filter((event) => event.type === "turn-start");
  const turn = asked[number - 1];
  if (turn === undefined) {
    throw new CommandError(
      `Run ${inertLine(record.id, 60)} made ${plural(asked.length, "request")}; there is no number ${number}`,
    );
  }
  // Repaired as it was when it was sent.
  const { repairHistory } = await import("../../loop/repair-history.ts");
  const messages = repairHistory(await readHistory(store, record.rootId).messages(record.id, turn.seq));
  const start = events.find((event) => event.type === "run-start");
  if (values.json) {
    printJson({
      schema: "sous.request.v1",
      run_id: record.id,
      request: number,
      turn: turn.turn,
      instructions: (start && systemPrompt(start)) ?? null,
      allowed_tools: record.allowedTools,
      may_delegate: start?.rights.spawn ?? false,
      messages: messages.map((message, index) => messageJson(message, index + 1)),
    });
    return;
  }
  // What was sent is only worth looking at when nothing is left out.
  const view = viewOf(output, true);
  const section = (title: string, lines: readonly string[]): string[] => [
    "",
    view.style.paint("bold", title),
    ...lines,
  ];
  const instructions = start && systemPrompt(start);
  output.print([
    `Request ${number} of ${asked.length}, turn ${turn.turn}`,
    ...(instructions === undefined ? [] : section("Instructions", indented(textLines(instructions, view), 2))),
    ...section("Tools", indented(textLines(toolsText(record, start), view), 2)),
    ...section("Messages", messageLines(messages, [], view)),
  ]);
}

function viewOf({ style, columns, isTerminal }: Replay["output"], isFull: boolean): MessageView {
  return { style, columns: isTerminal ? columns : undefined, isFull };
}

export async function replayTree(replay: Replay): Promise<number> {
  const { values, flags, output } = replay;
  await using store = await openRuns(replay.file, "read");
  const { rootId } = await findToRead(store, values.id ?? "");
  const records = await store.tree(rootId);
  if (values.json) {
    printJson({ schema: "sous.tree.v1", root_id: rootId, runs: records.map(runJson) });
    return 0;
  }
  const tree = new RunTree(output.style.glyphs.arrow);
  for await (const event of eventsOf(store, rootId)) tree.apply(event);
  if (records.some(({ status }) => status === "interrupted")) tree.interrupt();
  output.print(treeLines(tree, output.columns, output.style, { withIds: true }));
  const root = records.find(({ id }) => id === rootId);
  if (root?.lost !== undefined)
    output.print(["", `It is not stored to its end, so it cannot be resumed: ${inertLine(root.lost)}`]);
  else if (root?.status === "interrupted")
    output.print(["", `It was interrupted. Continue it: ${resumeCommand(root, flags)}`]);
  return 0;
}

/** As it works when it is typed here. */
function resumeCommand({ rootId, cwd }: RunRecord, flags: DatabaseFlags): string {
  const go = cwd === undefined || cwd === thisFolder() ? "" : `${changeTo(cwd)} && `;
  return `${go}sous resume ${inertLine(rootId, 60)}${sameDatabase(flags)}`;
}
