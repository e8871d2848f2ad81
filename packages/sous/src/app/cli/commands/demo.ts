/** `sous demo`: a real tree of agents over real files, on a model that follows a script and says so. */

import { agent } from "../../../core/agent.ts";
import type { RuntimeOptions } from "../../../core/runtime.ts";
import { systemHost } from "../../../machine/host.ts";
import { createRuntime } from "../../../runtime.ts";
import { scriptedModel } from "../../../testing/scripted-model.ts";
import { readOnlyTools } from "../../tools/read-only.ts";
import { readConfiguration } from "../application/project.ts";
import { exitCodeOf } from "../exit-codes.ts";
import { processContext } from "../files/paths.ts";
import { watchRun } from "../run/watch.ts";
import { databaseFlags, openForRun, sameDatabase, storageOf, warnOfLoss } from "../stored/database.ts";
import { readOnlyOptions } from "../table/options.ts";
import { DEMO } from "../table/run-entries.ts";
import { readRunFlags } from "../table/run-flags.ts";
import { catchInterrupts } from "../terminal/interrupts.ts";
import { openOutput, tell } from "../terminal/output.ts";
import { inert, inertLine } from "../terminal/text.ts";
import { treeLines } from "../view/tree-lines.ts";
import { DEMO_MAX_DEPTH, DEMO_MODEL, DEMO_TASK, demoAnswer } from "./demo-script.ts";

export async function demo(parameters: readonly string[]): Promise<number> {
  const values = readOnlyOptions(DEMO, parameters);
  const output = openOutput(process.stdout, values);
  const progress = openOutput(process.stderr, values);
  const flags = readRunFlags(values);
  const context = processContext();
  const { configuration } = await readConfiguration({ flags, ...context, project: undefined });
  await using store = await openForRun(storageOf(flags.storage, configuration));
  output.printText("sous demo: real agents, tools, limits and files. The model is scripted: no key, no network.");
  using interrupt = catchInterrupts();
  const { signal } = interrupt;
  const { clock, runtime, agent } = assembleDemo(context.cwd, { store, requireStore: flags.storage.isRequired });
  const { result, tree } = await watchRun({
    clock,
    style: progress.style,
    start: (onEvent) => runtime.run(agent, DEMO_TASK, { onEvent, signal }),
  });
  const again = sameDatabase(databaseFlags(flags));
  output.printText(`\n${inert(result.text)}\n`);
  output.print(treeLines(tree, output.columns, output.style));
  output.printText("\nTokens are counted as bytes ÷ 3: no real model was asked.");
  if (result.error !== undefined) tell(`error: ${inertLine(result.error.message)}`);
  warnOfLoss(result);
  if (store !== undefined && result.error === undefined && result.lost === undefined)
    tell(`The run is stored: ${called()} replay --tree --id ${result.runId}${again}`);
  return exitCodeOf(result, interrupt.exitCode());
}

/** The command as a person types it here: npm sets this variable for what `npx` and `npm run` start. */
function called(): string {
  return process.env.npm_command === undefined ? "sous" : "npx sous";
}

export function assembleDemo(cwd: string, storage: Pick<RuntimeOptions, "store" | "requireStore">) {
  const host = systemHost({ cwd });
  const lead = agent({
    name: "lead",
    instructions: "You lead three children and put their answers together.",
    model: scriptedModel({ "**": demoAnswer }, { id: DEMO_MODEL, price: { input: 0, output: 0 }, clock: host.clock }),
    tools: readOnlyTools(),
    delegate: true,
  });
  const runtime = createRuntime({ host, ...storage, limits: { maxDepth: DEMO_MAX_DEPTH } });
  return { clock: host.clock, runtime, agent: lead };
}
