/** A small agent of the Agent Client Protocol. Its first argument says how it behaves. */

import { createInterface } from "node:readline";

const [kind = "good"] = process.argv.slice(2);

const ANSWERS = {
  initialize: {
    protocolVersion: kind === "new" ? 9 : 1,
    agentInfo: { name: "toy", version: "1.2.3" },
    agentCapabilities: { loadSession: true },
    authMethods: [],
  },
  "session/new": {
    sessionId: "one",
    modes: {
      currentModeId: "ask",
      availableModes: [
        { id: "ask", name: "Ask" },
        { id: "plan", name: "Plan" },
      ],
    },
    configOptions: [
      {
        id: "m",
        name: "Model",
        category: "model",
        type: "select",
        currentValue: "small",
        options: [
          { value: "small", name: "Small" },
          { value: "large", name: "Large" },
        ],
      },
    ],
  },
};

if (kind === "dies") {
  process.stderr.write("no licence found\n");
  process.exit(3);
}

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

let folder = "";

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (method === "session/new") folder = params.cwd;
  if (kind === "locked" && method === "session/new") {
    send({ id, error: { code: -32000, message: "Authentication required" } });
    continue;
  }
  if (method !== "session/prompt") {
    if (id !== undefined) send({ id, result: ANSWERS[method] ?? null });
    continue;
  }
  const { sessionId, prompt } = params;
  const text = `Toy read ${JSON.stringify(prompt[0].text)} within ${process.env.SOUS_WITHIN} started in ${process.cwd()} for ${folder}`;
  const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text } };
  send({ method: "session/update", params: { sessionId, update } });
  send({ id, result: { stopReason: "end_turn", usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 } } });
}
