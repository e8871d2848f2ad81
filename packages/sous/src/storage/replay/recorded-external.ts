/** The outside of a rerun: external agents play their recorded sessions, and people and programs act as they did. */

import { ignore, ModelError } from "../../core/errors.ts";
import type { EventOf, StoredEvent } from "../../core/event.ts";
import {
  type ExternalAgent,
  type ExternalAgents,
  type ExternalAnswer,
  type ExternalHost,
  type ExternalSession,
  externalModel,
  SessionLost,
} from "../../core/external-agent.ts";
import { textOf } from "../../core/message.ts";
import { isExternalModel, type Model } from "../../core/model.ts";
import { type CancelMode, isSubagentToolName } from "../../core/spawn.ts";
import type { Conductor, ExternalAct } from "./conductor.ts";
import type { IdMap } from "./id-map.ts";
import type { Playback } from "./playback.ts";
import type { Recording, RunRecording } from "./recording.ts";
import { isPassedOn, wasStopped } from "./stops.ts";

/** The model of a recorded run of an external agent; undefined for every other run. */
export function recordedExternalModel(run: RunRecording, playback: ExternalPlayback): Model | undefined {
  const { model } = run.start;
  if (!isExternalModel(model)) return undefined;
  // The name of its server may be written otherwise than in the id.
  return { ...externalModel(recordedExternalAgent(run, playback)), id: model };
}

/** The external agents of a recording by name, for definitions that name one. Each run of them is played by its own. */
export function recordedExternalAgents({ runs }: Pick<Recording, "runs">): ExternalAgents {
  const starts = [...runs.values()].map(({ start }) => start).filter(({ model }) => isExternalModel(model));
  const names = new Map(starts.map((start) => [nameIn(start.model), start.timeoutMs]));
  return {
    serverNames: [...names.keys()],
    externalAgent: (serverName = "") => unplayedAgent(serverName, names.get(serverName)),
  };
}

/** One that was asked about and never ran, or is not in the recording. */
export function unplayedAgent(serverName: string, timeoutMs?: number | undefined): ExternalAgent {
  const open = () => Promise.reject(new ModelError("invalid_request", `The recording has no session of ${serverName}`));
  return { serverName, maxCostUsd: undefined, timeoutMs, open };
}

function nameIn(model: string): string {
  return model.slice(model.indexOf("/") + 1);
}

/** The part of a playback that it needs. */
type ExternalPlayback = {
  readonly conductor: Pick<Conductor, "turn" | "closing">;
  readonly ids: Pick<IdMap, "toActual">;
};

export function recordedExternalAgent(run: RunRecording, playback: ExternalPlayback): ExternalAgent {
  const [prompts, session] = [promptsOf(run), run.events.find((event) => event.type === "outside-session")];
  const reserved = run.events.find((event) => event.type === "turn-start")?.reservedUsd;
  return {
    serverName: session?.server ?? nameIn(run.start.model),
    maxCostUsd: reserved,
    // The run itself has the time that it had.
    timeoutMs: undefined,
    async open({ sessionId, signal }, host) {
      if (session === undefined) {
        await playback.conductor.turn(run.end, signal);
        throw failureOf(run);
      }
      // The session was gone then, and another was opened without it.
      if (sessionId !== undefined && sessionId !== session.sessionId) throw new SessionLost("It was lost");
      await playback.conductor.turn(session, signal);
      return new RecordedSession(session.sessionId, { run, playback, prompts, host });
    },
  };
}

/** The events of one prompt: everything up to its answer, which is missing when the process ended before it. */
type RecordedPrompt = {
  readonly acts: readonly EventOf<"outside-call" | "approval-request">[];
  readonly answer: EventOf<"message-end"> | undefined;
};

function promptsOf({ events }: RunRecording): RecordedPrompt[] {
  const prompts: RecordedPrompt[] = [];
  let acts: RecordedPrompt["acts"][number][] = [];
  for (const event of events) {
    if (event.type === "outside-call" || event.type === "approval-request") acts.push(event);
    if (event.type !== "message-end") continue;
    prompts.push({ acts, answer: event });
    acts = [];
  }
  return [...prompts, { acts, answer: undefined }];
}

type SessionParts = {
  readonly run: RunRecording;
  readonly playback: ExternalPlayback;
  readonly prompts: RecordedPrompt[];
  readonly host: ExternalHost;
};

class RecordedSession implements ExternalSession {
  readonly id: string;
  readonly #parts: SessionParts;

  constructor(id: string, parts: SessionParts) {
    this.id = id;
    this.#parts = parts;
  }

