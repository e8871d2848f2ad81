/**
 * Reads one model stream to its end and makes an answer of it. A tool call counts only after a proper finish: providers
 * hand out calls with half their arguments when a connection is cut (shown by `test/unit/runtime/model/streams.test.ts`, R7).
 */

import type { ReadableStreamReadResult } from "node:stream/web";
import type {
  LanguageModelV4StreamPart,
  LanguageModelV4ToolCall,
  LanguageModelV4ToolResult,
  SharedV4Warning,
} from "@ai-sdk/provider";
import { ModelError } from "../../core/errors.ts";
import type { AssistantMessage, ProviderData, ProviderPart } from "../../core/message.ts";
import type { FinishReason, ModelAnswer, OnDelta } from "../../core/model.ts";
import { answerTooLarge, MAX_ANSWER_BYTES } from "./check-answer.ts";
import { classifyError } from "./classify-error.ts";
import { type AskedModel, countBegun, countCalls, noteOf, Sources, toUsage } from "./provider-calls.ts";
import { keepProviderData, parseInput, toFile, toToolCall } from "./stream-parts.ts";
import { factsOf, noteFacts } from "./wire-facts.ts";

type Reading = {
  /** `provider/model`, for messages. */
  id: string;
  signal: AbortSignal;
  onDelta: OnDelta;
  asked: AskedModel;
};

type Stream = ReadableStream<LanguageModelV4StreamPart>;

/** Throws a `ModelError` for a stream that fails or stops early, and the signal's reason when it was aborted. */
export async function readAnswer(stream: Stream, reading: Reading): Promise<ModelAnswer> {
  const { id, signal } = reading;
  const reader = stream.getReader();
  const gathered = new GatheredAnswer(reading);
  let isOpen = true;
  try {
    while (isOpen) {
      let next: ReadableStreamReadResult<LanguageModelV4StreamPart>;
      // Only errors of reading belong to the provider; errors of `onDelta` pass through.
      try {
        next = await reader.read();
      } catch (error) {
        isOpen = false;
        signal.throwIfAborted();
        // The answer was complete before the connection broke.
        if (gathered.finish !== undefined) break;
        // Output that had arrived and was not yet read is lost with the stream, so assume there was some.
        throw classifyError(error, { id, phase: "stream", afterOutput: true });
      }
      if (signal.aborted) signal.throwIfAborted();
      if (next.done) isOpen = false;
      else gathered.take(next.value);
    }
  } finally {
    // Left early: release the connection.
    if (isOpen) reader.cancel().catch(() => {});
  }
  const { broken } = factsOf(signal);
  if (broken !== undefined) throw broken; // guard: broken-body
  return gathered.finished();
}

type Part = AssistantMessage["content"][number];
type Block = { type: "text" | "reasoning"; text: string; provider?: ProviderData };
type Finish = Extract<LanguageModelV4StreamPart, { type: "finish" }>;

/** The parts of one answer in the order in which they began. */
class GatheredAnswer {
  finish: Finish | undefined;
  hasOutput = false;
  #size = 0;
  readonly #id: string;
  readonly #signal: AbortSignal;
  readonly #onDelta: OnDelta;
  readonly #parts: Part[] = [];
  readonly #text = new Map<string, Block>();
  /** The maps are made when they are needed, as few answers do. */
  #reasoning: Map<string, Block> | undefined;
  /** The calls whose input comes in pieces. */
  #inputs: Set<string> | undefined;
  #sources: Sources | undefined;
  readonly #asked: AskedModel;

  constructor({ id, signal, onDelta, asked }: Reading) {
    this.#id = id;
    this.#signal = signal;
    this.#onDelta = onDelta;
    this.#asked = asked;
  }

