/** `sous replay --id`, `--tree` and `--rerun`: one run, one of its requests to the model, its tree, or the tree played again. */

import { systemPrompt } from "../../../core/agent.ts";
import type { OpenQuestion } from "../../../core/approval.ts";
import type { EventOf, StoredEvent } from "../../../core/event.ts";
import { readHistory } from "../../../core/read-history.ts";
import { readTree, readWholeTree } from "../../../core/read-tree.ts";
import { missingEvent, type RunRecord, type Store } from "../../../core/store.ts";
import { canResume } from "../../../core/words/outcomes.ts";
import type { ReplayRequest } from "../commands/replay.ts";
import { CommandError, EXIT } from "../exit-codes.ts";
import { changeTo, thisFolder } from "../files/paths.ts";
import { questionsSentence } from "../run/questions.ts";
import { damageSentence, noteOn } from "../stored/damage.ts";
import { type DatabaseFlags, openRuns, resumeCommand } from "../stored/database.ts";
import { findToRead } from "../stored/find-run.ts";
import { eventJson, messageJson, questionJson, runJson } from "../stored/run-json.ts";
import { Takings } from "../stored/takings.ts";
import { catchInterrupts } from "../terminal/interrupts.ts";
import { printJson } from "../terminal/output.ts";
import { inert, inertLine, plural } from "../terminal/text.ts";
import { RunTree } from "../view/run-tree.ts";
import { treeLines } from "../view/tree-lines.ts";
import { indented, type MessageView, messageLines, readRun, showLines, textLines, toolsText } from "./show-lines.ts";

export async function replayShow(replay: ReplayRequest): Promise<number> {
  const { values } = replay;
  const { request } = values;
  await using store = await openRuns(replay.file, "read");
  const record = await findToRead(store, values.id ?? "");
  const events = await store.read(record.journalId, { runId: record.id, onDamage: noteOn(record) });
  if (request !== undefined) await showRequest(replay, { store, record, events }, request);
  else await showRun(replay, { store, record, events });
  return 0;
}

type Found = { store: Store; record: RunRecord; events: readonly StoredEvent[] };

async function showRun({ values, flags, output }: ReplayRequest, { store, record, events }: Found): Promise<void> {
  const children = await store.children(record.id);
  const open = (await questionsOf(store, record)).filter(({ path }) => path === record.path);
  const shown = readRun(record, events, children.length, { here: thisFolder(), flags });
  if (!values.json) {
    output.print(showLines(shown, viewOf(output, values.full)));
    if (open.length > 0) output.printWhole(["", ...questionsSentence(open, record.rootId, flags).split("\n")]);
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
    questions: open.map(questionJson),
    messages: shown.messages.map((message, index) => messageJson(message, index + 1)),
    events: events.map(eventJson),
  });
}

/** The open questions of the whole tree; none while a process works on it, and none that can be answered when it is damaged. */
async function questionsOf(store: Store, record: RunRecord | undefined): Promise<OpenQuestion[]> {
  if (record?.status !== "waiting") return [];
  const { openQuestions } = await import("../../../runtime/rights/open-questions.ts");
  const questions = openQuestions(await readWholeTree(store, record.rootId, { onDamage: noteOn(record) }));
  return record.damage === undefined ? questions : [];
}

function originJson(start: EventOf<"run-start"> | undefined): unknown {
  const origin = start?.origin;
  if (origin === undefined) return null;
  const { kind, runId: run_id } = origin;
  const messages = kind === "fork" ? origin.messages : kind === "branch" ? origin.history.length : null;
  return { kind, run_id, messages, turn: kind === "branch" ? origin.turn : null };
}

