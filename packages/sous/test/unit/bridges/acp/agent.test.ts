/** The start of an agent, its sessions and its prompts: what was set up for one of them is gone when it is over. */

import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { suite, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { startAgent } from "../../../../src/bridges/acp/agent.ts";
import { openExternal } from "../../../../src/bridges/acp/external.ts";
import { iteratePieces, LibrarySession } from "../../../../src/bridges/acp/library-session.ts";
import type { ExternalHost } from "../../../../src/core/external-agent.ts";
import { handshake, stubAgent } from "../../../support/bridges/acp/stub-agent.ts";

const ALLOWANCE = { depth: 0, maxDepth: 3, tokens: undefined, costUsd: undefined, durationMs: undefined };

function listenersOf(signal: AbortSignal): number {
  return getEventListeners(signal, "abort").length;
}

suite("the start of an agent", () => {
  test("the start of an agent is over when it has shaken hands: no timer and no signal can end it any more", async () => {
    const stub = stubAgent();
    const stop = new AbortController();
    const agent = await startAgent(stub.start, stop.signal);
    assert.deepEqual([stub.clock.liveTimers, listenersOf(stop.signal)], [0, 0]);
    stop.abort();
    assert.equal(stub.isWanted(), true);
    await agent.close();
    assert.equal(stub.isWanted(), false);
  });

  test("the start of an agent that fails is told when its program has ended, and not before", async () => {
    const stub = stubAgent(() => ({ protocolVersion: 99 }), { endsLate: true });
    let told = "";
    const starting = startAgent(stub.start).catch((error: Error) => {
      told = error.message;
    });
    while (stub.isWanted()) await nextTurn();
    await nextTurn();
    assert.equal(told, "");
    stub.end();
    await starting;
    assert.match(told, /speaks version 99 of the protocol/);
  });

  test("the start of an agent for a run is over when its session is open, and the session is told no later stop", async () => {
    const stub = stubAgent();
    const stop = new AbortController();
    const { server } = stub.start;
    const request = { cwd: "/", sessionId: undefined, allowance: ALLOWANCE, signal: stop.signal };
    const session = await openExternal({ server, agentId: undefined, ground: stub.start }, request, {} as ExternalHost);
    assert.equal(listenersOf(stop.signal), 0);
    stop.abort();
    assert.equal(stub.isWanted(), true);
    await session.close();
    assert.equal(stub.isWanted(), false);
  });
});

suite("a request to an agent", () => {
  test("a request to an agent leaves no timer, whether it is answered or refused", async () => {
    const stub = stubAgent((method) => handshake(method) ?? (method === "ask" ? {} : undefined));
    const { connection } = await startAgent(stub.start);
    await connection.request("ask", {}, 1000);
    assert.equal(stub.clock.liveTimers, 0);
    const late = connection.request("never", {}, 1000);
    await nextTurn();
    assert.equal(stub.clock.liveTimers, 1);
    stub.say({ id: stub.sent.at(-1)?.id, error: { code: 1, message: "no" } });
    await assert.rejects(late, /no/);
    assert.equal(stub.clock.liveTimers, 0);
  });

  test("a request of an agent is waited for until it is answered, and others are refused beyond 64 of them only", async () => {
    const stub = stubAgent();
    const { connection } = await startAgent(stub.start);
    for (let round = 0; round < 3; round++) {
      for (let id = 0; id < 64; id++) stub.say({ id: 1000 * round + id, method: "fs/unknown", params: {} });
      await nextTurn();
      while (connection.isWaitedFor) await nextTurn();
    }
    const answers = stub.sent.filter(({ method }) => method === undefined);
    assert.deepEqual([answers.length, JSON.stringify(answers).includes("Too many requests")], [3 * 64, false]);
  });

  test("a watcher of the messages of an agent sees none after it was disposed", async () => {
    const stub = stubAgent();
    const { connection } = await startAgent(stub.start);
    let seen = 0;
    const watching = connection.onMessage(() => {
      seen += 1;
    });
    stub.say({ method: "note" });
    await nextTurn();
    watching[Symbol.dispose]();
    stub.say({ method: "note" });
    await nextTurn();
    assert.equal(seen, 1);
  });
});

suite("a prompt of an agent", () => {
  /** A session whose prompts are answered by the test. */
  async function open() {
    const stub = stubAgent();
    const agent = await startAgent(stub.start);
    const session = await LibrarySession.open({ agent, cwd: "/", policy: () => "deny" });
    const answer = (result: object = { stopReason: "end_turn" }) => {
      const { id } = stub.sent.findLast(({ method }) => method === "session/prompt") ?? assert.fail("no prompt");
      stub.say({ id, result });
    };
    const chunk = (text: string) => ({
      method: "session/update",
      params: {
        sessionId: "s1",
        update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text } },
      },
    });
    return { stub, session, answer, say: (text: string) => stub.say(chunk(text)) };
  }

  test("a prompt of an agent leaves no timer and no listener, also when messages come after it", async () => {
    const { stub, session, answer, say } = await open();
    const stop = new AbortController();
    const pieces: unknown[] = [];
    const prompt = session.prompt("Go.", (piece) => pieces.push(piece), stop.signal);
    say("Fixed.");
    await nextTurn();
    assert.deepEqual([stub.clock.liveTimers > 0, listenersOf(stop.signal)], [true, 1]);
    answer();
    assert.equal((await prompt).content, "Fixed.");
    say("By the way …");
    await nextTurn();
    assert.deepEqual([stub.clock.liveTimers, listenersOf(stop.signal), pieces.length], [0, 0, 1]);
  });

  test("a prompt of an agent that was cancelled leaves no timer", async () => {
    const { stub, session, answer } = await open();
    const stop = new AbortController();
    const prompt = session.prompt("Go.", () => {}, stop.signal);
    stop.abort();
    await nextTurn();
    answer({ stopReason: "cancelled" });
    assert.deepEqual([(await prompt).stop, stub.clock.liveTimers], ["cancelled", 0]);
  });

  test("a prompt of an agent that is over is not cancelled any more", async () => {
    const stub = stubAgent((method) => (method === "session/prompt" ? { stopReason: "end_turn" } : handshake(method)));
    const { server } = stub.start;
    const request = { cwd: "/", sessionId: undefined, allowance: ALLOWANCE, signal: new AbortController().signal };
    const session = await openExternal({ server, agentId: undefined, ground: stub.start }, request, {} as ExternalHost);
    const stop = new AbortController();
    assert.equal((await session.prompt("Go.", stop.signal)).stop, "done");
    assert.equal(listenersOf(stop.signal), 0);
    stop.abort();
    await nextTurn();
    assert.equal(stub.sent.at(-1)?.method, "session/prompt");
  });

  test("a prompt of an agent keeps its pieces when another is refused because this one is at work", async () => {
    const { session, answer, say } = await open();
    const first = session.prompt("Go.", () => {}, undefined);
    await nextTurn();
    say("Fixed ");
    await nextTurn();
    const refused: unknown[] = [];
    await assert.rejects(
      session.prompt("And?", (piece) => refused.push(piece), undefined),
      /works on another prompt/,
    );
    say("it.");
    await nextTurn();
    answer();
    assert.deepEqual([(await first).content, refused], ["Fixed it.", []]);
  });

  test("a prompt of an agent can follow one that failed", async () => {
    const { stub, session, answer } = await open();
    const failing = session.prompt("Go.", () => {}, undefined);
    await nextTurn();
    stub.say({ id: stub.sent.at(-1)?.id, error: { code: 1, message: "overloaded" } });
    await assert.rejects(failing, /overloaded/);
    assert.equal(stub.clock.liveTimers, 0);
    const again = session.prompt("Go.", () => {}, undefined);
    await nextTurn();
    answer();
    assert.equal((await again).stop, "done");
  });
});

suite("the pieces of an answer", () => {
  test("the pieces of an answer are not read to the end: the prompt is stopped, and has ended before the reader continues", async () => {
    const stop = new AbortController();
    const over = Promise.withResolvers<never>();
    let isStopped = false;
    const pieces = iteratePieces((onPiece, signal) => {
      onPiece({ type: "text", text: "a" });
      signal.addEventListener("abort", () => {
        isStopped = true;
      });
      return over.promise;
    }, stop.signal);
    let hasLeft = false;
    const reading = (async () => {
      for await (const _piece of pieces) break;
      hasLeft = true;
    })();
    while (!isStopped) await nextTurn();
    assert.equal(hasLeft, false);
    over.reject(new Error("cancelled"));
    await reading;
    assert.equal(listenersOf(stop.signal), 0);
  });
});
