/** The page of the tools: what a model is told about each of them, what it may send, what comes back, and how it fails. */

import { builtInTools } from "../../packages/sous/src/app/tools/built-in.ts";
import { agent } from "../../packages/sous/src/core/agent.ts";
import type { JsonSchema } from "../../packages/sous/src/core/schema.ts";
import { type Tool, ToolRegistry } from "../../packages/sous/src/core/tool.ts";
import { compileSchema } from "../../packages/sous/src/runtime/schema/compile.ts";
import {
  cancelTool,
  listTool,
  reportTool,
  sendTool,
  waitTool,
} from "../../packages/sous/src/runtime/subagents/child-tools.ts";
import { subagentTool } from "../../packages/sous/src/runtime/subagents/delegation-tools.ts";
import { namedAgentTool } from "../../packages/sous/src/runtime/subagents/named-agent.ts";
import { parallelTool } from "../../packages/sous/src/runtime/subagents/parallel.ts";
import { registerSubagentTools } from "../../packages/sous/src/runtime.ts";
import { inlineCode, page, prose, table, words, wrap } from "./markdown.ts";
import { builtInResult, resultsIntroduction, sharedFailures, subagentResult } from "./tool-results.ts";

export async function toolsPage(): Promise<string> {
  const groups: [title: string, intro: string, tools: readonly Tool[]][] = [
    [
      "With `delegate: true`",
      "An agent with `delegate: true` has these, unless it is at the deepest level.",
      [
        subagentTool,
        parallelTool({ maxConcurrent: 5, now: () => 0 }),
        sendTool,
        reportTool,
        waitTool,
        cancelTool,
        listTool,
      ],
    ],
    [
      "One per specialist",
      "Every agent listed in `subagents` becomes a tool; here one that is called `scout`. Listing it is approval: its tier is then `observe`. Made by `subagentFactory` it keeps `confirm`. `subagent_report` comes with it.",
      [namedAgentTool(agent({ name: "scout" }))],
    ],
    [
      "With `registerSubagentTools`",
      "For a registry of your own, together with `subagent_report`. `subagent_delegate` is there only with a client.",
      registered(),
    ],
    [
      "Built in",
      "The command line gives its root agent all of these. The first four only read: `readOnlyTools` makes them. The others ask first, unless a rule decides. `terminal` is there only where programs may be started. `grep` uses ripgrep where it is installed, and finds the same without it. The examples below are from a folder with `pay.ts` and an empty `docs/`.",
      builtIn(),
    ],
  ];
  const sections = await Promise.all(
    groups.map(async ([title, intro, tools]) => {
      const described = await Promise.all(tools.map(describe));
      return [`## ${title}`, wrap(intro), ...described].join("\n\n");
    }),
  );
  return page(
    "Reference: tools",
    "Every tool: what models are told about it, word for word, its input, what it returns, and how it fails. `?` marks an input that may be left out. Unknown keys are refused.",
    [...resultsIntroduction(), ...sections, ...sharedFailures()],
  );
}

function registered(): Tool[] {
  const registry = new ToolRegistry();
  const client = {
    serverNames: [],
    externalAgent: () => {
      throw new Error("The reference asks nobody");
    },
  };
  registerSubagentTools(registry, { model: "provider/model", client });
  return [...registry].filter((each) => each !== reportTool);
}

function builtIn(): Tool[] {
  const never = () => Promise.reject(new Error("The reference starts nothing"));
  return builtInTools({
    programs: {
      run: never,
      start: never,
      talk: never,
      find: () => Promise.resolve(undefined),
      [Symbol.asyncDispose]: never,
    },
  });
}

async function describe(tool: Tool): Promise<string> {
  const { jsonSchema } = await compileSchema(tool.inputSchema);
  const isForSubagents = tool.category === "subagent";
  const category = isForSubagents ? "" : `, category \`${tool.category}\``;
  const facts = `Tier \`${tool.tier}\`, effect \`${tool.effect}\`${category}.`;
  const rows = rowsOf(jsonSchema, "");
  const input = rows.length === 0 ? "It takes no input." : table(["input", "type", "meaning"], rows);
  const name = tool.name === "subagent_scout" ? "subagent_<name>" : tool.name;
  const result = isForSubagents ? [subagentResult(name)] : builtInResult(tool.name);
  return [`### ${tool.name}`, words(tool.description), facts, input, ...result].join("\n\n");
}

/** One row per field; the fields of objects in a list follow the list, or are named when they are those of `subagent`. */
function rowsOf(schema: JsonSchema, prefix: string): string[][] {
  const required = new Set(schema.required as string[] | undefined);
  return Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>).flatMap(([name, field]) => {
    const mark = required.has(name) ? "" : "?";
    const row = [`\`${prefix}${name}${mark}\``, inlineCode(typeOf(field)), prose(String(field.description ?? ""))];
    const items = (field.items ?? {}) as JsonSchema;
    const isTask = Object.hasOwn((items.properties ?? {}) as object, "task_prompt");
    if (isTask)
      return [row, [`\`${name}[]\``, "`object`", "The input of [subagent](#subagent), without `background`."]];
    return [row, ...rowsOf(items, `${prefix}${name}[].`)];
  });
}

function typeOf(schema: JsonSchema): string {
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.type === "array") return `${typeOf((schema.items ?? {}) as JsonSchema)}[]${bounds(schema, "Items")}`;
  return `${String(schema.type ?? "any")}${bounds(schema, "imum")}${bounds(schema, "Length")}`;
}

/** `1…50`, `≥ 1`; the bounds of a safe integer say nothing. */
function bounds(schema: JsonSchema, kind: "imum" | "Items" | "Length"): string {
  const least = bound(schema[`min${kind}`]);
  const most = bound(schema[`max${kind}`]);
  const unit = kind === "imum" ? "" : kind === "Items" ? " items" : " characters";
  if (least !== undefined && most !== undefined) return ` ${least}…${most}${unit}`;
  if (kind === "Length" && least === 1) return ", not empty";
  if (least !== undefined) return ` ≥ ${least}${unit}`;
  return most === undefined ? "" : ` ≤ ${most}${unit}`;
}

function bound(value: unknown): number | undefined {
  return typeof value === "number" && Math.abs(value) < Number.MAX_SAFE_INTEGER ? value : undefined;
}