async function showRequest(
  { values, output }: ReplayRequest,
  { store, record, events }: Found,
  number: number,
): Promise<void> {
  const asked = events.filter((event) => event.type === "turn-start");
  const turn = asked[number - 1];
  if (turn === undefined) {
    throw new CommandError(
      `Run ${inertLine(record.id, 60)} made ${plural(asked.length, "request")}; --request ${number} is not one of them`,
    );
  }
  // Repaired as it was when it was sent.
  const { repairHistory } = await import("../../../runtime/loop/repair-history.ts");
  const messages = repairHistory(await readHistory(store, record.journalId).messages(record.id, turn.seq));
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
  // A request is always shown in full.
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

function viewOf({ style, columns, isTerminal }: ReplayRequest["output"], isFull: boolean): MessageView {
  return { style, columns: isTerminal ? columns : undefined, isFull };
}

export async function replayTree(replay: ReplayRequest): Promise<number> {
  const { values, flags, output } = replay;
  await using store = await openRuns(replay.file, "read");
  const { rootId } = await findToRead(store, values.id ?? "");
  const records = await store.tree(rootId);
  const root = records.find(({ id }) => id === rootId);
  const tree = new RunTree(output.style.glyphs.arrow);
  const takings = new Takings();
  let last = 0;
  for await (const event of readTree(store, rootId, { onDamage: root && noteOn(root) })) {
    const missing = missingEvent(rootId, [event], last);
    if (root !== undefined) root.damage ??= missing?.message;
    last = event.seq;
    tree.apply(event);
    takings.add(event);
  }
  const open = await questionsOf(store, root);
  if (values.json) {
    printJson({
      schema: "sous.tree.v1",
      root_id: rootId,
      runs: records.map(runJson),
      questions: open.map(questionJson),
    });
    return 0;
  }
  for (const { id, status } of records) if (canResume(status) || status === "queued") tree.interruptRun(id, status);
  const noteOf = (runId: string) => takings.wordsOf(runId);
  output.print(treeLines(tree, output.columns, output.style, { withIds: true, noteOf }));
  const damages = records.flatMap((record) => damageSentence(record, flags) ?? []);
  if (damages.length > 0) output.print(["", ...damages.map((sentence) => `Damaged: ${sentence}`)]);
  else if (root?.lost !== undefined)
    output.print(["", `It is not stored to its end, so it cannot be resumed: ${inertLine(root.lost)}`]);
  else if (open.length > 0) output.printWhole(["", ...questionsSentence(open, rootId, flags).split("\n")]);
  else if (root?.status === "interrupted")
    output.print(["", `It was interrupted. Continue it: ${resumeHere(root, flags)}`]);
  return 0;
}

/** The resume command as it works when it is typed here, with a `cd` where that is needed. */
function resumeHere({ rootId, cwd }: RunRecord, flags: DatabaseFlags): string {
  const go = cwd === undefined || cwd === thisFolder() ? "" : `${changeTo(cwd)} && `;
  return go + resumeCommand(rootId, flags);
}

export async function replayRerun({ values, file, output }: ReplayRequest): Promise<number> {
  using interrupt = catchInterrupts();
  await using store = await openRuns(file, "read");
  const [{ rerun }, { readOnlyTools }] = await Promise.all([
    import("../../../rerun.ts"),
    import("../../tools/read-only.ts"),
  ]);
  const { rootId } = await findToRead(store, values.id ?? "");
  const played = await rerun(rootId, {
    store,
    liveTools: values["live-tools"],
    tools: readOnlyTools({ root: process.cwd() }),
    signal: interrupt.signal,
  });
  const { matches, firstDifference: difference, endsEarly, events } = played;
  if (values.json) {
    const { path, step, at, expected = null, found = null, sentence } = difference ?? {};
    printJson({
      schema: "sous.rerun.v1",
      root_id: rootId,
      matches,
      first_difference: difference === undefined ? null : { path, step, at, expected, found, sentence },
      ends_early: endsEarly ?? null,
      events: events.length,
    });
    return matches ? EXIT.ok : EXIT.mismatch;
  }
  const { style, columns, print } = output;
  const tree = new RunTree(style.glyphs.arrow);
  for (const event of events) tree.apply(event);
  print([...treeLines(tree, columns, style, { withoutTimes: true }), ""]);
  if (matches) print([`${style.paint("green", "identical")}: ${plural(events.length, "step")} as recorded`]);
  else print([`${style.paint("red", "differs")}: ${inert(difference?.sentence ?? "")}`]);
  if (endsEarly !== undefined) print([inertLine(endsEarly)]);
  return matches ? EXIT.ok : EXIT.mismatch;
}
