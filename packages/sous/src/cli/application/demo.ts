/** The runtime and the agent of `sous demo`. Everything is real but the model. */

import { type AgentDefinition, agent } from "../../core/agent.ts";
import type { Clock } from "../../core/clock.ts";
import type { RuntimeOptions } from "../../core/runtime.ts";
import { systemHost } from "../../host.ts";
import { createRuntime, type Runtime } from "../../runtime.ts";
import { scriptedModel } from "../../testing/scripted-model.ts";
import { readOnlyTools } from "../../tools/read-only.ts";
import { DEMO_MAX_DEPTH, DEMO_MODEL, demoAnswer } from "../commands/demo-script.ts";

type Demo = { clock: Clock; runtime: Runtime; agent: AgentDefinition };

export function assembleDemo(cwd: string, keep: Pick<RuntimeOptions, "store" | "requireStore">): Demo {
  const host = systemHost({ cwd });
  const lead = agent({
    name: "lead",
    instructions: "You lead three children and put their answers together.",
    model: scriptedModel({ "**": demoAnswer }, { id: DEMO_MODEL, price: { input: 0, output: 0 }, clock: host.clock }),
    tools: readOnlyTools(),
    delegate: true,
  });
  const runtime = createRuntime({ host, ...keep, limits: { maxDepth: DEMO_MAX_DEPTH } });
  return { clock: host.clock, runtime, agent: lead };
}
