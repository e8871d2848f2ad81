/**
 * A process whose run has programs running in every way a model can start them. It says `begins` when the run does. The
 * first INT or TERM stops the run and closes everything, a second one ends the process at once.
 */

import { writeSync } from "node:fs";
import { openPrograms } from "../../src/app/process/programs.ts";
import { terminalTool } from "../../src/app/tools/terminal.ts";
import { agent } from "../../src/core/agent.ts";
import { createRuntime } from "../../src/runtime.ts";
import { scriptedModel } from "../../src/testing/scripted-model.ts";
import { calls, hangs, says } from "../../src/testing/steps.ts";

export type OrphanOrder = {
  folder: string;
  stateFolder: string;
  commands: readonly { command: string; background: boolean }[];
};

const order = JSON.parse(process.argv[2] ?? "") as OrphanOrder;
const programs = openPrograms({ stateFolder: order.stateFolder, environment: process.env });
const terminal = terminalTool({ programs, root: order.folder, timeoutMs: 60_000 });
const model = scriptedModel({
  lead: [order.commands.map((input) => calls("terminal", input)), [hangs()], [says("Done.")]],
});
const runtime = createRuntime({ approve: () => ({ allow: true }), host: { cwd: order.folder } });
const controller = new AbortController();
let signals = 0;
for (const [signal, code] of [["SIGINT", 130] as const, ["SIGTERM", 143] as const]) {
  process.on(signal, () => {
    signals += 1;
    process.exitCode = code;
    if (signals > 1) process.exit(code);
    controller.abort(new Error(signal));
    // At once, and not behind the end of the run: two grace periods one after another would be too long.
    void programs[Symbol.asyncDispose]();
  });
}
const handle = runtime.run(agent({ name: "lead", model, tools: [terminal] }), "Run them.", {
  signal: controller.signal,
});
writeSync(1, "begins\n");
await handle.catch(() => {});
await programs[Symbol.asyncDispose]();
