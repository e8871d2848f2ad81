/** The application's composition root: from what a command needs to a runtime that has it. */

import { agent } from "../core/agent.ts";
import type { Clock } from "../core/clock.ts";
import type { EventListener } from "../core/event.ts";
import type { RunResult } from "../core/runtime.ts";
import { systemHost } from "../host.ts";
import { createRuntime } from "../runtime.ts";
import type { Answer, Script } from "../testing/script.ts";
import { scriptedModel } from "../testing/scripted-model.ts";
import { after, calls, says } from "../testing/steps.ts";
import { readOnlyTools } from "../tools/read-only.ts";
import { DEMO_MAX_DEPTH, DEMO_SCRIPT, DEMO_TASK, type DemoTurn } from "./commands/demo-script.ts";

export type Demo = {
  clock: Clock;
  run(onEvent: EventListener, signal: AbortSignal): PromiseLike<RunResult>;
};

/** Everything is real but the model. */
export function assembleDemo(cwd: string): Demo {
  const host = systemHost({ cwd });
  const script: Script = Object.fromEntries(
    Object.entries(DEMO_SCRIPT).map(([path, answer]) => [path, (request) => toAnswer(answer(request))]),
  );
  const lead = agent({
    name: "lead",
    instructions: "You lead three children and put their answers together.",
    model: scriptedModel(script, { id: "scripted/demo", price: { input: 0, output: 0 }, clock: host.clock }),
    tools: readOnlyTools(),
    delegate: true,
  });
  const runtime = createRuntime({ host, limits: { maxDepth: DEMO_MAX_DEPTH } });
  return { clock: host.clock, run: (onEvent, signal) => runtime.run(lead, DEMO_TASK, { onEvent, signal }) };
}

function toAnswer({ pauseMs, text, calls: called }: DemoTurn): Answer {
  return [
    after(pauseMs),
    ...(text === "" ? [] : [says(text)]),
    ...called.map(({ toolName, input }) => calls(toolName, input)),
  ];
}
