/** `sous demo`: a real tree of agents over real files, on a model that follows a script and says so. */

import { assembleDemo } from "../assemble.ts";
import { exitCodeOf, usageError } from "../exit-codes.ts";
import { inert, inertLine } from "../inert.ts";
import { catchInterrupts } from "../interrupts.ts";
import { openForRun, warnOfLoss } from "../keep-runs.ts";
import { DISPLAY_OPTIONS, readColor, readOptions, refusePositionals } from "../options.ts";
import { openOutput, tell } from "../output.ts";
import { treeLines } from "../tree.ts";
import { watchRun } from "../watch-run.ts";
import { DEMO_TASK } from "./demo-script.ts";

const COMMAND = "sous demo";

const OPTIONS = {
  ...DISPLAY_OPTIONS,
  "db-path": { type: "string" },
  ephemeral: { type: "boolean", default: false },
  "require-store": { type: "boolean", default: false },
} as const;

export async function demo(parameters: readonly string[]): Promise<number> {
  const { values, positionals } = readOptions(COMMAND, parameters, OPTIONS);
  refusePositionals(COMMAND, positionals);
  const display = { color: readColor(values.color), isAscii: values.ascii };
  const output = openOutput(process.stdout, display);
  const progress = openOutput(process.stderr, display);
  const isRequired = values["require-store"];
  if (isRequired && values.ephemeral) throw usageError("--ephemeral keeps nothing, and --require-store wants it kept");
  const dbPath = values["db-path"];
  await using store = await openForRun({ dbPath, isEphemeral: values.ephemeral, isRequired });
  output.printText("sous demo: real agents, tools, limits and files. The model is scripted: no key, no network.");
  using interrupt = catchInterrupts();
  const { signal } = interrupt;
  const { clock, runtime, agent } = await assembleDemo(process.cwd(), {
    store,
    requireStore: isRequired,
  });
  const { result, tree } = await watchRun({
    clock,
    style: progress.style,
    earlier: [],
    start: (onEvent) => runtime.run(agent, DEMO_TASK, { onEvent, signal }),
  });
  output.printText(`\n${inert(result.text)}\n`);
  output.print(treeLines(tree, output.columns, output.style));
  output.printText("\nTokens are counted as bytes ÷ 3: no real model was asked.");
  if (result.error !== undefined) tell(`error: ${inertLine(result.error.message)}`);
  else if (result.lost !== undefined) warnOfLoss(result.lost);
  else if (store !== undefined) tell(`The run is kept: sous replay --tree --id ${result.runId}${placeOf(dbPath)}`);
  return exitCodeOf(result, interrupt.exitCode());
}

/** What finds it again, when it is not where it is looked for. */
function placeOf(dbPath: string | undefined): string {
  if (dbPath === undefined) return "";
  const shown = inertLine(dbPath, 1000);
  return ` --db-path ${/^[\w./@:+-]+$/.test(shown) ? shown : JSON.stringify(shown)}`;
}
