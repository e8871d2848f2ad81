/** A headless run from its start to its end: its events to stdout, and signals to it. */

import type { AgentDefinition } from "../../core/agent.ts";
import { messageOf } from "../../core/errors.ts";
import { toTools } from "../../core/foreign-tool.ts";
import type { UserInput } from "../../core/message.ts";
import { type RunHandle, type RunResult, withoutRun } from "../../core/runtime.ts";
import type { Application } from "../application/open.ts";
import type { Interrupts, Patience } from "../terminal/interrupts.ts";
import { openOutput, tell } from "../terminal/output.ts";
import { inertLine } from "../terminal/text.ts";
import { treeLines } from "../view/tree-lines.ts";
import type { RunLog } from "./log.ts";
import type { RunOutput, StreamStart } from "./output.ts";
import type { RunRequest } from "./request.ts";
import { progressStyle, type Renderer, watchRun } from "./watch.ts";

export type HeadlessRun = {
  request: RunRequest;
  application: Application;
  agent: AgentDefinition;
  task: UserInput;
  output: RunOutput;
  log: RunLog | undefined;
};

export type Stops = { interrupts: Interrupts; patience: Patience };

export async function watchHeadless(headless: HeadlessRun, stops: Stops): Promise<RunResult> {
  const { request, application, agent, task, output, log } = headless;
  const { runtime, runOptions, clock } = application;
  const { signal } = stops.interrupts;
  const progress = openOutput(process.stderr, request.display);
  const isStream = request.format === "stream-json";
  const style = isStream ? undefined : progressStyle(progress.style, request.flags.log, log);
  const facts = await startFacts(application);
  const { result, tree } = await watchRun({
    clock,
    style,
    start: (show) => {
      const onEvent = log === undefined ? show : [show, log.onEvent];
      return runtime.run(agent, task, { ...runOptions, signal, onEvent });
    },
    wait: (handle, renderer) => {
      const following = output.follow(handle, { runId: handle.id, ...facts }).catch((error: unknown) => {
        tell(`warning: not every event was shown: ${inertLine(messageOf(error))}`);
      });
      return untilEnd(handle, { renderer, following }, stops);
    },
  });
  // Plain lines have said all of it; a live region leaves nothing behind.
  if (style?.isLive === true) progress.print(treeLines(tree, progress.columns, progress.style));
  return result;
}

type Shown = { renderer: Renderer; following: Promise<void> };

async function untilEnd(handle: RunHandle, shown: Shown, { interrupts, patience }: Stops): Promise<RunResult> {
  const wrapUp = (): void => {
    // The region comes back below the line with the next event.
    shown.renderer[Symbol.dispose]();
    tell("wrapping up: tools and children are stopped; once more stops at once");
    handle.cancel(undefined, { mode: "last-words" });
  };
  if (interrupts.wrapUp.aborted) wrapUp();
  else interrupts.wrapUp.addEventListener("abort", wrapUp, { once: true });
  await patience.wait(Promise.allSettled([handle.result, shown.following]));
  interrupts.wrapUp.removeEventListener("abort", wrapUp);
  return (await patience.wait(handle.result)) ?? LEFT;
}

const LEFT: RunResult = withoutRun("cancelled", {
  type: "cancelled",
  message: "The run was told to stop, and did not confirm it",
});

async function startFacts({ agent, agents, configuration }: Application): Promise<Omit<StreamStart, "runId">> {
  const { default: manifest } = await import("../../../package.json", { with: { type: "json" } });
  return {
    path: agent.name,
    version: manifest.version,
    model: configuration.model ?? null,
    cwd: process.cwd(),
    tools: toTools(agent.tools).map(({ name }) => name),
    agents: agents.map(({ name }) => name),
  };
}