  /** Plays the recorded acts and the recorded answer, each in its turn. A stop comes by itself, where it came then. */
  async prompt(_text: string, signal: AbortSignal): Promise<ExternalAnswer> {
    const { run, prompts, host } = this.#parts;
    const { acts, answer } = prompts.shift() ?? { acts: [], answer: undefined };
    for (const act of acts) {
      await this.#turn(act);
      this.#perform(act);
    }
    if (answer === undefined) {
      await this.#parts.playback.conductor.turn(undefined, signal);
      throw new Error("Unreachable: a prompt without an answer is answered");
    }
    const isLast = prompts[0]?.answer === undefined;
    const spent = { tokens: answer.usage.totalTokens, costUsd: answer.costUsd ?? undefined };
    if (isLast && run.end?.status === "budget_exceeded") {
      host.onUsage(spent);
      await untilAborted(signal);
    }
    await this.#turn(answer);
    host.onText(this.#parts.playback.ids.toActual(textOf(answer.message)));
    if (isLast && hasFailed(run, answer)) {
      host.onUsage(spent);
      throw failureOf(run);
    }
    return { stop: stopOf(answer), usage: { ...answer.usage }, costUsd: spent.costUsd };
  }

  async close(): Promise<void> {}

  /** A run that was stopped still had what was recorded after that; a rerun that is given up has nothing more. */
  async #turn(event: StoredEvent): Promise<void> {
    const { conductor } = this.#parts.playback;
    await conductor.turn(event, conductor.closing);
  }

  #perform(act: RecordedPrompt["acts"][number]): void {
    const { host, playback } = this.#parts;
    const { callId, input } = playback.ids.toActual(act);
    if (act.type === "approval-request") {
      // The answer comes in its own turn; other calls of the agent do not wait for it.
      const { toolName, toolReason: unclear } = act;
      host.approve({ callId, toolName, input, unclear, isRepeated: true }).catch(ignore);
      return;
    }
    const { phase, name, kind, title, output, isError } = playback.ids.toActual(act);
    host.onCall({ callId, phase, name, kind, title, input, output, isError });
  }
}

/** It was not answered: what is known of its bill is an estimate. */
function hasFailed({ end }: RunRecording, { finish, usage }: EventOf<"message-end">): boolean {
  return end?.status === "failed" && finish === "other" && usage.estimated;
}

function failureOf({ end }: RunRecording): ModelError {
  return new ModelError("unknown", end?.fault?.message ?? "The recorded agent failed");
}

function stopOf({ finish }: EventOf<"message-end">): ExternalAnswer["stop"] {
  switch (finish) {
    case "stop":
    case "paused":
    case "tool-calls":
      return "done";
    case "length":
      return "length";
    case "content-filter":
      return "refused";
    case "other":
      return "cancelled";
    default:
      return finish satisfies never;
  }
}

function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

/** The tree as a program outside of it sees it. */
type ExternalControl = {
  steer(path: string, text: string): void;
  send(path: string, message: string): void;
  cancel(path: string, mode: CancelMode): void;
};

/** Tells the conductor everything that came from outside. What runs did to each other they will do again. */
export function planExternalActs(
  playback: Pick<Playback, "recording" | "conductor" | "comparison" | "isStubbed">,
  control: ExternalControl,
): void {
  const { recording, conductor, comparison, isStubbed } = playback;
  for (const run of recording.runs.values()) {
    const { path, start, events } = run;
    if (start.depth > 0 && start.origin?.kind === "follow-up" && start.call === undefined) {
      const earlier = recording.runs.get(start.origin.runId)?.end;
      conductor.acts.push({
        key: start.seq - 0.5,
        atStartOf: undefined,
        isReady: () => earlier !== undefined && comparison.hasCome(earlier),
        perform: () => control.send(path, textOf(start.task)),
      });
    }
    const act = (at: StoredEvent, key: number, perform: () => void): ExternalAct => ({
      key,
      // A message before its first turn must reach the run in the moment it starts.
      atStartOf: at === start ? run.runId : undefined,
      isReady: () => at !== start && comparison.hasCome(at),
      perform,
    });
    let turnStart: StoredEvent = start;
    let heardUntil = start.seq;
    for (const event of events) {
      if (event.type === "turn-start") {
        turnStart = event;
        heardUntil = event.seq;
      } else if (event.type === "report")
        heardUntil = Math.max(heardUntil, recording.runs.get(event.childRunId)?.end?.seq ?? 0);
      else if (event.type === "steer" && !comesAgain(recording, run, event, isStubbed)) {
        // Read at the beginning of a turn: said since the one before, after the reports that stand before it.
        conductor.acts.push(act(turnStart, heardUntil + 0.5, () => control.steer(path, event.text)));
      } else if (event.type === "cancel" && !comesAgain(recording, run, event, isStubbed)) {
        // The stop of an ancestor brings it.
        if (isPassedOn(event, start) && wasStoppedAbove(run)) continue;
        conductor.cancels.push({ event, perform: () => control.cancel(path, event.mode) });
      }
    }
  }
  conductor.acts.sort((one, other) => one.key - other.key);
  conductor.cancels.sort((one, other) => one.event.seq - other.event.seq);
}

function wasStoppedAbove({ parent }: RunRecording): boolean {
  for (let above = parent; above !== undefined; above = above.parent) if (wasStopped(above)) return true;
  return false;
}

/** True for what a call of the runtime's own tools did, or a live tool: it does so again. */
function comesAgain(
  { paths }: Recording,
  { parent }: RunRecording,
  { callId }: EventOf<"cancel" | "steer">,
  isStubbed: boolean,
): boolean {
  if (callId === undefined) return false;
  // The call may be of a later run of the parent.
  const names = (paths.get(parent?.path ?? "") ?? []).map(({ calls }) => calls.get(callId)?.toolName ?? "");
  return !isStubbed || names.some(isSubagentToolName);
}
