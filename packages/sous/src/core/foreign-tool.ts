/** AI SDK tools as they are: given a name and turned into ours. */

import type { FilePart } from "./message.ts";
import { type ForeignTool, type Tool, type ToolContext, type ToolList, type ToolResult, tool } from "./tool.ts";

/** The tools of a list or a record, all ours. */
export function toTools(list: ToolList | undefined): Tool[] {
  if (list === undefined) return [];
  if (Array.isArray(list)) return [...(list as readonly Tool[])];
  return Object.entries(list).map(([name, each]) => (isOurs(each) ? each : fromForeignTool(name, each as ForeignTool)));
}

function isOurs(candidate: object): candidate is Tool {
  return "tier" in candidate && "effect" in candidate && "name" in candidate;
}

function fromForeignTool(name: string, foreign: ForeignTool): Tool {
  const { description, inputSchema, execute, needsApproval, toModelOutput } = foreign;
  return tool({
    name,
    description: typeof description === "string" ? description : name,
    tier: needsApproval === undefined || needsApproval === false ? "observe" : "confirm",
    inputSchema: inputSchema as Tool["inputSchema"],
    async execute(input, context) {
      if (typeof execute !== "function") throw new Error(`The tool ${name} has no execute function`);
      const output = await lastOf(execute(input, callOptions(context)));
      if (typeof toModelOutput !== "function") return output;
      return fromModelOutput(await toModelOutput({ toolCallId: context.callId, input, output }), output);
    },
  }) as Tool;
}

/** What the AI SDK passes as the second argument. The history stays with the agent that has it. */
function callOptions(context: ToolContext): object {
  return { toolCallId: context.callId, messages: [], abortSignal: context.signal };
}

/** A tool may stream preliminary results; the last one counts. */
async function lastOf(value: unknown): Promise<unknown> {
  if (typeof value !== "object" || value === null || !(Symbol.asyncIterator in value)) return value;
  let last: unknown;
  for await (const each of value as AsyncIterable<unknown>) last = each;
  return last;
}

type ForeignOutput = { type: string; value?: unknown; reason?: string };

function fromModelOutput(shown: ForeignOutput, data: unknown): ToolResult {
  const text = typeof shown.value === "string" ? shown.value : JSON.stringify(shown.value ?? shown.reason ?? "");
  if (shown.type === "error-text" || shown.type === "error-json" || shown.type === "execution-denied") {
    return { success: false, output: "", error: text, data };
  }
  if (shown.type !== "content" || !Array.isArray(shown.value)) return { success: true, output: text, data };
  const parts = shown.value as ForeignContent[];
  return {
    success: true,
    output: parts.flatMap((part) => (part.type === "text" ? [part.text ?? ""] : [])).join("\n"),
    documents: parts.flatMap(toFilePart),
    data,
  };
}

/** A part of a result: text, or a file in one of the several ways the AI SDK has had to write one. */
type ForeignContent = {
  type: string;
  text?: string;
  mediaType?: string;
  filename?: string;
  data?: unknown;
  url?: unknown;
};

/** A file kept by a provider is known to that provider alone, so it is left out. */
function toFilePart({ type, mediaType, filename, data, url }: ForeignContent): FilePart[] {
  const text = fileData(data ?? url);
  if (type === "text" || text === undefined) return [];
  const file: FilePart = { type: "file", mediaType: mediaType ?? type.split("-")[0] ?? "file", data: text };
  return [filename === undefined ? file : { ...file, filename }];
}

function fileData(data: unknown): string | undefined {
  if (typeof data === "string") return data;
  if (data instanceof URL) return data.href;
  if (data instanceof ArrayBuffer) return toBase64(new Uint8Array(data));
  if (data instanceof Uint8Array) return toBase64(data);
  if (typeof data !== "object" || data === null || !("type" in data)) return undefined;
  if (data.type === "data" && "data" in data) return fileData(data.data);
  if (data.type === "url" && "url" in data) return fileData(data.url);
  if (data.type === "text" && "text" in data) return toBase64(new TextEncoder().encode(String(data.text)));
  return undefined;
}

function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}
