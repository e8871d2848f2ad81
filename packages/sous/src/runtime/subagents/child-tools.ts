/** The tools for a child that was started: send it a message, read its whole report, wait for it, cancel it, list all. */

import * as z from "zod";
import { ToolFailure } from "../../core/errors.ts";
import type { StandardSchema } from "../../core/schema.ts";
import { type Tool, type ToolContext, tool } from "../../core/tool.ts";
import { utf8Slice } from "../../core/truncate.ts";
import type { SubagentCancelInput, SubagentReportInput, SubagentSendInput, SubagentWaitInput } from "./input.ts";
import { DESCRIPTIONS } from "./prompts.ts";
import { labelledReports, toToolResult, wordsOf } from "./report.ts";
import { notBlank, sentenceSchema } from "./sentence-schema.ts";

const REPORT_PAGE_BYTES = 16_384;

const SENTENCES = {
  subagent_id: "subagent_id must be the id of a subagent you started",
  subagent_ids: "subagent_ids must be a list of ids",
  message: "message cannot be empty",
  mode: 'mode must be "wrap-up" or "stop"',
  offset: "offset must be a whole number of at least 0",
};

const sendInput: StandardSchema<SubagentSendInput> = sentenceSchema(
  z.strictObject({ subagent_id: z.string().min(1), message: notBlank }),
  SENTENCES,
);

export const sendTool: Tool = tool({
  name: "subagent_send",
  description: DESCRIPTIONS.send,
  category: "subagent",
  inputSchema: sendInput,
  execute: async ({ subagent_id, message }, context) => toToolResult(await context.children.send(subagent_id, message)),
}) as Tool;

const reportInput: StandardSchema<SubagentReportInput> = sentenceSchema(
  z.strictObject({ subagent_id: z.string().min(1), offset: z.int().min(0).optional() }),
  SENTENCES,
);

export const reportTool: Tool = tool({
  name: "subagent_report",
  description: DESCRIPTIONS.report,
  category: "subagent",
  effect: "read",
  inputSchema: reportInput,
  async execute({ subagent_id, offset = 0 }, context?: ToolContext) {
    // Outside of a tree there is no context, and so no children.
    const whole = await context?.children?.report(subagent_id);
    if (whole === undefined) {
      throw new ToolFailure(`No finished subagent with the id ${subagent_id}. subagent_list shows those you started.`);
    }
    const { text: page, end, total } = utf8Slice(whole, offset, REPORT_PAGE_BYTES);
    // The offset may be of an earlier report: an empty answer would look like the end of this one.
    if (offset > total) throw new ToolFailure(`offset ${offset} is past the end: the last report has ${total} bytes`);
    const external = context?.children.list().find(({ agentId }) => agentId === subagent_id)?.external;
    const text = external === undefined ? page : wordsOf(external, page);
    if (end >= total) return text;
    return `${text}\n[Notice: ${total - end} more bytes; ask again with offset ${end}]`;
  },
}) as Tool;

const waitInput: StandardSchema<SubagentWaitInput> = sentenceSchema(
  z.strictObject({ subagent_ids: z.array(z.string()).optional().describe("Omit to wait for all of them.") }),
  SENTENCES,
);

export const waitTool: Tool = tool({
  name: "subagent_wait",
  description: DESCRIPTIONS.wait,
  category: "subagent",
  inputSchema: waitInput,
  async execute({ subagent_ids }, context) {
    const reports = await context.children.wait(subagent_ids);
    if (reports.length === 0) return "No background subagent is left to wait for.";
    // A tree that continues after a restart must know which reports were read.
    const metadata = { reported_runs: reports.map(({ runId }) => runId) };
    return { success: true, output: labelledReports(reports), data: reports, metadata };
  },
}) as Tool;

const cancelInput: StandardSchema<SubagentCancelInput> = sentenceSchema(
  z.strictObject({ subagent_id: z.string().min(1), mode: z.enum(["wrap-up", "stop"]).optional() }),
  SENTENCES,
);

export const cancelTool: Tool = tool({
  name: "subagent_cancel",
  description: DESCRIPTIONS.cancel,
  category: "subagent",
  effect: "idempotent",
  inputSchema: cancelInput,
  async execute({ subagent_id, mode = "stop" }, context) {
    const child = await context.children.cancel(subagent_id, mode);
    if (child === undefined) {
      throw new ToolFailure(`No subagent with the id ${subagent_id}. subagent_list shows those you started.`);
    }
    return `${child.label}: ${child.status}`;
  },
}) as Tool;

export const listTool: Tool = tool({
  name: "subagent_list",
  description: DESCRIPTIONS.list,
  category: "subagent",
  effect: "read",
  inputSchema: sentenceSchema(z.strictObject({}), { "*": "It takes no input." }),
  execute(_input, context) {
    const children = context.children.list();
    if (children.length === 0) return "You have not started any subagents.";
    const lines = children.map(
      (child) =>
        `${child.agentId}  ${child.label}  ${child.status}  ${child.turns} ${child.turns === 1 ? "turn" : "turns"}${child.background ? "  background" : ""}`,
    );
    return { success: true, output: lines.join("\n"), data: children };
  },
}) as Tool;
