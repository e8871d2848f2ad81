/** D4: the client for code, with an agent made with the SDK in another process. */

import assert from "node:assert/strict";
import { after, suite, test } from "node:test";
import { createAcpClient } from "../../../../src/acp-client.ts";
import { UserError } from "../../../../src/core/errors.ts";
import { PATIENT, sdkServer, temporaryFolder } from "./agents.ts";

const folder = temporaryFolder("acp-client");
const client = createAcpClient({
  servers: { "SDK Agent": { ...sdkServer, model: "large" }, missing: { command: "no-such-program-here" } },
  cwd: folder,
  deadlines: PATIENT,
});
after(() => client.dispose());

suite("D4: the client of agent servers", () => {
  test("D4: the client knows its servers and the default one without starting any", async () => {
    assert.deepEqual(client.serverNames, ["SDK Agent", "missing"]);
    assert.equal(client.serverCount, 2);
    assert.equal(client.defaultServerName, "SDK Agent");
    assert.equal(client.defaultAgent, "sdk-agent");
    assert.equal((await client.getServerHealth()).status, "stopped");
  });

  test("D4: initialize starts what can be started, and the health says why another failed", async () => {
    await client.initialize();
    const health = await client.getServerHealth();
    assert.equal(health.status, "running");
    assert.equal(health.agent?.version, "1.2.3");
    assert.ok((health.handshakeMs ?? 0) > 0);
    const failed = await client.getServerHealth("missing");
    assert.equal(failed.status, "failed");
    assert.match(failed.error ?? "", /The agent server missing cannot be started: .*no-such-program-here/);
    await assert.rejects(client.initialize(["missing"]), UserError);
    assert.deepEqual([await client.isAvailable(), await client.isAvailable("missing")], [true, false]);
  });

  test("D4: listAgents and getAgent name the agents of the servers that run", async () => {
    const [agent, ...others] = await client.listAgents();
    assert.deepEqual(others, []);
    assert.deepEqual(agent, {
      id: "sdk-agent",
      serverName: "SDK Agent",
      title: undefined,
      version: "1.2.3",
      protocolVersion: 1,
      canLoadSessions: true,
      canListSessions: true,
      canDeleteSessions: true,
    });
    assert.deepEqual(await client.getAgent("SDK Agent"), agent);
    assert.deepEqual(await client.getAgent("sdk-agent"), agent);
    assert.equal(await client.getAgent("other"), undefined);
  });

  test("D4: generate answers one prompt in a session of its own", async () => {
    const { sessionId, ...result } = await client.generate("hello there");
    assert.deepEqual(result, {
      content: "you said: hello there",
      agentId: "sdk-agent",
      serverName: "SDK Agent",
      stop: "done",
      usage: undefined,
      costUsd: undefined,
    });
    assert.notEqual(sessionId, (await client.generate("again")).sessionId);
    assert.equal((await client.getServerHealth()).openSessions, 0);
  });

  test("D4: generateStream gives the pieces and then the result, and to stop reading cancels", async () => {
    const pieces = await Array.fromAsync(client.generateStream("hi"));
    assert.deepEqual(pieces.slice(0, -1), [
      { type: "text", text: "you said: " },
      { type: "text", text: "hi" },
    ]);
    assert.equal(pieces.at(-1)?.type, "result");
    for await (const piece of client.generateStream("slow")) {
      assert.deepEqual(piece, { type: "text", text: "working" });
      break;
    }
    assert.equal((await client.getServerHealth()).openSessions, 0);
  });

  test("D4: chat continues the session of an earlier result, with the model of the configuration", async () => {
    const first = await client.chat("settings");
    assert.equal(first.content, `large default ${folder} 1`);
    await client.setSessionMode(first.sessionId, "plan");
    await client.setSessionModel(first.sessionId, "Small");
    const second = await client.chat("settings", { sessionId: first.sessionId });
    assert.equal(second.content, `small plan ${folder} 2`);
    await client.setSessionMode(first.sessionId, "default");
    await assert.rejects(
      client.setSessionMode(first.sessionId, "fly"),
      /has no mode "fly"; it offers: "default", "plan"/,
    );
    await assert.rejects(
      client.setSessionModel(first.sessionId, "huge"),
      /has no model "huge"; it offers: "small", "large"/,
    );
    await assert.rejects(client.setSessionMode(first.sessionId, "bypassPermissions"), /only default_mode of its entry/);
  });

  test("D4: sessions are listed, loaded without their history in the answer, and deleted", async () => {
    const { sessionId } = await client.newSession();
    const listed = await client.listSessions();
    const open = listed.find((each) => each.sessionId === sessionId);
    assert.deepEqual(open && { ...open, updatedAt: undefined }, {
      sessionId,
      serverName: "SDK Agent",
      cwd: folder,
      title: `${sessionId} title`,
      updatedAt: undefined,
      isOpen: true,
    });
    await client.deleteSession(sessionId);
    assert.ok((await client.listSessions()).every((each) => each.sessionId !== sessionId));
    await assert.rejects(client.setSessionMode(sessionId, "plan"), /No session .* is open: open it with loadSession/);

    await using plain = createAcpClient({ servers: { plain: sdkServer }, cwd: folder });
    const loaded = await plain.loadSession("from-yesterday");
    assert.equal(loaded.isOpen, true);
    const { content } = await plain.chat("settings", { sessionId: "from-yesterday" });
    assert.equal(content, `small default ${folder} 2`);
  });

  test("D4: questions are denied unless the policy allows them, and only for this one time", async () => {
    const question = (await client.generate("run ls")).content;
    assert.equal(question, '{"outcome":"selected","optionId":"no"}');
    const asked: unknown[] = [];
    client.setPermissionPolicy((action) => {
      asked.push([action.toolName, action.input, action.serverName]);
      return true;
    });
    assert.equal((await client.generate("run ls")).content, '{"outcome":"selected","optionId":"once"}');
    assert.deepEqual(asked, [["terminal", { command: "ls" }, "SDK Agent"]]);
    client.setPermissionPolicy("deny");
  });

  test("D4: an aborted prompt is cancelled and says so", async () => {
    const stop = new AbortController();
    const pieces = client.generateStream("slow", { signal: stop.signal });
    await pieces.next();
    stop.abort();
    const end = await pieces.next();
    assert.equal(end.value?.type === "result" && end.value.result.stop, "cancelled");
    await pieces.return();
  });

  test("D4: an agent id names an agent and never a mode; an unknown server is named with those there are", async () => {
    await assert.rejects(client.generate("x", { agentId: "bypassPermissions" }), /has no agent "bypassPermissions"/);
    await assert.rejects(
      client.generate("x", { serverName: "nope" }),
      /Unknown agent server "nope"; agent_servers has: SDK Agent, missing/,
    );
    assert.throws(() => client.externalAgent("nope"), UserError);
  });

  test("D4: there are no embeddings, and asking says so", () => {
    assert.throws(() => client.embed(), /Agent Client Protocol has no embeddings/);
  });

  test("D4: two prompts at once share one process, and a closed client starts nothing", async () => {
    await using other = createAcpClient({
      servers: { one: sdkServer },
    });
    const [a, b] = await Promise.all([other.generate("a"), other.generate("b")]);
    assert.equal(a.sessionId.split("-")[1], b.sessionId.split("-")[1]);
    await other.dispose();
    await assert.rejects(other.generate("x"), /is closed/);
  });
});
