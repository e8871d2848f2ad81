/** A server that answers as a model would, so that no key is needed. It speaks the protocol of chat completions. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";

type Message = { role: string; content: string };

/** The lead asks for a scout for each bay. A scout counts twice and reports. */
function answerTo(messages: readonly Message[]) {
  const task = messages.find(({ role }) => role === "user")?.content ?? "";
  const turn = messages.filter(({ role }) => role === "assistant").length;
  const bay = /^Count bay (\d)/.exec(task)?.[1];
  console.log(bay === undefined ? `lead: request ${turn + 1}` : `scout of bay ${bay}: request ${turn + 1}`);
  if (bay !== undefined)
    return turn < 2 ? calls("count", [{ bay: Number(bay) }]) : says(`Bay ${bay} has ${bay}0 crates.`);
  const tasks = [1, 2, 3, 4].map((each) => ({ task: `Count bay ${each}.` }));
  if (turn === 0) return calls("subagent_scout", tasks);
  const reports = messages.filter(({ role }) => role === "tool").map(({ content }) => /has (\d+)/.exec(content)?.[1]);
  return says(`${reports.length} bays: ${reports.reduce((sum, crates) => sum + Number(crates), 0)} crates.`);
}

const says = (content: string) => ({ delta: { content }, finish_reason: "stop" });
const calls = (name: string, inputs: readonly object[]) => ({
  delta: {
    tool_calls: inputs.map((input, index) => ({
      ...{ index, id: `${name}-${index}-${Date.now()}`, type: "function" },
      function: { name, arguments: JSON.stringify(input) },
    })),
  },
  finish_reason: "tool_calls",
});

const server = createServer(async (request, response) => {
  const { messages } = (await json(request)) as { messages: Message[] };
  const answer = answerTo(messages);
  await pause(Number(process.env.ANSWER_MS ?? 3_000));
  response.setHeader("content-type", "text/event-stream");
  response.end(`data: ${JSON.stringify({ choices: [{ index: 0, ...answer }] })}\n\ndata: [DONE]\n\n`);
});
server.listen(Number(process.env.MODEL_PORT ?? 4100), "127.0.0.1", () => {
  console.log(`The model answers at http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`);
});
