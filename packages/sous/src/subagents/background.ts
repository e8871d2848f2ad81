/** The tools to look after children that run in the background. */

import * as z from "zod";
import { ToolFailure } from "../core/errors.ts";
import type { StandardSchema } from "../core/schema.ts";
import type { ChildReport } from "../core/spawn.ts";
import { type Tool, tool } from "../core/tool.ts";
import type { SubagentCancelInput, SubagentWaitInput } from "./input-types.ts";
import { DESCRIPTIONS } from "./prompts.ts";
import { reportsTogether, shortened, toToolResult } from "./report.ts";
import { sentenceSchema } from "./sentence-schema.ts";

const SENTENCES = {
  subagent_id: "subagent_id must be the id of a subagent you started",
  subagent_ids: "subagent_ids must be a list of ids",
  mode: 'mode must be "wrap-up" or "stop"',
};

const waitInput: StandardSchema<SubagentWaitInput> = sentenceSchema(
  z.strictObject({ subagent_ids: z.array(z.string()).optional().describe("Omit to wait for all of them.") }),
  { ...SENTENCES, "*": "Allowed: subagent_ids." },
);

export const waitTool: Tool = tool({
  name: "subagent_wait",
  description: DESCRIPTIONS.wait,
  category: "subagent",
  inputSchema: waitInput,
  async execute({ subagent_ids }, context) {
    const reports = await context.children.wait(subagent_ids);
    if (reports.length === 0) return "No background subagent is left to wait for.";
    const inWords = (report: ChildReport) => {
      const { success, output, error } = toToolResult({ kind: "ended", report });
      return `${report.label}: ${success ? output : `${error}\n${output}`}`;
    };
    const text = reportsTogether(reports.length, (maxBytes) =>
      reports.map((report) => inWords(shortened(report, maxBytes))).join("\n\n"),
    );
    // A tree that continues after a restart must know which reports were read.
    const metadata = { reported_runs: reports.map(({ runId }) => runId) };
    return { success: true, output: text, data: reports, metadata };
  },
}) as Tool;

const cancelInput: StandardSchema<SubagentCancelInput> = sentenceSchema(
  z.strictObject({ subagent_id: z.string().min(1), mode: z.enum(["wrap-up", "stop"]).optional() }),
  { ...SENTENCES, "*": "Allowed: subagent_id, mode." },
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
    if (children.length === 0) return "You have started no subagents.";
    const lines = children.map(
      (child) =>
        `${child.agentId}  ${child.label}  ${child.status}  ${child.turns} ${child.turns === 1 ? "turn" : "turns"}${child.background ? "  background" : ""}`,
    );
    return { success: true, output: lines.join("\n"), data: children };
  },
}) as Tool;
