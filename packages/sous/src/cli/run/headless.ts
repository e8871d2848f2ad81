/** A headless run while it happens: its events to stdout or stderr, and signals to it. */

import type { AgentDefinition } from "../../core/agent.ts";
import { messageOf } from "../../core/errors.ts";
import type { EventListener } from "../../core/event.ts";
import type { UserInput } from "../../core/message.ts";
import { type RunResult, withoutRun } from "../../core/runtime.ts";
import type { Application } from "../application/application.ts";
import { inertLine } from "../terminal/inert.ts";
import type { Interrupts, Patience } from "../terminal/interrupts.ts";
import { openOutput, tell } from "../terminal/output.ts";
import { type Renderer, startRenderer } from "../view/renderer.ts";
import { treeLines } from "../view/tree-lines.ts";
import type { RunLog } from "./log.ts";
import type { RunOutput, StreamStart } from "./output.ts";
import type { RunRequest } from "./request.ts";

export type HeadlessRun = {
  request: RunRequest;
  application: Application;
  agent: AgentDefinition;
  task: UserInput;
  output: RunOutput;
  log: RunLog | undefined;
};

export type Stops = { interrupts: Interrupts; patience: Patience };

/** When this returns, the terminal is as it was. Throws what is thrown before the run begins, such as a missing key. */
export async function watchHeadless(headless: HeadlessRun, stops: Stops): Promise<RunResult> {
  const { request, application, log } = headless;
  const { flags, format, display } = request;
  const isLogged = log?.isOnStderr === true;
  // JSON on stdout or stderr has no other lines in between.
  const isShown = !flags.log.isQuiet && format !== "stream-json" && !(isLogged && flags.log.format === "json");
  if (!isShown) return follow(headless, stops, undefined);
  const progress = openOutput(process.stderr, display);
  // A live region and the lines of a log would draw over each other.
  const style = isLogged ? { ...progress.style, isLive: false } : progress.style;
  const renderer = startRenderer(process.stderr, style, application.clock);
  try {
    return await follow(headless, stops, renderer);
  } finally {
    renderer[Symbol.dispose]();
    // Plain lines have said all of it; a live region leaves nothing behind.
    if (style.isLive) progress.print(treeLines(renderer.tree, progress.columns, progress.style));
  }
}

async function follow(
  { application, agent, task, output, log }: HeadlessRun,
  { interrupts, patience }: Stops,
  renderer: Renderer | undefined,
): Promise<RunResult> {
  const { runtime, runOptions } = application;
  const facts = await startFacts(application);
  const onEvent: EventListener = (event) => {
    renderer?.onEvent(event);
    log?.onEvent(event);
  };
  const handle = runtime.run(agent, task, { ...runOptions, signal: interrupts.signal, onEvent });
  renderer?.follow(handle);
  const following = output.follow(handle, { runId: handle.id, ...facts }).catch((error: unknown) => {
    tell(`warning: not every event was shown: ${inertLine(messageOf(error))}`);
  });
  const wrapUp = (): void => {
    // It comes back below the line with the next event.
    renderer?.[Symbol.dispose]();
    tell("wrapping up: tools and children are stopped; once more stops at once");
    handle.cancel(undefined, { mode: "last-words" });
  };
  if (interrupts.wrapUp.aborted) wrapUp();
  else interrupts.wrapUp.addEventListener("abort", wrapUp, { once: true });
  await patience.wait(Promise.allSettled([handle.result, following]));
  interrupts.wrapUp.removeEventListener("abort", wrapUp);
  return (await patience.wait(handle.result)) ?? LEFT;
}

const LEFT: RunResult = withoutRun("cancelled", {
  type: "cancelled",
  message: "The run was told to stop, and did not say that it has",
});

async function startFacts({ agent, agents, configuration }: Application): Promise<Omit<StreamStart, "runId">> {
  const { default: manifest } = await import("../../../package.json", { with: { type: "json" } });
  const { tools = [] } = agent;
  const isList = (given: typeof tools): given is Extract<typeof tools, readonly unknown[]> => Array.isArray(given);
  return {
    path: agent.name,
    version: manifest.version,
    model: configuration.model ?? null,
    cwd: process.cwd(),
    tools: isList(tools) ? tools.map(({ name }) => name) : Object.keys(tools),
    agents: agents.map(({ name }) => name),
  };
}
