/** AI SDK tools as they are: given a name and turned into ours. */

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
  const parts = shown.value as { type: string; text?: string; data?: string; mediaType?: string }[];
  return {
    success: true,
    output: parts.flatMap((part) => (part.type === "text" ? [part.text ?? ""] : [])).join("\n"),
    documents: parts.flatMap((part) =>
      typeof part.data === "string" && part.mediaType !== undefined
        ? [{ type: "file" as const, mediaType: part.mediaType, data: part.data }]
        : [],
    ),
    data,
  };
}
