/** Makes an answer fit for the history: calls that may run and have ids of their own, text a provider will take back. */

import type { AssistantMessage, ToolCallPart } from "../../core/message.ts";
import { isJson, isWellFormedJson } from "./to-json.ts";

type Part = AssistantMessage["content"][number];

/** A message of its own, with what may stay of this one. `usedIds` grows by the ids of the calls. */
export function cleanAnswer(message: AssistantMessage, mayCall: boolean, usedIds: Set<string>): AssistantMessage {
  const { content } = message;
  let cleaned: Part[] | undefined;
  for (let index = 0; index < content.length; index++) {
    const part = content[index];
    if (part === undefined) continue;
    const clean = cleanPart(part, mayCall, usedIds);
    if (clean !== part) cleaned ??= content.slice(0, index);
    if (cleaned !== undefined && clean !== undefined) cleaned.push(clean);
  }
  // A copy, also to save memory: an array that an adapter pushed to has room for 17 parts.
  return { role: "assistant", content: cleaned ?? content.slice() };
}

function cleanPart(part: Part, mayCall: boolean, usedIds: Set<string>): Part | undefined {
  switch (part.type) {
    case "tool-call":
      return mayCall ? withFreshId(wellFormedCall(part), usedIds) : undefined;
    case "text":
    case "reasoning":
      // Providers refuse blank text, but a signature that came with it must go back.
      if (part.provider === undefined && part.text.trim() === "") return undefined;
      return part.text.isWellFormed() ? part : { ...part, text: part.text.toWellFormed() };
    case "file":
    case "provider":
      return part;
    default:
      return part satisfies never;
  }
}

/** The call itself when nothing is wrong with it, which is nearly always. */
export function wellFormedCall(call: ToolCallPart): ToolCallPart {
  const callId = call.callId.toWellFormed();
  const toolName = call.toolName.toWellFormed();
  const input = wellFormedInput(call.input);
  if (input === call.input && callId === call.callId && toolName === call.toolName) return call;
  return { ...call, callId, toolName, input };
}

/** Replaces an input that is not JSON; no tool takes a text as its input. */
const NOT_JSON = "(an input that is not JSON)";

function wellFormedInput(input: unknown): unknown {
  if (input === undefined) return {};
  if (isWellFormedJson(input)) return input;
  return isJson(input) ? wellFormedValue(input) : NOT_JSON;
}

function wellFormedValue(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(wellFormedValue);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key.toWellFormed(), wellFormedValue(item)]));
}

/** Providers may repeat an id; a history in which two calls share one is refused by all of them. */
export function withFreshId(call: ToolCallPart, usedIds: Set<string>): ToolCallPart {
  let { callId } = call;
  // guard: one-id-per-call
  for (let copy = 2; callId === "" || usedIds.has(callId); copy++) callId = `${call.callId || "call"}_${copy}`;
  usedIds.add(callId);
  return callId === call.callId ? call : { ...call, callId };
}
