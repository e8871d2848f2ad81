/** Tools that do nothing: they give back what the same call gave back when it was recorded. */

import { type AgentDefinition, agent } from "../../core/agent.ts";
import type { Hooks } from "../../core/approval.ts";
import { ApprovalNeeded, ignore } from "../../core/errors.ts";
import type { EventOf, StoredEvent } from "../../core/event.ts";
import { toTools } from "../../core/foreign-tool.ts";
import { textOf } from "../../core/message.ts";
import { isSubagentToolName, type SpawnRequest } from "../../core/spawn.ts";
import type { Tool, ToolContext, ToolResult, ToolTier } from "../../core/tool.ts";
import { utf8Length } from "../../core/usage.ts";
import type { Conductor } from "./conductor.ts";
import type { Playback } from "./playback.ts";
import type { RunRecording } from "./recording.ts";
import { isCancelledCall, wasStopped } from "./stops.ts";

type StubOptions = {
  playback: Playback;
  /** Tools run again instead of giving back what was recorded. */
  isLive: boolean;
  /** Makes the tool that hands its task to this agent. */
  namedTool(definition: AgentDefinition, tier: ToolTier): Tool;
};

/** The same definition gives the same stub, so that an agent that is listed twice is one agent. */
export function stubAgents(options: StubOptions): (definition: AgentDefinition) => AgentDefinition {
  const { playback, isLive, namedTool } = options;
  const known = new Map<AgentDefinition, AgentDefinition>();

  function stub(definition: AgentDefinition): AgentDefinition {
    const earlier = known.get(definition);
    if (earlier !== undefined) return earlier;
    const made = definition.with({
      tools: definition.tools === undefined ? undefined : toTools(definition.tools).map(stubOne),
      subagents: definition.subagents?.map(stub),
      // Their words are recorded.
      rules: undefined,
      hooks: isLive ? definition.hooks : stubHooks(definition.hooks),
    });
    known.set(definition, made);
    return made;
  }

  /** Only where there was one: a hook takes time, which changes the order of parallel runs. */
  function stubHooks(hooks: Hooks | undefined): Hooks | undefined {
    return hooks?.beforeToolCall === undefined ? undefined : replayHooks(playback);
  }

  function stubOne(source: Tool): Tool {
    if (source.category === "subagent" && source.agent !== undefined) return namedTool(stub(source.agent), source.tier);
    return isLive ? liveTool(source, playback) : stubTool(source, playback);
  }

  return stub;
}

/** The same tool as the model sees it; it does nothing. */
export function stubTool(source: Tool, playback: Playback): Tool {
  const { conductor, ids } = playback;
  const agreed = new Set<string>();
  return Object.freeze({
    ...source,
    execute(_input: unknown, context: ToolContext): ToolResult | Promise<ToolResult> {
      const run = playback.runOf(context.runId);
      const callId = ids.toRecorded(context.callId);
      const asked = run?.toolAsked.get(callId);
      const key = `${context.runId} ${callId}`;
      if (run !== undefined && asked !== undefined && !agreed.has(key))
        return askAgain(run, asked, context, { playback, onAllow: () => void agreed.add(key) });
      const children = run?.children.filter(({ start }) => start.call?.callId === callId) ?? [];
      const recorded = run && recordedResult(run, callId);
      const doneAt = recorded?.seq ?? Number.POSITIVE_INFINITY;
      const before = children.length > 0 ? spawnAgain(children, context, playback, doneAt) : undefined;
      if (run === undefined || recorded === undefined) {
        before?.catch(ignore);
        return untilStopped(conductor, context, run?.results.get(callId));
      }
      const result = ids.toActual(toToolResult(recorded, cutOf(run, callId)));
      if (before === undefined && neededNoTime(run, recorded)) return result;
      // A recorded result is given back also when its run was being stopped.
      return Promise.resolve(before)
        .then(() => conductor.turn(recorded, undefined))
        .then(() => result);
    },
  });
}

/** The tool asked by itself before it did anything: so does its stub, when it is its turn. */
function askAgain(
  run: RunRecording,
  asked: EventOf<"approval-request">,
  { signal }: ToolContext,
  { playback, onAllow }: { playback: Playback; onAllow: () => void },
): Promise<never> {
  const question = new ApprovalNeeded(asked.toolReason ?? "", onAllow);
  if (neededNoTime(run, asked)) throw question;
  return playback.conductor.turn(asked, signal).then(() => {
    throw question;
  });
}

/** Starts again the children that a call of a user's own tool had started, and waits for those it had waited for. */
async function spawnAgain(
  children: readonly RunRecording[],
  context: ToolContext,
  playback: Playback,
  doneAt: number,
): Promise<void> {
  const awaited: Promise<unknown>[] = [];
  for (const child of children) {
    const { start, runId, end } = child;
    if (!playback.startedAtOnce(child)) await playback.conductor.turn(start, context.signal);
    const spawned =
      start.agentId === runId
        ? context.spawn(requestFor(child, playback))
        : context.children.send(playback.ids.toActual(start.agentId), textOf(start.task));
    // A tool may leave its child behind.
    if (end !== undefined && end.seq < doneAt) awaited.push(spawned);
    else spawned.catch(ignore);
  }
  await Promise.all(awaited);
}

