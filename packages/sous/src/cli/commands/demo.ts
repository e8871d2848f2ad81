/** `sous demo`: a real tree of agents over real files, on a model that follows a script and says so. */

import { readConfiguration } from "../application/configuration.ts";
import { assembleDemo } from "../application/demo.ts";
import { exitCodeOf } from "../exit-codes.ts";
import { watchRun } from "../run/watch.ts";
import { keepOf, openForRun, sameDatabase, warnOfLoss } from "../stored/database.ts";
import { readOptions, refusePositionals } from "../table/options.ts";
import { DEMO } from "../table/run-entries.ts";
import { readRunFlags } from "../table/run-flags.ts";
import { inert, inertLine } from "../terminal/inert.ts";
import { catchInterrupts } from "../terminal/interrupts.ts";
import { openOutput, tell } from "../terminal/output.ts";
import { treeLines } from "../view/tree-lines.ts";
import { DEMO_TASK } from "./demo-script.ts";

const COMMAND = "sous demo";

export async function demo(parameters: readonly string[]): Promise<number> {
  const { values, positionals } = readOptions(DEMO, parameters);
  refusePositionals(COMMAND, positionals);
  const display = { color: values.color, isAscii: values.ascii };
  const output = openOutput(process.stdout, display);
  const progress = openOutput(process.stderr, display);
  const flags = readRunFlags(values);
  const { isRequired } = flags.keep;
  const place = { cwd: process.cwd(), env: process.env };
  const { configuration } = await readConfiguration({ flags, ...place, project: undefined });
  await using store = await openForRun(keepOf(flags.keep, configuration));
  output.printText("sous demo: real agents, tools, limits and files. The model is scripted: no key, no network.");
  using interrupt = catchInterrupts();
  const { signal } = interrupt;
  const { clock, runtime, agent } = assembleDemo(place.cwd, {
    store,
    requireStore: isRequired,
  });
  const { result, tree } = await watchRun({
    clock,
    style: progress.style,
    earlier: [],
    start: (onEvent) => runtime.run(agent, DEMO_TASK, { onEvent, signal }),
  });
  const again = sameDatabase({ dbPath: flags.keep.dbPath, configFile: flags.configFile });
  output.printText(`\n${inert(result.text)}\n`);
  output.print(treeLines(tree, output.columns, output.style));
  output.printText("\nTokens are counted as bytes ÷ 3: no real model was asked.");
  if (result.error !== undefined) tell(`error: ${inertLine(result.error.message)}`);
  if (result.lost !== undefined && result.error?.type !== "store") warnOfLoss(result.lost);
  else if (store !== undefined && result.error === undefined)
    tell(`The run is stored: ${called()} replay --tree --id ${result.runId}${again}`);
  return exitCodeOf(result, interrupt.exitCode());
}

/** How a person calls the command here: npm sets this variable for what `npx` and `npm run` start. */
function called(): string {
  return process.env.npm_command === undefined ? "sous" : "npx sous";
}
