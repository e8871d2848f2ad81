/**
 * A process whose lead hands a task to an external agent, sends it a second one, and kills itself at a given place: at the nth
 * event that is shown or line that is exchanged with the agent. It says `ready`, waits for its order on stdin, and says `r` and
 * the result, if it comes so far.
 */

import { writeSync } from "node:fs";
import * as z from "zod";
import { acpClientOn } from "../../src/acp-client.ts";
import { openPrograms } from "../../src/app/process/programs.ts";
import { agent } from "../../src/core/agent.ts";
import type { ModelRequest } from "../../src/core/model.ts";
import type { Programs, TalkingProgram } from "../../src/core/process.ts";
import { tool } from "../../src/core/tool.ts";
import { externalTools } from "../../src/runtime/subagents/register.ts";
import { createRuntime } from "../../src/runtime.ts";
import { openSqliteStore } from "../../src/storage/store/sqlite/store.ts";
import { scriptedModel } from "../../src/testing/scripted-model.ts";
import { calls, says } from "../../src/testing/steps.ts";

export type DelegateOrder = {
  readonly folder: string;
  /** The program of the external agent. */
  readonly agentProgram: string;
  /** Where it dies; never when unset. */
  readonly place?: number | undefined;
  /** The run to continue. */
  readonly runId?: string | undefined;
};

process.stdin.once("data", (data: Buffer) => void work(JSON.parse(data.toString()) as DelegateOrder));
process.stdin.on("end", () => process.exit());
say("ready");

let places = 0;

async function work({ folder, agentProgram, place, runId }: DelegateOrder): Promise<void> {
  const pass = (): void => {
    places += 1;
    if (places === place) process.kill(process.pid, "SIGKILL");
  };
  try {
    await using store = await openSqliteStore(`${folder}/runs.db`);
    await using programs = openPrograms({ environment: process.env, stateFolder: `${folder}/state` });
    await using client = acpClientOn(counted(programs, pass), {
      servers: { other: { command: process.execPath, args: [agentProgram, folder], maxCostUsd: 0.1 } },
      cwd: folder,
    });
    const model = scriptedModel({ lead: nextOf }, { price: { input: 1, output: 1 } });
    const lead = agent({ name: "lead", model, delegate: true, tools: [...externalTools(client), terminal] });
    const runtime = createRuntime({ store, approve: () => ({ allow: true }), host: { cwd: folder } });
    const budget = { tokens: 200_000, costUsd: 5 };
    const handle =
      runId === undefined
        ? runtime.run(lead, "Go.", { onEvent: pass, budget })
        : runtime.resume(runId, { agent: lead, onEvent: pass });
    say(`i ${handle.id}`);
    const { status, text, usage } = await handle.result;
    say(`r ${JSON.stringify({ status, text, usage, places })}`);
  } catch (error) {
    say(`x ${JSON.stringify(String((error as Error).stack))}`);
  }
  process.stdin.destroy();
}

/** Approval of the agent is asked in the words of this tool; it is never called. */
const terminal = tool({
  name: "terminal",
  description: "Runs a command.",
  tier: "confirm",
  inputSchema: z.object({ command: z.string() }),
  execute: () => "never",
});

/** Follows from the request alone: the process that continues knows nothing else. */
function nextOf({ messages }: ModelRequest) {
  const results = messages.flatMap((message) => (message.role === "tool" ? message.content : []));
  const [first, second] = results;
  const [, id] = (first?.output ?? "").match(/subagent_id: (\w+)/) ?? [];
  if (first === undefined) return calls("subagent_delegate", { task: "Fix a.", description: "fix" });
  if (second === undefined && id !== undefined) return calls("subagent_send", { subagent_id: id, message: "Now b." });
  return says(results.map(({ output }) => output.split("\n")[0]).join(" | "));
}

/** Counts the lines in both directions as places to die at: just before one is sent, and just after one was read. */
function counted(programs: Programs, pass: () => void): Programs {
  return {
    run: (request) => programs.run(request),
    start: (request) => programs.start(request),
    find: (program) => programs.find(program),
    async talk(request) {
      pass();
      const program = await programs.talk(request);
      const counting: TalkingProgram = {
        pid: program.pid,
        get droppedLines() {
          return program.droppedLines;
        },
        ended: program.ended,
        errors: () => program.errors(),
        send(line) {
          pass();
          return program.send(line);
        },
        lines: passing(program.lines, pass),
        close: () => program.close(),
        [Symbol.asyncDispose]: () => program[Symbol.asyncDispose](),
      };
      return counting;
    },
    [Symbol.asyncDispose]: () => programs[Symbol.asyncDispose](),
  };
}

async function* passing(lines: AsyncIterable<string>, pass: () => void): AsyncIterable<string> {
  for await (const line of lines) {
    pass();
    yield line;
  }
}

/** At once: what is said before a death is heard. */
function say(line: string): void {
  writeSync(1, `${line}\n`);
}