/** The recorded profile says what the child is. */
function requestFor({ start }: RunRecording, { respawned }: Playback): SpawnRequest {
  const { label, task, call, agent: name, rights, summaryPrompt } = start;
  const isMadeUp = name === "subagent";
  const request: SpawnRequest = {
    label,
    task: textOf(task),
    index: call?.index,
    agent: isMadeUp ? undefined : agent({ name }),
    options: {
      summaryPrompt,
      background: call?.background,
      allowedTools: isMadeUp && !rights.spawn ? rights.use : undefined,
    },
  };
  respawned.add(request);
  return request;
}

/** True when the call had ended before the next one of the same answer was looked at. */
function neededNoTime({ events }: RunRecording, end: StoredEvent): boolean {
  for (let index = events.indexOf(end) + 1; index < events.length; index++) {
    const type = events[index]?.type;
    if (type === "tool-call-start") return true;
    if (type === "turn-start" || type === "message-end" || type === "run-end") return false;
  }
  return false;
}

/** A call that was stopped, or whose end was not seen. Some heed their signal at once, others take a while. */
async function untilStopped(
  conductor: Conductor,
  { signal }: ToolContext,
  end: StoredEvent | undefined,
): Promise<never> {
  try {
    await conductor.turn(undefined, signal);
  } finally {
    if (end !== undefined) await conductor.turn(end, undefined);
  }
  throw signal.reason;
}

/** The tool as it is; its result is handed on when the recorded one was, so that live calls end in the same order. */
export function liveTool(source: Tool, playback: Playback): Tool {
  return Object.freeze({
    ...source,
    execute(input: unknown, context: ToolContext): unknown {
      const run = playback.runOf(context.runId);
      const recorded = run && recordedResult(run, playback.ids.toRecorded(context.callId));
      // A person would have been asked before: a rule of the user did not allow it.
      if (recorded?.metadata?.error_type === "consent") return toToolResult(recorded, undefined);
      const value = source.execute(input, context);
      if (recorded === undefined) return value;
      return playback.conductor.afterLive(recorded, Promise.resolve(value));
    },
  });
}

/** Does what stubs cannot do by themselves: a call that a hook had refused or answered was never put to a person. */
function replayHooks(playback: Playback): Hooks {
  const { ids, conductor } = playback;
  return {
    beforeToolCall(call) {
      const run = playback.runOf(call.runId);
      const callId = ids.toRecorded(call.callId);
      const recorded = run && recordedResult(run, callId);
      if (run === undefined || recorded === undefined || run.asked.has(callId) || run.toolAsked.has(callId))
        return undefined;
      const made = run.children.some(({ start }) => start.call?.callId === callId);
      if (made || isSubagentToolName(call.toolName)) return undefined;
      const result = ids.toActual(toToolResult(recorded, cutOf(run, callId)));
      return conductor.turn(recorded, undefined).then(() => ({ result }));
    },
  };
}

/** Undefined when the call was never answered, or only because its run was stopped. */
function recordedResult(run: RunRecording, callId: string): EventOf<"tool-call-end"> | undefined {
  const result = run.results.get(callId);
  if (result === undefined || !isCancelledCall(result) || !wasStopped(run)) return result;
  const wentOn = run.events.some(({ type, seq }) => type === "turn-start" && seq > result.seq);
  return wentOn ? result : undefined;
}

function cutOf({ events }: RunRecording, callId: string): EventOf<"truncation"> | undefined {
  const isCut = (event: StoredEvent): event is EventOf<"truncation"> =>
    event.type === "truncation" && event.subject === "tool-result" && event.of === callId;
  return events.find(isCut);
}

function toToolResult(recorded: EventOf<"tool-call-end">, cut: EventOf<"truncation"> | undefined): ToolResult {
  const { isError, metadata, files: documents } = recorded;
  const output = cut === undefined ? recorded.output : uncut(recorded.output, cut);
  return isError
    ? { success: false, output: "", error: output, metadata, documents }
    : { success: true, output, metadata, documents };
}

/** A text of the length it had, which is cut at the same index again: what was between is not known. */
function uncut(output: string, { originalBytes, keptBytes }: EventOf<"truncation">): string {
  const notice = `\n[Notice: ${originalBytes - keptBytes} of ${originalBytes} bytes were cut here]\n`;
  const [head, tail] = splitAt(output, notice, Math.floor(output.length / 2));
  const missing = originalBytes - utf8Length(head) - utf8Length(tail);
  // A character of four bytes on each side does not fit where the next one did not.
  return missing < 8 ? head + "?".repeat(Math.max(0, missing)) + tail : `${head}𝄞${"?".repeat(missing - 8)}𝄞${tail}`;
}

/** Splits at the notice nearest to the middle: a text may quote one. */
function splitAt(text: string, notice: string, middle: number): [head: string, tail: string] {
  let nearest = -1;
  for (let at = text.indexOf(notice); at >= 0; at = text.indexOf(notice, at + 1))
    if (nearest < 0 || Math.abs(at - middle) < Math.abs(nearest - middle)) nearest = at;
  return nearest < 0 ? [text, ""] : [text.slice(0, nearest), text.slice(nearest + notice.length)];
}
