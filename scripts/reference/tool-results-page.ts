/** The page of what tools return: the tools for children field by field, the built-in ones with their text, too. */

import { MAX_RESULT_BYTES } from "../../packages/sous/src/core/truncate.ts";
import { BUILT_IN_FAILURES, type BuiltInFailures } from "./built-in-failures.ts";
import { BUILT_IN_RESULTS, type BuiltInResult } from "./built-in-results.ts";
import { inlineCode, page, prose, table, wrap } from "./markdown.ts";
import { TOOL_RESULTS, type ToolResultFields } from "./subagent-results.ts";

export function toolResultsPage(): string {
  const names = [...new Set(BUILT_IN_RESULTS.map(({ tool }) => tool))];
  return page("Reference: what tools return", "What a model and your code get back from each tool.", [
    wrap(
      `A tool returns a \`ToolResult\`. When it succeeds, the model reads \`output\`. When it fails, the model reads \`error\` and, on the next line, \`output\` if there is some. One result has at most ${MAX_RESULT_BYTES.toLocaleString("en")} bytes; what is longer is cut, and says so.`,
    ),
    table(
      ["field", "type", "meaning"],
      RESULT_FIELDS.map(([name, type, about]) => [`\`${name}\``, inlineCode(type), about]),
    ),
    wrap(
      "`metadata` is also in the event [`tool-call-end`](events.md#tool-call-end), and so in `stream-json`. Inputs are on [another page](tools.md).",
    ),
    ...(TOOL_RESULTS.length === 0 ? [] : ["## Tools for subagents", ...TOOL_RESULTS.flatMap(subagentSection)]),
    "## Built-in tools",
    wrap(
      "A built-in tool returns text and `metadata`, and no `data`. The examples are from a folder with `pay.ts` and an empty `docs/`.",
    ),
    ...names.flatMap(builtInSection),
    "## Failures of built-in tools",
    wrap(
      "A failed result is one of these sentences; `…` stands for what differs. The model reads it and may try something else: the run continues. Such a result has no `metadata`, except after a command that ended badly and a page that answered with another status.",
    ),
    ...BUILT_IN_FAILURES.flatMap(failureSection),
  ]);
}

const RESULT_FIELDS: readonly (readonly [name: string, type: string, about: string])[] = [
  ["success", "boolean", "whether the tool did what it was asked"],
  ["output", "string", "the text for the model"],
  ["error", "string", "why it failed, and what to try instead"],
  ["data", "unknown", "the value behind the text, for code"],
  ["documents", "FilePart[]", "pictures and documents for the model"],
  ["metadata", "object", "facts about the call, for code and logs; the model does not read it"],
  ["durationMs", "number", "how long it took, if the tool measures it itself"],
];

function subagentSection({ tool, fields }: ToolResultFields): string[] {
  const rows = fields.map(({ name, type, about }) => [`\`${name}\``, inlineCode(type), prose(about)]);
  return [`### ${prose(tool)}`, table(["field", "type", "meaning"], rows)];
}

function builtInSection(tool: string): string[] {
  const results = BUILT_IN_RESULTS.filter((result) => result.tool === tool);
  return [`### ${tool}`, ...results.flatMap(describe)];
}

function describe({ when, text, example, notices, metadata }: BuiltInResult): string[] {
  const fields = metadata.map(({ name, type, about }) => [`\`${name}\``, inlineCode(type), about]);
  return [
    ...(when === undefined ? [] : [`**${when}.**`]),
    wrap(text),
    `\`\`\`text\n${example.replaceAll("\t", "    ")}\n\`\`\``,
    table(["metadata", "type", "meaning"], fields),
    ...(notices.length === 0
      ? []
      : [
          table(
            ["notice in the text", "why"],
            notices.map(([line, why]) => [inlineCode(line), why]),
          ),
        ]),
  ];
}

function failureSection({ tools, sentences }: BuiltInFailures): string[] {
  return [
    `### Failures of ${tools.join(", ")}`,
    table(
      ["sentence", "why"],
      sentences.map(([sentence, why]) => [inlineCode(sentence), why]),
    ),
  ];
}
