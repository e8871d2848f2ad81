/** AI SDK tools in lists and records, and what `agent()` refuses. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { anthropic } from "@ai-sdk/anthropic";
import { openai } from "@ai-sdk/openai";
import * as z from "zod";
import { agent } from "../../../src/core/agent.ts";
import { toTools } from "../../../src/core/foreign-tool.ts";
import type { ToolList, ToolResult } from "../../../src/core/tool.ts";
import { simpleTool } from "../../support/requirements/support.ts";

const weather = { description: "Weather.", inputSchema: z.object({}), execute: () => "Rain" };
const look = simpleTool("look");

test("lists and records mix ours and those of the AI SDK", () => {
  const search = anthropic.tools.webSearch_20250305();
  const names = (tools: ToolList) => toTools(agent({ name: "a", tools }).tools).map(({ name }) => name);
  assert.deepEqual(names({ weather, look, search }), ["weather", "look", "search"]);
  assert.deepEqual(names([{ ...weather, name: "weather" }, look, search]), ["weather", "look", "web_search"]);
});

for (const [what, tools, sentence] of [
  ["a tool without a name in a list", [weather], /position 0 has no name\. Give the tools in a record/],
  ["one of ours under another key", { see: look }, /the tool look stands under the key "see"/],
  ["a tool without execute", { weather: { inputSchema: z.object({}) } }, /The tool weather has no execute function/],
  [
    "a promise of tools",
    Promise.resolve({ weather }),
    /must be a list or a record of tools; found a promise, which must be awaited/,
  ],
  [
    "a map of tools",
    new Map([["weather", weather]]),
    /agent a: tools must be a list or a record of tools; found an object/,
  ],
  ["what is no tool", [undefined], /tools of agent a: 0 is undefined and not a tool/],
  [
    "approval before a tool that runs at the provider",
    { search: { ...openai.tools.webSearch({}), needsApproval: true } },
    /runs at the provider, so no one can be asked/,
  ],
  [
    "a tool of a provider that wants its own results",
    { shell: openai.tools.shell({ execute: async () => ({}) as never }) },
    /supports only for bash/,
  ],
  [
    "another name for a tool that its provider names",
    { shell: anthropic.tools.bash_20250124({ execute: async () => "" }) },
    /is called bash by its provider/,
  ],
] as const) {
  test(`agent() refuses ${what}`, () => {
    assert.throws(() => agent({ name: "a", tools: tools as unknown as ToolList }), sentence);
  });
}

test("what toModelOutput gives is read as far as its type is known; anything else fails and shows nothing", async () => {
  const given: readonly [shown: unknown, success: boolean, text: string | RegExp][] = [
    [{ type: "execution-denied", reason: "Not today." }, false, "Not today."],
    [{ type: "execution-denied" }, false, "It was denied."],
    [{ type: "error-json", value: { code: 1 } }, false, '{"code":1}'],
    [{ type: "text", value: "Rain" }, true, "Rain"],
    [{ type: "markdown", value: "Rain" }, false, /nothing readable/],
    ["Rain", false, /nothing readable/],
    [undefined, false, /nothing readable/],
  ];
  for (const [shown, success, text] of given) {
    const [made] = toTools({ weather: { ...weather, toModelOutput: () => shown } } as unknown as ToolList);
    const result = (await made?.execute({}, { callId: "c1" } as never)) as ToolResult;
    assert.equal(result.success, success);
    const said = result.success ? result.output : result.error;
    if (typeof text === "string") assert.equal(said, text);
    else assert.match(String(said), text);
  }
});
