/** A small agent that speaks the Agent Client Protocol: it asks before it answers. Yours is Claude Code, opencode or another. */

import { Readable, Writable } from "node:stream";
import { agent, methods, ndJsonStream, type RequestPermissionRequest } from "@agentclientprotocol/sdk";

let sessions = 0;

agent({ name: "echo" })
  .onRequest(methods.agent.initialize, () => ({ protocolVersion: 1, agentInfo: { name: "echo", version: "1.0.0" } }))
  .onRequest(methods.agent.session.new, () => {
    sessions += 1;
    return { sessionId: `session-${sessions}` };
  })
  .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
    const { sessionId, prompt } = params;
    const [block] = prompt;
    const request: RequestPermissionRequest = {
      sessionId,
      toolCall: { toolCallId: "1", title: "npm test", kind: "execute", rawInput: { command: "npm test" } },
      options: [
        { optionId: "yes", name: "Allow", kind: "allow_once" },
        { optionId: "no", name: "Reject", kind: "reject_once" },
      ],
    };
    const { outcome } = await client.request(methods.client.session.requestPermission, request);
    const mayTest = outcome.outcome === "selected" && outcome.optionId === "yes";
    const task = block?.type === "text" ? block.text.trim() : "";
    await client.notify(methods.client.session.update, {
      sessionId,
      update: {
        sessionUpdate: "agent_message_chunk",
        content: { type: "text", text: `${task} Done, ${mayTest ? "and" : "not"} tested.` },
      },
    });
    return { stopReason: "end_turn" };
  })
  .connect(
    ndJsonStream(
      Writable.toWeb(process.stdout) as WritableStream<Uint8Array>,
      Readable.toWeb(process.stdin) as unknown as ReadableStream<Uint8Array>,
    ),
  );
