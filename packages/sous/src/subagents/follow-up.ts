/** The tools to continue with a child: a further message, and the whole of a report that was cut. */

import * as z from "zod";
import { ToolFailure } from "../core/errors.ts";
import type { StandardSchema } from "../core/schema.ts";
import { type Tool, type ToolContext, tool } from "../core/tool.ts";
import { utf8Slice } from "../core/truncate.ts";
import type { SubagentReportInput, SubagentSendInput } from "./input-types.ts";
import { DESCRIPTIONS } from "./prompts.ts";
import { toToolResult } from "./report.ts";
import { sentenceSchema } from "./sentence-schema.ts";

const REPORT_PAGE_BYTES = 16_384;

const SENTENCES = {
  subagent_id: "subagent_id must be the id of a subagent you started",
  message: "message cannot be empty",
  offset: "offset must be a whole number of at least 0",
};

const sendInput: StandardSchema<SubagentSendInput> = sentenceSchema(
  z.strictObject({ subagent_id: z.string().min(1), message: z.string().refine((text) => text.trim() !== "") }),
  { ...SENTENCES, "*": "Allowed: subagent_id, message." },
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
  { ...SENTENCES, "*": "Allowed: subagent_id, offset." },
);

export const reportTool: Tool = tool({
  name: "subagent_report",
  description: DESCRIPTIONS.report,
  category: "subagent",
  effect: "read",
  inputSchema: reportInput,
  async execute({ subagent_id, offset = 0 }, context?: ToolContext) {
    // Outside of a tree there is no context, and there are no children.
    const whole = await context?.children?.report(subagent_id);
    if (whole === undefined) {
      throw new ToolFailure(`No finished subagent with the id ${subagent_id}. subagent_list shows those you started.`);
    }
    const { text, end, total } = utf8Slice(whole, offset, REPORT_PAGE_BYTES);
    // An offset of a report that a later one has replaced, for example: nothing at all would look like its end.
    if (offset > total) throw new ToolFailure(`offset ${offset} is behind the end: the last report has ${total} bytes`);
    if (end >= total) return text;
    return `${text}\n[Notice: ${total - end} more bytes; ask again with offset ${end}]`;
  },
}) as Tool;
