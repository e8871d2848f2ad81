/** The parts of a history that a provider can be sent: it refuses a whole request for one that it does not take. */

import type { AssistantMessage, FilePart, Message, ProviderPart } from "../../core/message.ts";

/** Calls of the provider that one history was sent with: only their results are. Undefined while there is none. */
export type SentCalls = { sentCalls: Set<string> | undefined };

/**
 * The message without what its provider did, as far as this one cannot be told of it: parts of another provider, notes, a call
 * whose result never came, and a result whose call was dropped. A provider refuses half a pair.
 */
export function sendable(
  message: AssistantMessage,
  next: Message | undefined,
  provider: string,
  sent: SentCalls,
): AssistantMessage {
  if (!message.content.some(isOfProvider)) return message;
  const parts = message.content.filter(isOfProvider);
  const results = new Set(parts.filter(({ kind }) => kind === "result").map(({ callId }) => callId));
  // The result comes in the next answer when the provider has paused, or waits for a tool of ours that it called itself.
  const mayBeOpen = next === undefined || next.role === "assistant" || next.role === "tool";
  const content = message.content.filter((part) => {
    if (part.type !== "provider") return true;
    if (part.from !== provider || part.kind === "note") return false;
    if (part.kind === "result") return sent.sentCalls?.has(part.callId) === true;
    const isSent = results.has(part.callId) || mayBeOpen;
    if (isSent) sent.sentCalls = (sent.sentCalls ?? new Set()).add(part.callId);
    return isSent;
  });
  return { ...message, content };
}

function isOfProvider(part: AssistantMessage["content"][number]): part is ProviderPart {
  return part.type === "provider";
}

/** Pictures that no provider takes, or only some. */
const OTHER_PICTURES = /^image\/(?:svg|bmp|x-|tiff|vnd\.|avif|heic|heif)/;

/** `provider` as the AI SDK names it. Pictures and PDF are for all; Gemini hears and sees the rest. */
export function takesFile(provider: string, mediaType: string): boolean {
  if (mediaType === "application/pdf") return true;
  if (mediaType.startsWith("image/")) return !OTHER_PICTURES.test(mediaType);
  return provider.startsWith("google.") && /^(?:audio|video)\//.test(mediaType);
}

/** The text that the model reads in place of a file that it cannot take. */
export function notShown({ mediaType, filename, data }: FilePart): string {
  const name = filename === undefined ? "" : ` ${filename}`;
  const isAddress = /^https?:/.test(data);
  const size = isAddress ? "" : `, ${Math.ceil((data.length * 3) / 4 / 1024)} KB`;
  return `[The file${name} (${mediaType}${size}) is not shown: this model does not take files of this type.]`;
}
