/** The parts of the page of tools about results: what all have in common, what each tool returns, and how it fails. */

import { MAX_RESULT_BYTES } from "../../packages/sous/src/core/truncate.ts";
import { BUILT_IN_FAILURES } from "./built-in-failures.ts";
import { BUILT_IN_RESULTS, type BuiltInResult, type ResultField } from "./built-in-results.ts";
import { inlineCode, item, prose, table, wrap } from "./markdown.ts";
import { COMMON, REPORT_METADATA_FIELDS, TOOL_RESULTS } from "./subagent-results.ts";

/** What holds for the results of all tools. */
export function resultsIntroduction(): string[] {
  return [
    "## Results",
    wrap(
      `A tool returns a [\`ToolResult\`](api/tools.md#toolresult). When it succeeds, the model reads \`output\`. When it fails, the model reads \`error\` and, on the next line, \`output\` if there is some; the run continues. One result has at most ${MAX_RESULT_BYTES.toLocaleString("en")} bytes; what is longer is cut, and says so. The model does not read \`data\` and \`metadata\`: they are for code, and \`metadata\` is also in the event [\`tool-call-end\`](events.md#tool-call-end), and so in \`stream-json\`.`,
    ),
    wrap("Every tool for subagents returns these fields:"),
    fieldTable(COMMON),
    "## Report of a subagent",
    wrap("A tool that waits for a child returns its report. Its `metadata`:"),
    fieldTable(REPORT_METADATA_FIELDS),
  ];
}

/** What a tool for children returns, without the fields that all of them or all reports have. */
export function subagentResult(tool: string): string {
  const { fields = [] } = TOOL_RESULTS.find((each) => each.tool === tool) ?? {};
  const shared = new Set(COMMON.map(({ name }) => name));
  const reported = new Map(REPORT_METADATA_FIELDS.map(({ name, about }) => [name.split(".").at(-1), about]));
  const isReported = ({ name, about }: ResultField): boolean => reported.get(name.split(".").at(-1)) === about;
  const own = fields.filter((field) => !shared.has(field.name) && !isReported(field));
  const holders = new Set(fields.filter(isReported).map(({ name }) => name.slice(0, name.lastIndexOf("."))));
  const also = [...holders].map((holder) => `- \`${holder}\`: the facts of a [report](#report-of-a-subagent)`);
  const lines = own.map(({ name, type, about }) => item(`\`${name}\` (${inlineCode(type)}): ${prose(about)}`));
  return ["It returns, besides the fields of every such tool:", [...lines, ...also].join("\n")].join("\n\n");
}

/** What a built-in tool returns, and how it fails. */
export function builtInResult(tool: string): string[] {
  const results = BUILT_IN_RESULTS.filter((result) => result.tool === tool).flatMap(describe);
  const own = BUILT_IN_FAILURES.filter(({ tools }) => tools.length === 1 && tools[0] === tool);
  const isShared = BUILT_IN_FAILURES.some(({ tools }) => tools.length > 1 && tools.includes(tool));
  const rest = isShared ? " Others are [failures of several tools](#failures-of-several-tools)." : "";
  const lines = own.flatMap(({ sentences }) => sentences.map(lineOf));
  if (lines.length === 0) return [...results, `It fails with [failures of several tools](#failures-of-several-tools).`];
  return [...results, wrap(`It fails with one of these sentences.${rest}`), lines.join("\n")];
}

/** The sentences of the built-in tools that more than one of them can fail with. */
export function sharedFailures(): string[] {
  return [
    "## Failures of several tools",
    wrap(
      "`…` stands for what differs. A failed result has no `metadata`, except after a command that ended badly and a page that answered with another status.",
    ),
    ...BUILT_IN_FAILURES.filter(({ tools }) => tools.length > 1).flatMap(({ tools, sentences }) => [
      `${tools.map((tool) => `\`${tool}\``).join(", ")}:`,
      sentences.map(lineOf).join("\n"),
    ]),
  ];
}

function fieldTable(fields: readonly ResultField[]): string {
  return table(
    ["field", "type", "meaning"],
    fields.map(({ name, type, about }) => [`\`${name}\``, inlineCode(type), prose(about)]),
  );
}

function describe({ when, text, example, notices, metadata }: BuiltInResult): string[] {
  const fields = metadata.map(({ name, type, about }) => {
    const meaning = about === "" ? "" : `: ${about.slice(0, 1).toLowerCase()}${about.slice(1).replace(/\.$/, "")}`;
    return `\`${name}\` (${inlineCode(type)}${meaning})`;
  });
  return [
    wrap(`${when === undefined ? "It returns" : `${when} it returns`} ${text}`),
    `\`\`\`text\n${example.replaceAll("\t", "    ")}\n\`\`\``,
    wrap(`Metadata: ${fields.join(", ")}.`),
    ...(notices.length === 0 ? [] : ["Notices in the text:", notices.map(lineOf).join("\n")]),
  ];
}

/** A sentence that explains itself has no reason beside it. */
function lineOf([sentence, why]: readonly [sentence: string, why: string]): string {
  return item(why === "" ? inlineCode(sentence) : `${inlineCode(sentence)}: ${why}`);
}
