/** The prompts of a model, question by question, rebuilt from a recording; and the first difference of another prompt. */

import { withoutExternalMarks } from "../../core/data-mark.ts";
import type { Message } from "../../core/message.ts";
import { continuedConversation, rebuildConversation } from "../../core/read-history.ts";
import { isSubagentToolName } from "../../core/spawn.ts";
import { differenceInWords, firstDifference } from "./first-difference.ts";
import type { IdMap } from "./id-map.ts";
import type { Recording, RunRecording } from "./recording.ts";

export class RecordedPrompts {
  readonly #recording: Pick<Recording, "runs">;
  /** Questions come in their order, so each prompt is made from the one before. */
  readonly #latest = new WeakMap<RunRecording, { question: number; index: number; messages: Message[] }>();
  readonly #whole = new WeakMap<RunRecording, Message[]>();

  constructor(recording: Pick<Recording, "runs">) {
    this.#recording = recording;
  }

  /** The messages of the question with this number, counted from 0. A new array for each. */
  messages(run: RunRecording, question: number): readonly Message[] {
    const index = run.questions[question]?.index ?? run.events.length;
    const known = this.#latest.get(run);
    const before = known !== undefined && known.question <= question ? known : { index: 0, messages: this.origin(run) };
    const messages = rebuildConversation(run.events.slice(before.index, index), before.messages);
    this.#latest.set(run, { question, index, messages });
    return messages;
  }

  /** The messages that the conversation of a run began with, before its task. */
  origin({ start }: RunRecording): Message[] {
    const { origin } = start;
    if (origin === undefined) return [];
    if (origin.kind === "branch") return [...origin.history];
    const earlier = this.#recording.runs.get(origin.runId);
    if (earlier === undefined || earlier.start.seq >= start.seq) return [];
    if (origin.kind === "follow-up") return this.#all(earlier);
    const before = earlier.events.filter(({ seq }) => seq < start.seq);
    return rebuildConversation(before, this.origin(earlier)).slice(0, origin.messages);
  }

  #all(run: RunRecording): Message[] {
    const known = this.#whole.get(run) ?? continuedConversation(run.events, this.origin(run));
    this.#whole.set(run, known);
    return known;
  }
}

/** A request to a model, or the end of one: its messages from some point on. */
type Asked = { readonly instructions: string | undefined; readonly messages: readonly Message[] };

/** A sentence with the first difference of two requests; undefined when there is none. `from` messages were compared before. */
export function requestDifference(expected: Asked, found: Asked, ids: IdMap, from = 0): string | undefined {
  const instructions = ids.toRecorded(found.instructions);
  if (instructions !== expected.instructions) {
    const words = differenceInWords({ expected: expected.instructions, found: instructions });
    return `the instructions are not the recorded ones: ${words}`;
  }
  for (let index = 0; index < Math.max(expected.messages.length, found.messages.length); index++) {
    const message = comparable(ids.toRecorded(found.messages[index]));
    const difference = firstDifference(comparable(expected.messages[index]), message);
    if (difference === undefined) continue;
    const at = difference.at === "" ? "" : ` (${difference.at})`;
    return `the prompt is not the recorded one: message ${from + index + 1}${at}: ${differenceInWords(difference)}`;
  }
  return undefined;
}

/** Leaves out what may differ from run to run: how long children took, and an empty list where there could be none. */
function comparable(message: Message | undefined): unknown {
  if (message?.role !== "tool") return message;
  const content = message.content.map((part) => {
    const { files, ...rest } = part;
    const output = comparableOutput(part.toolName, part.output);
    return files === undefined || files.length === 0 ? { ...rest, output } : { ...rest, output, files };
  });
  return { role: message.role, content };
}

const DURATIONS = /"((?:total_)?duration_ms)":\d+/g;
const TOKENS = /"(tokens_consumed|tree_tokens|prompt_tokens|completion_tokens)":\d+/g;
const STATES = / {2}[a-z_]+ {2}\d+ turns?/g;

/** True for results that contain moments which are not recorded: how long children took, and what they were doing just then. */
export function tellsMoments(toolName: string): boolean {
  return toolName === "parallel_subagent" || toolName === "subagent_list";
}

/** A result without what it says of such moments, of tokens where those are estimates that may differ, and without our marks. */
export function comparableOutput(toolName: string, output: string, ignoresEstimates = false): string {
  if (toolName === "subagent_list") return output.replace(STATES, "  -");
  const words = isSubagentToolName(toolName) ? withoutExternalMarks(output) : output;
  if (toolName !== "parallel_subagent") return words;
  const timeless = words.replace(DURATIONS, '"$1":0');
  return ignoresEstimates ? timeless.replace(TOKENS, '"$1":0') : timeless;
}
