/**
 * R12: how much memory a run takes whose tool prints 100 MB, and one that is asked 10 MB. In a process of its own, whose
 * highest point is told by the kernel: what is given back later counts, too.
 */

import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { openPrograms } from "../../src/app/process/programs.ts";
import { terminalTool } from "../../src/app/tools/terminal.ts";
import { agent } from "../../src/core/agent.ts";
import type { Programs } from "../../src/core/process.ts";
import { createRuntime } from "../../src/runtime.ts";
import { openSqliteStore } from "../../src/storage/store/sqlite/store.ts";
import { scriptedModel } from "../../src/testing/scripted-model.ts";
import { calls, says } from "../../src/testing/steps.ts";

export type MemoryFigure = {
  outputMegabytes: number;
  promptMegabytes: number;
  /** Resident memory at its highest, over what it was before. */
  outputGrowthMegabytes: number;
  promptGrowthMegabytes: number;
  /** What the model read of the output. */
  shownBytes: number;
};

export async function measureMemory(outputMegabytes: number, promptMegabytes: number): Promise<MemoryFigure> {
  const parameters = [
    "--expose-gc",
    "--conditions=sous-source",
    import.meta.filename,
    String(outputMegabytes),
    String(promptMegabytes),
  ];
  const environment = { ...process.env, NODE_OPTIONS: "", NODE_V8_COVERAGE: "" };
  const { stdout } = await promisify(execFile)(process.execPath, parameters, { env: environment });
  return JSON.parse(stdout) as MemoryFigure;
}

async function main(outputMegabytes: number, promptMegabytes: number): Promise<MemoryFigure> {
  const folder = mkdtempSync(join(tmpdir(), "sous-r12-"));
  try {
    await using programs = openPrograms({ environment: process.env });
    const print = (megabytes: number) => ask(programs, folder, "Print.", printing(megabytes));
    const hear = (megabytes: number) => ask(programs, folder, "word ".repeat(megabytes * 200_000), "true");
    // Once in small, so that code and buffers that stay are there before anything is measured.
    await print(1);
    await hear(0.1);
    const [outputGrowthMegabytes, shownBytes] = await growth(() => print(outputMegabytes));
    const [promptGrowthMegabytes] = await growth(() => hear(promptMegabytes));
    return { outputMegabytes, promptMegabytes, outputGrowthMegabytes, promptGrowthMegabytes, shownBytes };
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

function printing(megabytes: number): string {
  return `yes 'one line of the many that nobody will read to the end' | head -c ${megabytes * 1_000_000}`;
}

async function ask(programs: Programs, cwd: string, task: string, command: string): Promise<number> {
  await using store = await openSqliteStore(join(cwd, "runs.db"));
  const runtime = createRuntime({ store, approve: () => ({ allow: true }), host: { cwd } });
  let shownBytes = 0;
  const model = scriptedModel({ "**": [calls("terminal", { command }), says("Done.")] });
  const lead = agent({ name: "lead", model, tools: [terminalTool({ programs, timeoutMs: 60_000 })] });
  const { status } = await runtime.run(lead, task, {
    onEvent(event) {
      if (event.type === "tool-call-end") shownBytes = Buffer.byteLength(event.output);
    },
  });
  if (status !== "completed") throw new Error(`It ended as ${status}`);
  return shownBytes;
}

async function growth<T>(work: () => Promise<T>): Promise<[megabytes: number, result: T]> {
  globalThis.gc?.();
  // From here on the kernel looks for the highest point anew.
  writeFileSync("/proc/self/clear_refs", "5");
  const before = statusOf("VmRSS");
  const result = await work();
  return [Math.round((statusOf("VmHWM") - before) / 102.4) / 10, result];
}

/** In kilobytes. */
function statusOf(name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(readFileSync("/proc/self/status", "latin1"))?.[1]);
}

if (process.argv[1] === import.meta.filename) {
  const figure = await main(Number(process.argv[2]), Number(process.argv[3]));
  process.stdout.write(JSON.stringify(figure));
}
