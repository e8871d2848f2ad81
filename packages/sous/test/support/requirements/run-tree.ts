/** One tree on a stage, from start to end, with what its root's tools returned to code. */

import type { AgentOptions } from "../../../src/core/agent.ts";
import type { HookCall } from "../../../src/core/approval.ts";
import type { RunHandle, RunOptions, RunResult, RuntimeOptions } from "../../../src/core/runtime.ts";
import type { Tool, ToolResult, ToolTier } from "../../../src/core/tool.ts";
import type { ParallelOutput } from "../../../src/runtime/subagents/parallel.ts";
import type { ScriptedModelOptions } from "../../../src/testing/scripted-model.ts";
import { calls, type Script, type Step } from "../../../src/testing/steps.ts";
import { openStage, type Stage, simpleTool } from "./support.ts";

export type TreePlan = {
  script: Script;
  /** What the root has besides its name (`lead`) and the model. */
  lead?: Partial<AgentOptions>;
  runtime?: RuntimeOptions;
  run?: RunOptions;
  model?: ScriptedModelOptions;
  /** Called when the tree was started: whoever acts from outside does so later, on the clock of the world. */
  during?: ((scene: Scene) => void) | undefined;
};

export type Scene = { handle: RunHandle; stage: Stage; at(milliseconds: number, act: () => void): void };

export type TreeTrial = {
  stage: Stage;
  result: RunResult;
  /** What the tools of the root returned, as code sees it. */
  returned: { call: HookCall; result: ToolResult }[];
};

export async function runTree({ script, lead, runtime, run, model, during }: TreePlan): Promise<TreeTrial> {
  const stage = openStage(script, { ...(runtime && { runtime }), ...(model && { model }) });
  const returned: TreeTrial["returned"] = [];
  const hooks = { afterToolCall: (call: HookCall, result: ToolResult) => void returned.push({ call, result }) };
  const handle = stage.start(stage.lead({ hooks, ...lead }), "Go.", run);
  during?.({ handle, stage, at: (milliseconds, act) => void stage.world.clock.ownTimer(milliseconds, act) });
  return { stage, result: await stage.end(handle), returned };
}

/** What the model at this path read as the results of its calls of this tool. */
export function readBy(stage: Stage, toolName: string, path = "lead"): string[] {
  return stage
    .eventsOf("tool-call-end", path)
    .filter((end) => end.toolName === toolName)
    .map((end) => end.output);
}

/** What the first `parallel_subagent` call at this path returned. */
export function parallelOutput(stage: Stage, path = "lead"): ParallelOutput {
  return JSON.parse(readBy(stage, "parallel_subagent", path)[0] ?? "null");
}

/** A call with these tasks; each has a task of its own unless it says which. */
export function inParallel(tasks: readonly Record<string, unknown>[], options: Record<string, unknown> = {}): Step {
  return calls("parallel_subagent", {
    tasks: tasks.map((task, index) => ({ task_prompt: `${task.label}, part ${index}`, ...task })),
    ...options,
  });
}

/** Label, success and what became of each task. */
export function inShort({ results }: ParallelOutput): unknown[] {
  return results.map(({ label, success, completion_status }) => [label, success, completion_status]);
}

export function statuses(result: RunResult): Record<string, string> {
  return Object.fromEntries(result.agents.map(({ path, status }) => [path, status]));
}

/** The paths of the runs in the order they started. */
export function startsOf(stage: Stage): string[] {
  return stage.eventsOf("run-start").map(({ path }) => path);
}

/** A tool that remembers every input it was run with. */
export function recordingTool(
  name: string,
  { tier = "observe", execute = () => `${name} is done` }: { tier?: ToolTier; execute?: Tool["execute"] } = {},
): Tool & { readonly inputs: unknown[] } {
  const inputs: unknown[] = [];
  const made = simpleTool(
    name,
    (input, context) => {
      inputs.push(input);
      return execute(input, context);
    },
    { tier, effect: "unsafe" },
  );
  return { ...made, inputs };
}

/** Work that ends only with its signal, and then says that it has stopped. */
export function untilStopped(onStopped: () => void): Tool["execute"] {
  return (_input, { signal }) =>
    new Promise((_resolve, reject) => {
      const stop = () => {
        onStopped();
        reject(signal.reason);
      };
      signal.addEventListener("abort", stop, { once: true });
    });
}
