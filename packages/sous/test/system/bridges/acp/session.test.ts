/** Sessions as the runtime opens them, and agents that break the protocol in every state (B6.1, B6.6). */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { createAcpClient } from "../../../../src/acp-client.ts";
import { openPrograms } from "../../../../src/app/process/programs.ts";
import { writeFileTool } from "../../../../src/app/tools/edit-file.ts";
import { readFileTool } from "../../../../src/app/tools/read-only.ts";
import { terminalTool } from "../../../../src/app/tools/terminal.ts";
import { ModelError, UserError } from "../../../../src/core/errors.ts";
import { type ExternalAction, SessionLost } from "../../../../src/core/external-agent.ts";
import type { Tool, ToolResult } from "../../../../src/core/tool.ts";
import { readWithin } from "../../../../src/core/within.ts";
import { contextIn } from "../../../support/app/tools/temporary-tree.ts";
import {
  badClient,
  badServer,
  never,
  openExternal,
  PATIENT,
  RecordingHost,
  script,
  sdkServer,
  sessionRequest,
  shellServer,
  temporaryFolder,
} from "./agents.ts";

const folder = temporaryFolder("acp-session");

suite("D5: a session of the runtime", () => {
  test("D5: text, plan, calls and questions of an SDK agent reach the run, and its own process ends with the session", async () => {
    await using client = createAcpClient({ servers: { sdk: sdkServer }, deadlines: PATIENT });
    const host = new RecordingHost();
    host.allow = () => true;
    const session = await openExternal(client, host, folder);
    const answer = await session.prompt("run ls", never);
    assert.deepEqual(answer, { stop: "done", usage: undefined, costUsd: undefined });
    assert.equal(host.text, '{"outcome":"selected","optionId":"once"}');
    assert.deepEqual(host.plans, [["run it"]]);
    assert.deepEqual(
      host.questions.map(({ toolName, input }) => [toolName, input]),
      [["terminal", { command: "ls" }]],
    );
    const [begun, ended] = host.calls;
    const call = { name: "execute", kind: "execute", title: "ls", input: { command: "ls" } };
    assert.deepEqual(begun, { ...call, callId: begun?.callId, phase: "start" });
    assert.deepEqual(ended, { ...call, callId: begun?.callId, phase: "end", output: "ran", isError: false });
    const pid = Number(session.id.split("-")[1]);
    await session.close();
    assert.throws(() => process.kill(pid, 0), { code: "ESRCH" });
  });

  test("D5: files and terminals of the agent are the tools of the run", async () => {
    await using programs = openPrograms({ environment: process.env });
    await using client = createAcpClient({ servers: { sdk: sdkServer }, deadlines: PATIENT });
    const host = new RecordingHost();
    const tools: Record<string, Tool> = {
      read_file: readFileTool(),
      write_file: writeFileTool(),
      terminal: terminalTool({ programs, timeoutMs: 10_000 }),
    };
    host.run = (action: ExternalAction) =>
      (tools[action.toolName]?.execute(action.input, contextIn(folder)) as Promise<ToolResult>).catch(
        (error: Error) => ({
          success: false,
          output: "",
          error: error.message,
        }),
      );
    const session = await openExternal(client, host, folder);
    await session.prompt(`files ${join(folder, "a.txt")} hello`, never);
    assert.equal(readFileSync(join(folder, "a.txt"), "utf8"), "hello");
    await session.prompt("terminal printf %s; one;two $HOME", never);
    await session.prompt("terminal false", never);
    await session.close();
    assert.deepEqual(host.texts, ["hello\n", "0: one;two;$HOME;", "1: "]);
  });

  test("D5: the agent is started in its folder, with what is left of depth and budget in its variables", async () => {
    await using client = badClient();
    const host = new RecordingHost();
    const session = await openExternal(client, host, folder);
    await session.prompt(script({ variable: "SOUS_WITHIN" }), never);
    await session.close();
    assert.deepEqual(readWithin(host.text), {
      depth: 1,
      maxDepth: 3,
      tokens: 900,
      costUsd: undefined,
      durationMs: 60_000,
    });
    assert.throws(() => readWithin('{"depth":1}'), /SOUS_WITHIN does not hold the limits of an outer run/);
  });

  test("F2: the agent is handed its trace, in its variables and with every request about work", async () => {
    await using client = badClient();
    const trace = { traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", baggage: "team=blue" };
    const host = new RecordingHost();
    const session = await client.externalAgent().open(sessionRequest(folder, { trace }), host);
    await session.prompt(script({ variable: "TRACEPARENT" }, { say: " " }, { variable: "BAGGAGE" }), never);
    await session.prompt(script({ say: " " }, { variable: "TRACESTATE" }, { say: " " }, { tell: "metas" }), never);
    await session.close();
    const metas = ["session/new", "session/prompt", "session/prompt"].map((method) => [method, trace]);
    assert.equal(host.text, `${trace.traceparent} team=blue unset ${JSON.stringify(metas)}`);
  });

  test("D5: a recorded session is loaded without its history, or is lost in words", async () => {
    await using client = badClient();
    const host = new RecordingHost();
    const agent = client.externalAgent();
    const session = await agent.open(sessionRequest(folder, { sessionId: "old" }), host);
    await session.prompt("more", never);
    await session.close();
    assert.equal(host.text, "you said: more");
    await using forgetful = badClient({ capabilities: {} });
    const lost = forgetful.externalAgent().open(sessionRequest(folder, { sessionId: "old" }), host);
    await assert.rejects(
      lost,
      (error) => error instanceof SessionLost && /cannot continue a session/.test(error.message),
    );
    await using refusing = badClient({ refuseAt: "session/load" });
    const refused = refusing.externalAgent().open(sessionRequest(folder, { sessionId: "old" }), host);
    await assert.rejects(refused, (error) => error instanceof SessionLost && /on purpose/.test(error.message));
  });

  test("D5: a cancelled turn waits for the agent's answer, and one that does not stop is ended with its process", async () => {
    await using client = badClient({ isStubborn: true });
    const host = new RecordingHost();
    const session = await openExternal(client, host, folder);
    const stop = new AbortController();
    const zeros = { inputTokens: 0, outputTokens: 0, totalTokens: 0 };
    const prompt = script({ say: "on it" }, { until: "cancel" }, { answer: { stopReason: "cancelled", usage: zeros } });
    const answer = session.prompt(prompt, stop.signal);
    await told(host);
    stop.abort();
    assert.deepEqual(await answer, { stop: "cancelled", usage: undefined, costUsd: undefined });

    await session.close();

    host.clear();
    await using hasty = badClient({ isStubborn: true }, { deadlines: { ...PATIENT, graceMs: 100 } });
    const other = await openExternal(hasty, host, folder);
    const again = new AbortController();
    const stuck = other.prompt(script({ say: "on it" }, { until: "cancel" }, { answer: null }), again.signal);
    await told(host);
    again.abort();
    await assert.rejects(stuck, /did not stop within 0.1 seconds after it was cancelled, and was ended/);
    await assert.rejects(other.prompt("x", never), /still works on a prompt|was closed|is closed/);
    await other.close();
  });

  test("D5: a signal that aborts while the agent starts ends it", async () => {
    await using client = badClient({ silentAt: "session/new" });
    const stop = new AbortController();
    const opening = client.externalAgent().open(sessionRequest(folder, { signal: stop.signal }), new RecordingHost());
    stop.abort(new Error("enough"));
    await assert.rejects(opening, /enough/);
  });

  test("D5: the mode of the configuration is set, also one that skips questions; by itself no agent may be in one", async () => {
    const modes = {
      currentModeId: "yolo",
      availableModes: [{ id: "default" }, { id: "yolo" }],
    };
    await using client = badClient({ session: { modes } });
    const opening = openExternal(client, new RecordingHost(), folder);
    await assert.rejects(opening, (error) => error instanceof UserError && /is in its mode yolo/.test(error.message));
    const server = badServer({ session: { modes } });
    await using chosen = createAcpClient({ servers: { bad: { ...server, defaultMode: "yolo" } } });
    await (await openExternal(chosen, new RecordingHost(), folder)).close();
    await using other = createAcpClient({ servers: { bad: { ...server, defaultMode: "default" } } });
    await (await openExternal(other, new RecordingHost(), folder)).close();
  });
});

suite("B6.1: an agent that breaks the protocol", () => {
  test("B6.1: banners, half frames, answers to unknown ids and a line of 34 MB are skipped", async () => {
    await using client = badClient({ banner: true, stderrBytes: 3_000_000 }, { cwd: folder });
    const result = { stopReason: "end_turn" };
    const pieces = client.generateStream(
      script(
        { line: '{"jsonrpc":"2.0","id":3,"res' },
        { message: { id: 99, result } },
        { message: { id: "3", result } },
        { message: { id: 3.5, result } },
        { message: { id: 1, result } },
        { line: "[]" },
        { line: "null" },
        { bytes: 34_000_000 },
        { message: { method: 7 } },
        { message: { method: "session/update", params: { sessionId: "$S", update: { sessionUpdate: 5 } } } },
        { message: { method: "session/update", params: [] } },
        { update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text: 7 } } },
        { update: { sessionUpdate: "tool_call", toolCallId: 7, title: [] } },
        { update: { sessionUpdate: "no_such_update" } },
        { say: "still here" },
      ),
    );
    const [said, end, ...more] = await Array.fromAsync(pieces);
    assert.deepEqual([said, more], [{ type: "text", text: "still here" }, []]);
    assert.equal(end?.type === "result" && end.result.stop, "done");
    assert.equal((await client.getServerHealth()).droppedLines, 1);
  });

  for (const method of ["initialize", "session/new", "session/prompt"] as const) {
    test(`B6.1: an agent fails in time and in words by silence, death, a wrong shape or an error at ${method}`, async () => {
      const short = {
        initialize: { startMs: 2000 },
        "session/new": { requestMs: 500 },
        "session/prompt": { silenceMs: 500 },
      };
      const deadlines = { ...PATIENT, ...short[method] };
      const messages = await Promise.all(
        (["silent", "dies", "wrong", "refuses"] as const).map(async (how) => {
          await using client = createAcpClient({
            servers: { bad: shellServer(method, how) },
            deadlines: how === "silent" ? deadlines : PATIENT,
          });
          const failing = openExternal(client, new RecordingHost(), folder).then(async (session) => {
            try {
              return await session.prompt("x", never);
            } finally {
              await session.close();
            }
          });
          return await failing.then(
            () => "no failure",
            (error: unknown) => (error instanceof ModelError ? error.message : `not a ModelError: ${error}`),
          );
        }),
      );
      assert.match(messages[0] ?? "", /did not answer|sent nothing for 0.5 seconds/);
      assert.match(messages[1] ?? "", /The agent server bad ended with exit code 7; it said: out of memory/);
      assert.match(messages[2] ?? "", /in a shape that is not known|gave no valid handshake/);
      assert.match(messages[3] ?? "", /refused .*: Internal error \(on purpose\)/);
    });
  }

  test("B6.1: an agent that dies in a turn, or closes its input or its output, fails the prompt", async () => {
    const turns = [script({ say: "a" }, { die: 9 }), script({ say: "a" }, { close: "output" })];
    const messages = await Promise.all(
      turns.map(async (prompt) => {
        await using client = badClient();
        const session = await openExternal(client, new RecordingHost(), folder);
        const message = await session.prompt(prompt, never).then(String, (error: Error) => error.message);
        await session.close();
        return message;
      }),
    );
    assert.match(messages[0] ?? "", /ended with exit code 9/);
    assert.match(messages[1] ?? "", /The agent server bad ended/);
    await using client = badClient();
    const session = await openExternal(client, new RecordingHost(), folder);
    await session.prompt(script({ close: "input" }), never);
    await assert.rejects(session.prompt("x", never), /no longer reads its input|ended/);
    await session.close();
  });

  test("B6.1: an agent that dies while it is asked to stop, or while a person is asked, fails the prompt at once", async () => {
    const question = { sessionId: "$S", toolCall: { toolCallId: "q" }, options: [] };
    const turns = [
      script({ say: "a" }, { until: "cancel" }, { die: 4 }),
      script({ asking: "session/request_permission", params: question }, { say: "a" }, { die: 5 }),
    ];
    const messages = await Promise.all(
      turns.map(async (prompt) => {
        await using client = badClient();
        const host = new RecordingHost();
        host.allow = () => new Promise(() => {});
        const session = await openExternal(client, host, folder);
        const stop = new AbortController();
        const answer = session.prompt(prompt, stop.signal).then(String, (error: Error) => error.message);
        await told(host);
        if (prompt === turns[0]) stop.abort();
        const message = await answer;
        await session.close();
        return message;
      }),
    );
    assert.match(messages[0] ?? "", /ended with exit code 4/);
    assert.match(messages[1] ?? "", /ended with exit code 5/);
  });

  test("B6.1: another version of the protocol, and a program that cannot be started, are named", async () => {
    await using newer = badClient({ version: 2 });
    await assert.rejects(openExternal(newer, new RecordingHost(), folder), /speaks version 2 of the protocol, not 1/);
    await using missing = createAcpClient({ servers: { gone: { command: "no-such-program-here" } } });
    await assert.rejects(openExternal(missing, new RecordingHost(), folder), UserError);
  });

  test("B6.6: a late answer to a cancelled prompt is not taken for the next one", async () => {
    await using client = badClient({}, { deadlines: { ...PATIENT, graceMs: 100 }, cwd: folder });
    const { sessionId } = await client.newSession();
    const stop = new AbortController();
    client.setPermissionPolicy(() => {
      stop.abort();
      return false;
    });
    const question = { sessionId, toolCall: { toolCallId: "q" }, options: [] };
    const steps = script(
      { ask: "session/request_permission", params: question },
      { until: "cancel" },
      { answer: null },
    );
    // The handshake is request 1, the session 2, this prompt 3.
    const first = client.chat(steps, { sessionId, signal: stop.signal });
    await assert.rejects(first, /did not stop/);
    await assert.rejects(client.chat("next", { sessionId }), /still works on a prompt that was given up/);
    const late = { id: 3, result: { stopReason: "refusal" } };
    const second = await client.generate(script({ message: late }, { say: "mine" }));
    assert.deepEqual([second.stop, second.content], ["done", "mine"]);
    // It has answered meanwhile: what it says belongs to the next prompt again.
    assert.equal((await client.chat("next", { sessionId })).content, "you said: next");
  });
});

/** Until the agent has said something. */
async function told(host: RecordingHost): Promise<void> {
  if (host.texts.length > 0) return;
  await new Promise<void>((resolve) => {
    host.onText = (text) => {
      host.texts.push(text);
      resolve();
    };
  });
}
