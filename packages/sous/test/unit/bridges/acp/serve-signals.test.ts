/** sous as an agent: what was set up for a client or a prompt is gone with it. */

import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import type { AgentContext } from "@agentclientprotocol/sdk";
import { serveAcp } from "../../../../src/bridges/acp/serve.ts";
import { ServedSessions } from "../../../../src/bridges/acp/serve-sessions.ts";
import type { ServedAgent } from "../../../../src/bridges/acp/served-agent.ts";
import { VirtualClock } from "../../../../src/testing/world.ts";

const STATE = { modes: { current: "ask", all: [] }, models: { current: undefined, all: [] } };

/** Its prompts end as `prompt` does. */
function agentWith(prompt: () => Promise<object>): ServedAgent {
  const session = { id: "s1", state: STATE, prompt, setMode: () => {}, close: async () => {} };
  return { version: "1", open: async () => session } as object as ServedAgent;
}

test("a client that is gone leaves no listener on the signal that would have ended its service", async () => {
  const { signal } = new AbortController();
  async function* input(): AsyncGenerator<Uint8Array> {}
  await serveAcp({
    input: input(),
    write: async () => {},
    maxLineBytes: 1000,
    warn: () => {},
    agent: agentWith(async () => ({})),
    clock: new VirtualClock(0),
    signal,
  });
  assert.equal(getEventListeners(signal, "abort").length, 0);
});

for (const isError of [false, true])
  test(`a prompt leaves no listener on the signal of its request (with an error: ${isError})`, async () => {
    const { signal } = new AbortController();
    const agent = agentWith(async () => {
      assert.equal(getEventListeners(signal, "abort").length, 1);
      if (isError) throw new Error("overloaded");
      return { status: "completed", text: "Done." };
    });
    const sessions = new ServedSessions({ agent, clock: new VirtualClock(0) });
    const client = { notify: async () => {} } as object as AgentContext;
    const { sessionId } = await sessions.create({ cwd: "/" }, client);
    const asked = { sessionId, prompt: [{ type: "text" as const, text: "Go." }] };
    const answer = sessions.prompt(asked, signal);
    if (isError) await assert.rejects(answer, /overloaded/);
    else assert.equal((await answer).stopReason, "end_turn");
    assert.equal(getEventListeners(signal, "abort").length, 0);
  });
