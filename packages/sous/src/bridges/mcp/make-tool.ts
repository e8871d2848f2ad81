/** A tool of a server as a tool of ours: what it may be called by, what must be allowed first, and what comes back. */

import type { Progress } from "@modelcontextprotocol/client";
import { oneLine, shortened } from "../../core/clean-text.ts";
import { dataMark } from "../../core/data-mark.ts";
import { ApprovalNeeded, ToolFailure } from "../../core/errors.ts";
import { isRecord } from "../../core/schema.ts";
import { type Tool, type ToolContext, type ToolResult, tool } from "../../core/tool.ts";
import { toToolResult } from "./content.ts";
import { shownName } from "./definitions.ts";
import { describeChange } from "./diff.ts";
import type { ServerLife } from "./life.ts";
import { type McpDefinition, type PinBook, toolNameOf } from "./pins.ts";

const MAX_PROGRESS = 200;
/** Digits of the hash: with these, no other definition can be made that has the same ones. */
const MARK = 32;

/** `offered` is what the model reads: what was approved, or what the server says when nothing was. */
export function makeTool(offered: McpDefinition, life: ServerLife, pins: PinBook): Tool {
  const { server } = life;
  const name = toolNameOf(server.name, offered.name);
  const isRenamed = !name.endsWith(`__${offered.name}`);
  const shown = shownName(offered.name);
  return tool({
    name,
    // The model would look for the real name in what it has read.
    description: isRenamed ? `${shown}: ${offered.description}` : offered.description,
    displayName: `${server.name} › ${shown}`,
    category: "other",
    tier: "confirm",
    effect: "unsafe",
    inputSchema: offered.inputSchema,
    origin: { server: server.name, tool: offered.name, definition: offered.sha256 },
    execute: async (input, context): Promise<ToolResult> => {
      const connection = await life.connect(context.signal);
      const now = namedLike(offered, connection.listed.definitions, server.name);
      if (now === undefined) throw new ToolFailure(`The MCP server ${server.name} no longer has the tool ${shown}`);
      await requireApproval(offered, now, life, pins);
      const onProgress = (progress: Progress) => report(progress, context);
      const call = { tool: now.name, input: isRecord(input) ? input : {}, meta: metaOf(context), onProgress };
      return asData(toToolResult(await life.call(connection, { ...call, signal: context.signal })), server.name);
    },
  });
}

/** Adds the mark behind what the server says, so that nothing in it can follow: a model reads whose words they are. */
function asData(result: ToolResult, server: string): ToolResult {
  const mark = dataMark("MCP server", server);
  const { success, output, error } = result;
  if (success) return { ...result, output: output === "" ? mark : `${output}\n${mark}` };
  return { ...result, error: error === undefined ? mark : `${error}\n${mark}` };
}

/** Another one that has the name here is found too: it must not be taken for the one that was approved. */
function namedLike(
  offered: McpDefinition,
  listed: readonly McpDefinition[],
  server: string,
): McpDefinition | undefined {
  const name = toolNameOf(server, offered.name);
  return (
    listed.find((each) => each.name === offered.name) ?? listed.find((each) => toolNameOf(server, each.name) === name)
  );
}

/** Approval for the call was given, so a tool that is as it was offered is approved by it. Another one needs a person. */
async function requireApproval(
  offered: McpDefinition,
  now: McpDefinition,
  { server }: ServerLife,
  pins: PinBook,
): Promise<void> {
  const approved = (await pins.read(server)).approved.get(toolNameOf(server.name, now.name));
  if (approved?.sha256 === now.sha256) return;
  const known = approved ?? offered;
  if (known.sha256 === now.sha256) return await pins.approve(server, [now]);
  const words = `The MCP server ${server.name} has changed its tool ${shownName(now.name)} since it was approved`;
  // A late answer counts for the question in these words: two changes never have the same.
  const mark = now.sha256.slice(0, MARK);
  throw new ApprovalNeeded(`${words} (now ${mark}):\n${describeChange(known, now)}`, () => pins.approve(server, [now]));
}

function metaOf({ trace }: ToolContext): Record<string, unknown> {
  if (trace === undefined) return {};
  const { traceparent, tracestate } = trace;
  return { traceparent, ...(tracestate !== undefined && { tracestate }) };
}

/** Many servers send numbers without a message. */
function report({ message = "", progress, total }: Progress, context: ToolContext): void {
  context.progress(shortened(oneLine(message), MAX_PROGRESS), progress, total);
}