  /** Ignores part types that are not used here or not yet known, and what a proxy sends behind the end of the message. */
  take(part: LanguageModelV4StreamPart): void {
    if (this.finish !== undefined && part.type !== "error") return;
    this.#grow(sizeOf(part));
    switch (part.type) {
      case "text-delta":
        this.#append("text", part);
        return;
      case "reasoning-delta":
        this.#append("reasoning", part);
        return;
      case "text-start":
        keepProviderData(this.#open("text", part.id), part.providerMetadata);
        return;
      case "reasoning-start":
        this.#onDelta("hidden", "");
        keepProviderData(this.#open("reasoning", part.id), part.providerMetadata);
        return;
      case "text-end":
        keepProviderData(this.#text.get(part.id), part.providerMetadata);
        return;
      case "reasoning-end":
        keepProviderData(this.#reasoning?.get(part.id), part.providerMetadata);
        return;
      case "tool-input-start":
        this.hasOutput = true;
        this.#inputs ??= new Set();
        this.#inputs.add(part.id);
        this.#onDelta("tool-input", part.toolName);
        return;
      case "tool-input-delta":
        this.#onDelta("tool-input", part.delta);
        return;
      case "tool-call":
        this.hasOutput = true;
        if (this.#inputs?.has(part.toolCallId) !== true) {
          this.#grow(part.input.length);
          this.#onDelta("tool-input", part.toolName + part.input);
        }
        if (part.providerExecuted === true) this.#takeCallThere(part);
        else this.#parts.push(toToolCall(part));
        return;
      case "tool-result":
        // Only a provider that has made the call itself sends one. A preliminary one is followed by another.
        if (part.preliminary === true) return;
        this.hasOutput = true;
        this.#takeResultThere(part);
        return;
      case "source":
        this.#sources ??= new Sources();
        this.#grow(this.#sources.add(part));
        return;
      case "stream-start":
        this.#refuseDropped(part.warnings);
        return;
      case "file": {
        const file = toFile(part);
        this.hasOutput = true;
        this.#onDelta("hidden", "");
        this.#grow(file.data.length);
        this.#parts.push(file);
        return;
      }
      case "error":
        throw (
          factsOf(this.#signal).broken ??
          classifyError(part.error, { id: this.#id, phase: "stream", afterOutput: this.hasOutput })
        );
      case "finish":
        this.finish = part;
        return;
    }
  }

  finished(): ModelAnswer {
    const finish = this.#properFinish();
    const mayCall = finish !== "length" && finish !== "content-filter";
    const content: Part[] = [];
    for (const part of this.#parts) {
      if (part.type === "tool-call" && !mayCall) continue;
      if (part.type === "text" || part.type === "reasoning") {
        // A block without text may still carry a signature.
        if (part.text === "" && part.provider === undefined) continue;
        if (!part.text.isWellFormed()) part.text = part.text.toWellFormed();
      }
      content.push(part);
    }
    const note = noteOf(this.#sources, this.finish, this.#asked);
    if (note !== undefined) content.push(note);
    const usage = toUsage(this.finish?.usage, this.hasOutput);
    const providerCalls = countCalls(this.#parts, this.finish, this.#asked);
    const answer: ModelAnswer = { message: { role: "assistant", content }, finish, usage };
    return providerCalls === undefined ? answer : { ...answer, providerCalls };
  }

  #takeCallThere(part: LanguageModelV4ToolCall): void {
    const { toolCallId: callId, toolName, input } = part;
    const call: ProviderPart = {
      ...{ type: "provider", kind: "call", from: this.#asked.provider, callId, toolName },
      value: parseInput(input),
    };
    keepProviderData(call, part.providerMetadata);
    this.#parts.push(call);
    // The provider writes more than it shows while it runs a tool of its own.
    this.#onDelta("hidden", "");
    noteFacts(this.#signal, { countCalls: () => countBegun(this.#parts, this.#asked) });
  }

  #takeResultThere(part: LanguageModelV4ToolResult): void {
    const { toolCallId: callId, toolName, result: value, isError } = part;
    const result: ProviderPart = {
      ...{ type: "provider", kind: "result", from: this.#asked.provider, callId, toolName, value },
      ...(isError === true && { isError }),
    };
    keepProviderData(result, part.providerMetadata);
    this.#parts.push(result);
    const size = JSON.stringify(value)?.length ?? 0;
    this.#grow(size);
    // The model reads the result before it continues.
    const { readBytes = 0 } = factsOf(this.#signal);
    noteFacts(this.#signal, { readBytes: readBytes + size });
  }

  /** An adapter leaves out tools of the provider that the model does not have, and says so here. */
  #refuseDropped(warnings: readonly SharedV4Warning[]): void {
    for (const warning of warnings) {
      if (warning.type !== "unsupported" || !warning.feature.includes("provider-defined tool")) continue;
      const why = warning.details === undefined ? "" : `: ${warning.details}`;
      throw new ModelError("invalid_request", `${this.#id} does not take these tools (${warning.feature})${why}`);
    }
  }

  #append(kind: Block["type"], part: Extract<LanguageModelV4StreamPart, { delta: string }>): void {
    const blocks = kind === "text" ? this.#text : this.#reasoning;
    const block = blocks?.get(part.id) ?? this.#open(kind, part.id);
    if (part.providerMetadata !== undefined) keepProviderData(block, part.providerMetadata);
    if (part.delta === "") return;
    this.hasOutput = true;
    block.text += part.delta;
    this.#onDelta(kind, part.delta);
  }

  #grow(length: number): void {
    this.#size += length;
    if (this.#size > MAX_ANSWER_BYTES) throw answerTooLarge(this.#id);
  }

  #open(type: Block["type"], blockId: string): Block {
    const block: Block = { type, text: "" };
    if (type === "reasoning") this.#reasoning ??= new Map();
    (type === "text" ? this.#text : this.#reasoning)?.set(blockId, block);
    this.#parts.push(block);
    return block;
  }

  #properFinish(): FinishReason {
    const { unified, raw } = this.finish?.finishReason ?? { unified: "interrupted", raw: undefined };
    if (raw === PAUSED) return "paused";
    if (unified !== "error" && unified !== "interrupted") return unified; // guard: answer-needs-a-finish
    const why = raw === undefined || raw === "error" ? "" : ` (${raw})`;
    // Without a word about an error the server took the call and ended its answer early.
    const afterOutput = this.hasOutput || raw !== "error";
    throw new ModelError("interrupted", `${this.#id} stopped before it had finished its answer${why}`, { afterOutput });
  }
}

/** Anthropic pauses a long answer with tools of its own; asked again with what it said so far, it continues. */
const PAUSED = "pause_turn";
const DELTA_BYTES = 64;
const PART_BYTES = 1024;

/** The memory of a part, here and in its adapter; an empty part takes some too. */
function sizeOf(part: LanguageModelV4StreamPart): number {
  return "delta" in part ? Math.max(part.delta.length, DELTA_BYTES) : PART_BYTES;
}
