/** The tools to go on with a child: a further message, and the whole of a report that was cut. */

import * as z from "zod";
import { ToolFailure } from "../core/errors.ts";
import { type Tool, tool } from "../core/tool.ts";
import { utf8Slice } from "../core/truncate.ts";
import { DESCRIPTIONS } from "./prompts.ts";
import { toToolResult } from "./report.ts";
import { sentenceSchema } from "./sentence-schema.ts";

const REPORT_PAGE_BYTES = 16_384;

const SENTENCES = {
  subagent_id: "subagent_id must be the id of a subagent you started",
  message: "message cannot be empty",
  offset: "offset must be a whole number of at least 0",
};

export const sendTool: Tool = tool({
  name: "subagent_send",
  description: DESCRIPTIONS.send,
  category: "subagent",
  inputSchema: sentenceSchema(
    z.strictObject({ subagent_id: z.string().min(1), message: z.string().refine((text) => text.trim() !== "") }),
    { ...SENTENCES, "*": "Allowed: subagent_id, message." },
  ),
  execute: async ({ subagent_id, message }, context) => toToolResult(await context.children.send(subagent_id, message)),
}) as Tool;

export const reportTool: Tool = tool({
  name: "subagent_report",
  description: DESCRIPTIONS.report,
  category: "subagent",
  effect: "read",
  inputSchema: sentenceSchema(z.strictObject({ subagent_id: z.string().min(1), offset: z.int().min(0).optional() }), {
    ...SENTENCES,
    "*": "Allowed: subagent_id, offset.",
  }),
  async execute({ subagent_id, offset = 0 }, context) {
    const whole = await context.children.report(subagent_id);
    if (whole === undefined) {
      throw new ToolFailure(`No finished subagent with the id ${subagent_id}. subagent_list shows those you started.`);
    }
    const { text, end, total } = utf8Slice(whole, offset, REPORT_PAGE_BYTES);
    if (end >= total) return text;
    return `${text}\n[Notice: ${total - end} more bytes; ask again with offset ${end}]`;
  },
}) as Tool;
