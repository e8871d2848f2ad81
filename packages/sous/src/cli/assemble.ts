/** The application's composition root: from what a command needs to a runtime that has it. Everything is loaded late. */

import type { AgentDefinition } from "../core/agent.ts";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Message } from "../core/message.ts";
import type { RuntimeOptions } from "../core/runtime.ts";
import type { JsonSchema } from "../core/schema.ts";
import type { Store } from "../core/store.ts";
import type { RunsDiff } from "../replay/diff-runs.ts";
import type { Rerun } from "../rerun.ts";
import type { Runtime } from "../runtime.ts";
import type { ExportFormat } from "../store/export-tree.ts";
import type { ImportedTree } from "../store/import-tree.ts";
import type { SqliteStore } from "../store/sqlite.ts";
import type { LifecycleLog, LifecycleLogOptions } from "../telemetry/log.ts";
import type { Answer, Script } from "../testing/script.ts";
import type { DemoTurn } from "./commands/demo-script.ts";

export type { AgentDiff, DiffRow, RunsDiff } from "../replay/diff-runs.ts";
export type { RunStep } from "../replay/run-steps.ts";
export type { LifecycleLog } from "../telemetry/log.ts";

/** By this a stored run is known to be one of the demo. */
export const DEMO_MODEL = "scripted/demo";

/** What a command that runs agents is given. */
type Assembled = { clock: Clock; runtime: Runtime; agent: AgentDefinition };

type Keep = Pick<RuntimeOptions, "store" | "requireStore">;

/** The agent of the demo. Everything is real but the model. */
export async function assembleDemo(cwd: string, keep: Keep): Promise<Assembled> {
  const [
    { agent },
    { systemHost },
    { createRuntime },
    { scriptedModel },
    { readOnlyTools },
    { DEMO_MAX_DEPTH, demoAnswer },
  ] = await Promise.all([
    import("../core/agent.ts"),
    import("../host.ts"),
    import("../runtime.ts"),
    import("../testing/scripted-model.ts"),
    import("../tools/read-only.ts"),
    import("./commands/demo-script.ts"),
  ]);
  const host = systemHost({ cwd });
  const answers: Script = { "**": (request) => toAnswer(demoAnswer(request)) };
  const lead = agent({
    name: "lead",
    instructions: "You lead three children and put their answers together.",
    model: scriptedModel(answers, { id: DEMO_MODEL, price: { input: 0, output: 0 }, clock: host.clock }),
    tools: readOnlyTools(),
    delegate: true,
  });
  const runtime = createRuntime({ host, ...keep, limits: { maxDepth: DEMO_MAX_DEPTH } });
  return { clock: host.clock, runtime, agent: lead };
}

function toAnswer({ pauseMs, text, calls: called }: DemoTurn): Answer {
  return [
    { step: "wait", milliseconds: pauseMs },
    ...(text === "" ? [] : [{ step: "text", chunks: [text] } as const]),
    ...called.map(({ toolName, input }) => ({ step: "call", toolName, input, callId: undefined }) as const),
  ];
}

export async function openDatabase(file: string, options: { readOnly: boolean }): Promise<SqliteStore> {
  const { openSqliteStore } = await import("../store/sqlite.ts");
  try {
    return await openSqliteStore(file, options);
  } catch (error) {
    if (!(options.readOnly && messageOf(error).includes("an older version of sous"))) throw error;
    // Opening it for writing brings it up to date.
    await (await openSqliteStore(file))[Symbol.asyncDispose]();
    return openSqliteStore(file, options);
  }
}

/** What a run sent to its model just before an event, repaired as it was then. */
export async function sentMessages(
  store: Store,
  rootId: string,
  { runId, before }: { runId: string; before: number },
): Promise<Message[]> {
  const [{ readHistory }, { repairHistory }] = await Promise.all([
    import("../store/history.ts"),
    import("../loop/repair-history.ts"),
  ]);
  return repairHistory(await readHistory(store, rootId).messages(runId, before));
}

export async function exportFile(store: Store, rootId: string, format: ExportFormat): Promise<string> {
  const { exportTree } = await import("../store/export-tree.ts");
  return exportTree(store, rootId, format);
}

export async function saveAsCassette(store: Store, runId: string, file: string): Promise<void> {
  const { saveCassette } = await import("../cassette.ts");
  await saveCassette(store, runId, file);
}

export async function importFile(store: Store, text: string, newIds: boolean): Promise<ImportedTree> {
  const { importTree } = await import("../store/import-tree.ts");
  return importTree(store, text, { newIds });
}

/** Plays a stored tree again; tools that are to run are those the command line has. */
export async function rerunStored(
  store: Store,
  rootId: string,
  { liveTools, signal, cwd }: { liveTools: boolean; signal: AbortSignal; cwd: string },
): Promise<Rerun> {
  const [{ rerun }, { readOnlyTools }] = await Promise.all([import("../rerun.ts"), import("../tools/read-only.ts")]);
  return rerun(rootId, { store, liveTools, tools: readOnlyTools({ root: cwd }), signal });
}

export async function diffStored(store: Store, oneId: string, otherId: string): Promise<RunsDiff> {
  const { diffRuns } = await import("../replay/diff-runs.ts");
  return diffRuns(store, oneId, otherId);
}

export async function openLifecycleLog(options: LifecycleLogOptions): Promise<LifecycleLog> {
  const { createLifecycleLog } = await import("../telemetry/log.ts");
  return createLifecycleLog(options);
}

/** Throws a `UserError` when answers cannot be checked against it. */
export async function checkSchema(schema: JsonSchema): Promise<void> {
  const { compileSchema } = await import("../schema/compile.ts");
  await compileSchema(schema);
}
