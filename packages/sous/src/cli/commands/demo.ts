/** `sous demo`: a real tree of agents over real files, on a model that follows a script and says so. */

import { assembleDemo } from "../assemble.ts";
import { readConfiguration } from "../assemble-configuration.ts";
import { keepOf, sameDatabase } from "../database-place.ts";
import { exitCodeOf } from "../exit-codes.ts";
import { inert, inertLine } from "../inert.ts";
import { catchInterrupts } from "../interrupts.ts";
import { openForRun, warnOfLoss } from "../keep-runs.ts";
import { DISPLAY_OPTIONS, readColor, readOptions, refusePositionals } from "../options.ts";
import { openOutput, tell } from "../output.ts";
import { readRunFlags } from "../run-flags.ts";
import { treeLines } from "../tree.ts";
import { watchRun } from "../watch-run.ts";
import { DEMO_TASK } from "./demo-script.ts";

const COMMAND = "sous demo";

const OPTIONS = {
  ...DISPLAY_OPTIONS,
  "db-path": { type: "string" },
  config: { type: "string" },
  ephemeral: { type: "boolean", default: false },
  "require-store": { type: "boolean", default: false },
} as const;

export async function demo(parameters: readonly string[]): Promise<number> {
  const { values, positionals } = readOptions(COMMAND, parameters, OPTIONS);
  refusePositionals(COMMAND, positionals);
  const display = { color: readColor(values.color), isAscii: values.ascii };
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
  const { clock, runtime, agent } = await assembleDemo(place.cwd, {
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
    tell(`The run is stored: sous replay --tree --id ${result.runId}${again}`);
  return exitCodeOf(result, interrupt.exitCode());
}
