/** Updates on their way to an editor: how many, in which order, and what is never lost. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { SessionUpdate } from "@agentclientprotocol/sdk";
import { UpdateQueue } from "../../../../src/bridges/acp/serve-updates.ts";
import { VirtualClock } from "../../../../src/testing/world.ts";

type Sent = { at: number; update: SessionUpdate };

function stage(): { clock: VirtualClock; queue: UpdateQueue; sent: Sent[] } {
  const clock = new VirtualClock(0);
  const sent: Sent[] = [];
  const send = async (update: SessionUpdate): Promise<void> => void sent.push({ at: clock.monotonic(), update });
  return { clock, queue: new UpdateQueue({ send, clock }), sent };
}

/** Lets time pass until nothing more is sent. */
async function toTheEnd(clock: VirtualClock): Promise<void> {
  do await setImmediate();
  while (clock.fireNext(() => 0));
}

const text = (words: string): SessionUpdate => ({
  sessionUpdate: "agent_message_chunk",
  content: { type: "text", text: words },
});
const call = (toolCallId: string): SessionUpdate => ({ sessionUpdate: "tool_call", toolCallId, title: toolCallId });
const change = (toolCallId: string, status: "in_progress" | "completed"): SessionUpdate => ({
  sessionUpdate: "tool_call_update",
  toolCallId,
  status,
});

suite("the updates of a session", () => {
  test("at most ten updates are sent in any second, in order", async () => {
    const { clock, queue, sent } = stage();
    const calls = Array.from({ length: 25 }, (_, index) => `call ${index}`);
    for (const id of calls) queue.add(call(id));
    await toTheEnd(clock);
    assert.deepEqual(
      sent.map(({ update }) => "toolCallId" in update && update.toolCallId),
      calls,
    );
    for (const { at } of sent) {
      const within = sent.filter((other) => other.at >= at && other.at < at + 1000);
      assert.ok(within.length <= 10, `${within.length} from ${at} on`);
    }
  });

  test("updates join while they wait: text with the text before it, and changes of a call with the call", async () => {
    const { clock, queue, sent } = stage();
    for (const update of [text("a"), text("b"), call("one"), text("c"), change("one", "in_progress"), text("d")])
      queue.add(update);
    queue.add(change("one", "completed"));
    await toTheEnd(clock);
    assert.deepEqual(
      sent.map(({ update }) => update),
      [text("ab"), { ...call("one"), status: "completed" }, text("cd")],
    );
  });

  test("all updates are sent before a question or an answer, which waits two seconds at most", async () => {
    const { clock, queue, sent } = stage();
    for (let index = 0; index < 100; index++) queue.add(call(`call ${index}`));
    let isDrained = false;
    const drained = queue.drain().then(() => {
      isDrained = true;
    });
    await toTheEnd(clock);
    await drained;
    assert.ok(isDrained);
    assert.equal(sent.length, 100);
    assert.ok(clock.monotonic() <= 2100, `${clock.monotonic()} ms`);
  });

  test("updates end when the client is gone", async () => {
    const clock = new VirtualClock(0);
    let tries = 0;
    const send = (): Promise<void> => {
      tries += 1;
      return Promise.reject(new Error("closed"));
    };
    const queue = new UpdateQueue({ send, clock });
    for (let index = 0; index < 5; index++) queue.add(call(`call ${index}`));
    await toTheEnd(clock);
    queue.add(call("late"));
    await toTheEnd(clock);
    assert.equal(tries, 1);
  });
});
