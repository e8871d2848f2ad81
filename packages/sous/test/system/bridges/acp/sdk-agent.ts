/** An agent made with the SDK, in a process of its own: what it does is the prompt's first word. */

import { Readable, Writable } from "node:stream";
import {
  agent,
  methods,
  ndJsonStream,
  type PermissionOption,
  type RequestPermissionRequest,
} from "@agentclientprotocol/sdk";

const sessions = new Map<string, { cwd: string; prompts: string[] }>();
const cancelled = new Map<string, () => void>();
const MODES = {
  currentModeId: "default",
  availableModes: [
    { id: "default", name: "Default" },
    { id: "plan", name: "Plan" },
    { id: "bypassPermissions", name: "Bypass" },
  ],
};

function modelOption(currentValue: string) {
  const options = [
    { value: "small", name: "Small" },
    { value: "large", name: "Large" },
  ];
  return { id: "model", name: "Model", category: "model", type: "select" as const, currentValue, options };
}

let lateHistory: Promise<unknown> = Promise.resolve();
let model = "small";
let mode = "default";

const app = agent({ name: "sdk-agent" })
  .onRequest(methods.agent.initialize, () => ({
    protocolVersion: 1,
    agentInfo: { name: "sdk-agent", version: "1.2.3" },
    agentCapabilities: { loadSession: true, sessionCapabilities: { list: {}, delete: {}, close: {} } },
  }))
  .onRequest(methods.agent.session.new, ({ params }) => {
    const sessionId = `sdk-${process.pid}-${sessions.size + 1}`;
    sessions.set(sessionId, { cwd: params.cwd, prompts: [] });
    return { sessionId, modes: MODES, configOptions: [modelOption(model)] };
  })
  .onRequest(methods.agent.session.load, async ({ params, client }) => {
    sessions.set(params.sessionId, { cwd: params.cwd, prompts: ["earlier"] });
    const tell = () =>
      client.notify(methods.client.session.update, {
        sessionId: params.sessionId,
        update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "what I said before" } },
      });
    await tell();
    // gemini-cli sends most of the history behind its answer; the next prompt waits until it is sent.
    lateHistory = new Promise((resolve) => setTimeout(resolve, 5)).then(tell);
    return { modes: MODES };
  })
  .onRequest(methods.agent.session.list, () => ({
    sessions: [...sessions].map(([sessionId, { cwd }]) => ({ sessionId, cwd, title: `${sessionId} title` })),
  }))
  .onRequest(methods.agent.session.delete, ({ params }) => void sessions.delete(params.sessionId))
  .onRequest(methods.agent.session.close, () => {})
  .onRequest(methods.agent.session.setMode, ({ params }) => {
    mode = params.modeId;
  })
  .onRequest(methods.agent.session.setConfigOption, ({ params }) => {
    model = String(params.value);
    return { configOptions: [modelOption(model)] };
  })
  .onNotification(methods.agent.session.cancel, ({ params }) => cancelled.get(params.sessionId)?.())
  .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
    await lateHistory;
    const { sessionId } = params;
    const block = params.prompt[0];
    const text = block?.type === "text" ? block.text : "";
    const session = sessions.get(sessionId);
    session?.prompts.push(text);
    const say = (said: string) =>
      client.notify(methods.client.session.update, {
        sessionId,
        update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text: said } },
      });
    const [word = "", ...rest] = text.split(" ");
    switch (word) {
      case "slow": {
        const isCancelled = new Promise<void>((resolve) => cancelled.set(sessionId, resolve));
        await say("working");
        await isCancelled;
        return { stopReason: "cancelled" };
      }
      case "settings":
        await say(`${model} ${mode} ${session?.cwd} ${session?.prompts.length}`);
        return { stopReason: "end_turn" };
      case "run": {
        const command = rest.join(" ");
        await client.notify(methods.client.session.update, {
          sessionId,
          update: { sessionUpdate: "plan", entries: [{ content: "run it", priority: "high", status: "pending" }] },
        });
        const toolCall = { toolCallId: "c1", title: command, kind: "execute" as const, rawInput: { command } };
        await client.notify(methods.client.session.update, {
          sessionId,
          update: { sessionUpdate: "tool_call", ...toolCall, status: "pending" },
        });
        const options: PermissionOption[] = [
          { optionId: "always", name: "Always", kind: "allow_always" },
          { optionId: "once", name: "Once", kind: "allow_once" },
          { optionId: "no", name: "No", kind: "reject_once" },
        ];
        const asked: RequestPermissionRequest = { sessionId, toolCall, options };
        const { outcome } = await client.request(methods.client.session.requestPermission, asked);
        await client.notify(methods.client.session.update, {
          sessionId,
          update: {
            sessionUpdate: "tool_call_update",
            toolCallId: "c1",
            status: "completed",
            content: [{ type: "content", content: { type: "text", text: "ran" } }],
          },
        });
        await say(JSON.stringify(outcome));
        return { stopReason: "end_turn" };
      }
      case "files": {
        const [path = "", content = ""] = rest;
        await client.request(methods.client.fs.writeTextFile, { sessionId, path, content });
        const read = await client.request(methods.client.fs.readTextFile, { sessionId, path });
        await say(read.content);
        return { stopReason: "end_turn" };
      }
      case "terminal": {
        const terminal = await client.createTerminal({ sessionId, command: rest[0] ?? "", args: rest.slice(1) });
        const { exitCode } = await terminal.waitForExit();
        const { output } = await terminal.currentOutput();
        await terminal.release();
        await say(`${exitCode}: ${output}`);
        return { stopReason: "end_turn" };
      }
      default:
        await say("you said: ");
        await say(text);
        return { stopReason: "end_turn" };
    }
  });

app.connect(
  ndJsonStream(
    Writable.toWeb(process.stdout) as WritableStream<Uint8Array>,
    Readable.toWeb(process.stdin) as unknown as ReadableStream<Uint8Array>,
  ),
);
