/** Tools of an MCP server for one agent; every call asks first. */

import { agent, run } from "sous";
import { mcpTools } from "sous/mcp";
import { calls, says, scriptedModel } from "sous/testing";

// #region open
await using weather = await mcpTools({
  weather: { command: process.execPath, args: [`${import.meta.dirname}/server.ts`], tools: ["get_*"] },
});
for (const problem of weather.problems) console.warn(problem);
// #endregion

const model = scriptedModel({
  lead: [calls("mcp__weather__get_forecast", { city: "Oslo" }), says("It will be sunny.")],
});

// #region use
const lead = agent({ name: "lead", model, tools: [...weather.tools] });
const handle = run(lead, "Do I need an umbrella in Oslo?", {
  approve: ({ toolName, isFromTool }) => ({ allow: toolName === "mcp__weather__get_forecast" && !isFromTool }),
});
for await (const event of handle) {
  if (event.type === "tool-call-end") console.log(`${event.toolName}: ${event.output}`);
}
console.log((await handle).text);
// #endregion
