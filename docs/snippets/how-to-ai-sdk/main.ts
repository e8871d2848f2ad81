/** AI SDK tools as they are: in a record, in a list beside ours, and one that runs at the provider. */

import { anthropic } from "@ai-sdk/anthropic";
import { agent, run, tool } from "sous";
import { calls, says, scriptedModel } from "sous/testing";
import type { ToolList } from "sous/tools";
import * as z from "zod";

// #region tools
// The value that `tool()` of the AI SDK returns: an object without a name.
const weather = {
  description: "Says what the weather is like.",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }: { city: string }) => `Rain in ${city}`,
};
const time = tool({
  name: "time",
  description: "Says what time it is.",
  inputSchema: z.object({}),
  execute: () => "Noon",
});

const record: ToolList = { weather, time, web_search: anthropic.tools.webSearch_20250305({ maxUses: 3 }) };
const list: ToolList = [{ ...weather, name: "weather" }, time, anthropic.tools.webSearch_20250305()];
// #endregion

for (const tools of [record, list]) {
  const model = scriptedModel({ guide: [calls("weather", { city: "Bern" }), says("It rains in Bern.")] });
  const { text } = await run(agent({ name: "guide", model, tools }), "What is the weather in Bern?");
  console.log(text, model.requests[0]?.tools.join(", "));
}

try {
  // @ts-expect-error: a tool in a list needs a name.
  agent({ name: "guide", tools: [weather] });
} catch (error) {
  console.log(String(error));
}
