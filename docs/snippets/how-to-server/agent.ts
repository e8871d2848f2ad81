/** The agent of the server, on a model that follows a script. */

import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { agent, tool } from "sous";
import { type Answer, calls, fails, hangs, says, scriptedModel, streams } from "sous/testing";

/** Takes until the file in the environment variable GATE exists. */
const survey = tool({
  name: "survey",
  description: "Measures the site.",
  effect: "read",
  inputSchema: { type: "object", properties: {} },
  async execute(_input, { signal }) {
    while (!existsSync(process.env.GATE ?? "")) await sleep(20, undefined, { signal });
    return "12 by 30 metres";
  },
});

const lines: [read: string, answer: Answer][] = [
  ["30 metres", says("The site is 12 by 30 metres.")],
  ["Measure", calls("survey")],
  ["Talk", [streams("I ", "talk ", "and "), hangs()]],
  ["Break", fails("auth", { message: "The key was not accepted" })],
  ["", streams("Hello ", "there.")],
];

const model = scriptedModel({
  lead: ({ messages }) => lines.find(([read]) => JSON.stringify(messages.at(-1)).includes(read))?.[1] ?? [],
});

// With a key in ANTHROPIC_API_KEY: model: "anthropic/claude-sonnet-4-5"
export const lead = agent({ name: "lead", model, tools: [survey] });
