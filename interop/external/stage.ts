/** One tree: a lead of ours, a native child, and external agents that the lead hands tasks to. */

import { setTimeout as wait } from "node:timers/promises";
import { type AcpClient, type AcpServer, createAcpClient } from "../../packages/sous/src/acp.ts";
import { openPrograms } from "../../packages/sous/src/app/process/programs.ts";
import { builtInTools } from "../../packages/sous/src/app/tools/built-in.ts";
import { agent } from "../../packages/sous/src/core/agent.ts";
import type { ApprovalRequest } from "../../packages/sous/src/core/approval.ts";
import type { SousEvent } from "../../packages/sous/src/core/event.ts";
import type { Programs } from "../../packages/sous/src/core/process.ts";
import type { AgentSummary, RunHandle, RunOptions, RunResult } from "../../packages/sous/src/core/runtime.ts";
import { type Tool, ToolRegistry } from "../../packages/sous/src/core/tool.ts";
import { createRuntime, type Runtime, registerSubagentTools } from "../../packages/sous/src/runtime.ts";
import { LEAD, type Mock, type ToolCall, WORDS } from "./mock.ts";
import type { Place } from "./place.ts";

export type Stage = AsyncDisposable & {
  readonly runtime: Runtime;
  readonly events: SousEvent[];
  /** Every question that a person was asked. */
  readonly asked: ApprovalRequest[];
  /** Starts a tree whose root has this task. */
  run(task: string, options?: RunOptions): RunHandle<unknown>;
  /** Another message to a root that has ended. */
  resume(runId: string, message: string): Promise<RunResult>;
};

export type StageOptions = {
  mock: Mock;
  place: Place;
  servers: Record<string, AcpServer>;
  /** What the person says. */
  answer?: (request: ApprovalRequest) => boolean;
};

export function openStage({ mock, place, servers, answer = () => true }: StageOptions): Stage {
  const programs = openPrograms({ environment: process.env });
  const client = createAcpClient({ servers, cwd: place.cwd });
  const events: SousEvent[] = [];
  const asked: ApprovalRequest[] = [];
  const names = Object.keys(servers);
  const model = `openai-compatible/${LEAD}`;
  const lead = agent({ name: "lead", model, delegate: true, tools: toolsOf(programs, client) });
  const runtime = createRuntime({
    agents: [lead, ...names.map((name) => agent({ name, model: `external/${name}` }))],
    models: { external: client, prices: { [model]: { input: 1, output: 1 } } },
    onEvent: (event) => void events.push(event),
    host: { cwd: place.cwd, environment: { OPENAI_COMPATIBLE_BASE_URL: `${mock.url}/v1` } },
    approve: (request) => {
      asked.push(request);
      return answer(request) ? { allow: true } : { allow: false, reason: "not this one" };
    },
  });
  return {
    runtime,
    events,
    asked,
    run: (task, options) => runtime.run(lead, task, options),
    resume: (runId, message) => runtime.resume(runId, { message }).result,
    async [Symbol.asyncDispose]() {
      await client.dispose();
      await programs[Symbol.asyncDispose]();
    },
  };
}

function toolsOf(programs: Programs, client: AcpClient): Tool[] {
  const registry = new ToolRegistry(builtInTools({ programs }));
  registerSubagentTools(registry, { client });
  return [...registry];
}

/** A call that hands a task to an external agent. */
export function delegate(serverName: string, task: string): ToolCall {
  return { name: "subagent_delegate", input: { task, description: serverName, serverName } };
}

export const NATIVE: ToolCall = { name: "subagent", input: { label: "native", task_prompt: `${WORDS.say} native` } };

/** The agent of a tree with this label. */
export function agentOf({ agents }: RunResult, label: string): AgentSummary | undefined {
  return agents.find((each) => each.label === label);
}

/** Whether the usage of the tree is that of its agents. */
export function sumsAgree({ usage, agents }: RunResult): boolean {
  return usage.totalTokens === agents.reduce((sum, each) => sum + each.usage.totalTokens, 0);
}

/** Until the clock on the wall shows another minute: gemini-cli names its recordings by the minute. */
export async function nextMinute(): Promise<void> {
  await wait(61_000 - (Date.now() % 60_000));
}
