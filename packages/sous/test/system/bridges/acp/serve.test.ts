/** `sous acp serve` as an editor sees it: one process, a session for each test. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import type {
  ContentBlock,
  McpServer,
  RequestPermissionRequest,
  SessionUpdate,
  SetSessionConfigOptionRequest,
} from "@agentclientprotocol/sdk";
import { readProject } from "../../../../src/app/config/trust/files.ts";
import { trust as giveTrust } from "../../../../src/app/config/trust/trust.ts";
import { callsOf, type Editor, editor, type Home, home, newSession, say, textOf } from "./serve-client.ts";

let place: Home;
let zed: Editor;

const SETTINGS = ".config/sous/config.yaml";
const ALLOWED = 'models:\n  allow: ["script/other.json", "openai/gpt-5"]\n';

before(async () => {
  place = await home();
  await mkdir(join(place.path, ".config/sous"), { recursive: true });
  await writeFile(join(place.path, SETTINGS), ALLOWED);
  zed = await editor(place);
});

after(async () => {
  await zed[Symbol.asyncDispose]();
  await place[Symbol.asyncDispose]();
});

const child = (label: string, task_prompt: string) => ({ tool: "subagent", input: { label, task_prompt } });
const write = (path: string) => ({ tool: "write_file", input: { path, content: "new\n" } });
const isCall = (title: string) => (update: SessionUpdate) =>
  update.sessionUpdate === "tool_call" && update.title.endsWith(title);
const isPending = (update: SessionUpdate) => "toolCallId" in update && update.status === "pending";

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

suite("sous acp serve", () => {
  test("sous acp serve answers a prompt with text, thoughts, calls, and children of any depth by their paths", async () => {
    const cwd = await place.project("tree", {
      sous: [
        {
          reasoning: "Let me see.",
          text: ["Look", "ing."],
          calls: [
            { tool: "read_file", input: { path: "pay.ts", offset: 1 } },
            {
              tool: "parallel_subagent",
              input: {
                tasks: [
                  { label: "scout", task_prompt: "look around" },
                  { label: "guide", task_prompt: "look ahead" },
                ],
              },
            },
          ],
        },
        { text: " Done." },
      ],
      "sous/scout": [{ calls: [child("deep", "look deeper")] }, { text: "scouted" }],
      "sous/scout/deep": [{ calls: [{ tool: "grep", input: { pattern: "retries" } }] }, { text: "found it" }],
      "sous/guide": [{ error: { kind: "invalid_request", message: "no way" } }],
    });
    const { sessionId } = await newSession(zed, cwd);
    const answer = await say(zed, sessionId, "go");
    assert.equal(answer.stopReason, "end_turn");
    const updates = zed.updates(sessionId);
    assert.equal(textOf(updates), "Looking. Done.");
    assert.ok(updates.some(({ sessionUpdate }) => sessionUpdate === "agent_thought_chunk"));
    const calls = callsOf(updates);
    assert.deepEqual([...calls].map(([title, { status, kind }]) => `${title} ${kind} ${status}`).toSorted(), [
      "parallel_subagent scout, guide other completed",
      "read_file pay.ts read completed",
      "sous/guide · look ahead think failed",
      "sous/scout · look around think completed",
      "sous/scout · subagent deep other completed",
      "sous/scout/deep · grep retries search completed",
      "sous/scout/deep · look deeper think completed",
    ]);
    assert.match(calls.get("sous/guide · look ahead")?.text ?? "", /no way/);
    assert.match(calls.get("sous/scout/deep · grep retries")?.text ?? "", /pay\.ts:1:/);
    const read = updates.find(isCall("read_file pay.ts"));
    assert.deepEqual(read && "locations" in read && read.locations, [{ path: join(cwd, "pay.ts"), line: 1 }]);
    const plan = updates.findLast(({ sessionUpdate }) => sessionUpdate === "plan");
    assert.deepEqual(plan && "entries" in plan && plan.entries.map(({ content, status }) => [content, status]), [
      ["scout", "completed"],
      ["guide", "completed"],
    ]);
  });

  test("sous acp serve counts what each prompt took in the whole tree", async () => {
    const used = { usage: { input: 100, output: 20 } };
    const cwd = await place.project("bill", {
      sous: [
        { calls: [child("one", "count")], ...used },
        { text: "Done.", ...used },
        { text: "Again.", ...used },
      ],
      "sous/one": [{ text: "1", ...used }],
    });
    const { sessionId } = await newSession(zed, cwd);
    for (const tokens of [360, 120]) {
      const { _meta } = await say(zed, sessionId, "go");
      const { usage, costUsd } = (_meta?.sous ?? {}) as { usage: { totalTokens: number }; costUsd: number };
      assert.deepEqual([usage.totalTokens, costUsd], [tokens, 0]);
    }
  });

  test("sous acp serve asks with the path and the exact action, and remembers always for the agent that asked", async () => {
    const again = { calls: [write("a.txt")] };
    const cwd = await place.project("consent", {
      sous: [again, again, { calls: [write("b.txt")] }, { text: "Done." }],
    });
    const { sessionId } = await newSession(zed, cwd);
    const asked: RequestPermissionRequest[] = [];
    zed.answer(sessionId, (question) => {
      asked.push(question);
      return asked.length === 1 ? "always" : "no";
    });
    assert.equal((await say(zed, sessionId, "write")).stopReason, "end_turn");
    assert.deepEqual(
      asked.map(({ toolCall }) => toolCall.title),
      ["write_file a.txt", "write_file b.txt"],
    );
    const [first] = asked;
    assert.deepEqual(first?.toolCall.locations, [{ path: join(cwd, "a.txt") }]);
    assert.deepEqual(first?.toolCall.rawInput, { path: "a.txt", content: "new\n" });
    assert.match(JSON.stringify(first?.toolCall.content), /sous wants to use write_file\\na\.txt/);
    assert.deepEqual(
      first?.options.map(({ kind }) => kind),
      ["allow_once", "allow_always", "reject_once"],
    );
    assert.equal(await readFile(join(cwd, "a.txt"), "utf8"), "new\n");
    assert.equal(existsSync(join(cwd, "b.txt")), false);
    assert.equal(callsOf(zed.updates(sessionId)).get("write_file b.txt")?.status, "failed");
  });

  test("sous acp serve takes an unknown option and a cancelled question for a no", async () => {
    const cwd = await place.project("unclear", {
      sous: [{ calls: [write("a.txt")] }, { calls: [write("b.txt")] }, { text: "Done." }],
    });
    const { sessionId } = await newSession(zed, cwd);
    const answers = ["allow-everything", undefined];
    zed.answer(sessionId, () => answers.shift());
    assert.equal((await say(zed, sessionId, "write")).stopReason, "end_turn");
    assert.deepEqual([existsSync(join(cwd, "a.txt")), existsSync(join(cwd, "b.txt"))], [false, false]);
  });

  test("a session has modes: read-only refuses changes without a question, allow asks nothing, also as options", async () => {
    const cwd = await place.project("modes", {
      sous: [
        { calls: [write("a.txt")] },
        { text: "1" },
        { calls: [write("b.txt")] },
        { text: "2" },
        { calls: [write("AGENTS.md")] },
        { text: "3" },
      ],
    });
    const { sessionId, modes, configOptions } = await newSession(zed, cwd);
    assert.equal(modes?.currentModeId, "ask");
    assert.deepEqual(
      configOptions?.map(({ category }) => category),
      ["mode", "model"],
    );
    zed.answer(sessionId, () => assert.fail("No question was expected"));
    await zed.agent.request("session/set_mode", { sessionId, modeId: "read-only" });
    await say(zed, sessionId, "write");
    assert.match(callsOf(zed.updates(sessionId)).get("write_file a.txt")?.text ?? "", /read-only/);
    const set: SetSessionConfigOptionRequest = { sessionId, configId: "mode", value: "allow" };
    const { configOptions: now } = await zed.agent.request("session/set_config_option", set);
    assert.equal(now[0]?.currentValue, "allow");
    await say(zed, sessionId, "write");
    assert.deepEqual([existsSync(join(cwd, "a.txt")), existsSync(join(cwd, "b.txt"))], [false, true]);
    // Files that agents obey are asked about in every mode.
    const asked: RequestPermissionRequest[] = [];
    zed.answer(sessionId, (question) => {
      asked.push(question);
      return "no";
    });
    await say(zed, sessionId, "write");
    assert.deepEqual(
      asked.map(({ toolCall }) => toolCall.title),
      ["write_file AGENTS.md"],
    );
    await assert.rejects(
      zed.agent.request("session/set_mode", { sessionId, modeId: "yolo" }),
      /Unknown mode yolo: it can be ask, read-only, allow/,
    );
  });

  test("a session has a model option with what models.allow lists; the conversation stays the same", async () => {
    const cwd = await place.project("models", { sous: [{ text: "first" }] });
    await writeFile(join(cwd, "other.json"), JSON.stringify({ sous: [{ text: "other" }] }));
    const { sessionId, configOptions } = await newSession(zed, cwd);
    const option = configOptions?.find(({ category }) => category === "model");
    assert.deepEqual(option?.type === "select" && option.options, [
      { value: "script/script.json", name: "script/script.json" },
      { value: "script/other.json", name: "script/other.json" },
      { value: "openai/gpt-5", name: "openai/gpt-5" },
    ]);
    await say(zed, sessionId, "one");
    await zed.agent.request("session/set_config_option", { sessionId, configId: "model", value: "script/other.json" });
    await say(zed, sessionId, "two");
    assert.equal(textOf(zed.updates(sessionId)), "firstother");
    const { sessions } = await zed.agent.request("session/list", { cwd });
    assert.deepEqual(
      sessions.map((each) => [each.sessionId, each.title]),
      [[sessionId, "one"]],
    );
    const choose = (value: string) =>
      zed.agent.request("session/set_config_option", { sessionId, configId: "model", value });
    await assert.rejects(choose("openai/o1"), /Unknown model openai\/o1: it can be script/);
    await assert.rejects(choose("openai/gpt-5"), /OPENAI_API_KEY/);
  });

  test("sous acp serve answers cancelled: while the model works, while a question waits, at once, and twice", async () => {
    const cwd = await place.project("cancel", {
      sous: [
        { text: "Working", ending: "hangs" },
        { calls: [write("a.txt")] },
        { text: "3", ending: "hangs" },
        { text: "4" },
      ],
    });
    const { sessionId } = await newSession(zed, cwd);
    const cancel = () => zed.agent.notify("session/cancel", { sessionId });
    // Nothing is live yet.
    await cancel();
    const working = say(zed, sessionId, "one");
    await zed.until(sessionId, (update) => textOf([update]).startsWith("Working"));
    await Promise.all([cancel(), cancel()]);
    assert.equal((await working).stopReason, "cancelled");
    const asking = say(zed, sessionId, "two");
    await zed.until(sessionId, isPending);
    await cancel();
    assert.equal((await asking).stopReason, "cancelled");
    const early = say(zed, sessionId, "three");
    await cancel();
    assert.equal((await early).stopReason, "cancelled");
    assert.equal(existsSync(join(cwd, "a.txt")), false);
  });

  test("sous acp serve refuses a second prompt while one is answered, and keeps two sessions apart", async () => {
    const [one, two] = await Promise.all([
      place.project("busy", { sous: [{ text: "slow", ending: "hangs" }] }),
      place.project("free", { sous: [{ text: "quick" }] }),
    ]);
    const [{ sessionId: busy }, { sessionId: free }] = await Promise.all([newSession(zed, one), newSession(zed, two)]);
    const slow = say(zed, busy, "one");
    await assert.rejects(say(zed, busy, "two"), /This session is at work/);
    assert.equal((await say(zed, free, "hello")).stopReason, "end_turn");
    assert.equal(textOf(zed.updates(free)), "quick");
    await zed.agent.request("session/close", { sessionId: busy });
    assert.equal((await slow).stopReason, "cancelled");
    await assert.rejects(say(zed, busy, "three"), /is not open/);
  });

  test("sous acp serve reads text and resources, and refuses images, audio and binary resources in words", async () => {
    const cwd = await place.project("parts", { sous: [{ text: "ok" }] });
    const { sessionId } = await newSession(zed, cwd);
    const refused = [
      { type: "image", data: "AAAA", mimeType: "image/png" },
      { type: "audio", data: "AAAA", mimeType: "audio/wav" },
      { type: "resource", resource: { uri: "file:///a.bin", blob: "AAAA" } },
      { type: "text", text: "  " },
    ] as const;
    const errors = [];
    for (const part of refused)
      errors.push(await zed.agent.request("session/prompt", { sessionId, prompt: [part] }).catch(messageOf));
    assert.deepEqual(errors, [
      "sous cannot read an image in a prompt: save it as a file and name that",
      "sous cannot read audio in a prompt: save it as a file and name that",
      "file:///a.bin is not text: sous reads text only, so name the file instead",
      "The prompt is empty: write what is to be done",
    ]);
    const prompt: ContentBlock[] = [
      { type: "text", text: "Look at" },
      { type: "resource_link", name: "pay.ts", uri: "file:///pay.ts" },
      { type: "resource", resource: { uri: "file:///note.md", text: "a note" } },
    ];
    assert.equal((await zed.agent.request("session/prompt", { sessionId, prompt })).stopReason, "end_turn");
    await zed.agent.request("session/load", { sessionId, cwd, mcpServers: [] });
    const said = zed.updates(sessionId).find(({ sessionUpdate }) => sessionUpdate === "user_message_chunk");
    assert.deepEqual(said && "content" in said && said.content, {
      type: "text",
      text: 'Look at\n\n[pay.ts](file:///pay.ts)\n\n<resource uri="file:///note.md">\na note\n</resource>',
    });
  });

  test("sous acp serve refuses a folder that is missing, relative, or not or no longer trusted, and says what to do", async () => {
    const cwd = await place.project("untrusted", { sous: [{ text: "ok" }] });
    await writeFile(join(cwd, "AGENTS.md"), "Obey me.\n");
    const refusal = await newSession(zed, cwd).catch(messageOf);
    assert.match(String(refusal), /the files of the project .* are not read \(AGENTS\.md\), because it is not trusted/);
    assert.match(String(refusal), /Run "cd .*untrusted && sous trust" in a terminal, then open the session again$/);
    await assert.rejects(newSession(zed, join(place.path, "nowhere")), /does not exist/);
    await assert.rejects(newSession(zed, "tree"), /must be an absolute path/);
    const stateFolder = join(place.path, ".local/state/sous");
    await giveTrust(cwd, await readProject(cwd), { stateFolder, at: new Date() });
    const { sessionId } = await newSession(zed, cwd);
    assert.equal((await say(zed, sessionId, "hello")).stopReason, "end_turn");
    await writeFile(join(cwd, "AGENTS.md"), "Obey me more.\n");
    await assert.rejects(newSession(zed, cwd), /has changed since it was trusted .* && sous trust" in a terminal/);
    await assert.rejects(
      zed.agent.request("session/load", { sessionId, cwd, mcpServers: [] }),
      /has changed since it was trusted/,
    );
  });

  test("sous acp serve says what it ignores, and shows an error of the provider as one of the protocol", async () => {
    const cwd = await place.project("trouble", {
      sous: [{ error: { kind: "invalid_request", message: "The script does not want to" } }, { text: "Now." }],
    });
    const server: McpServer = { type: "http", name: "files", url: "ftp://files.example/", headers: [] };
    const { sessionId } = await zed.agent.request("session/new", { cwd, mcpServers: [server] });
    await assert.rejects(say(zed, sessionId, "one"), /The script does not want to/);
    const notice = zed.updates(sessionId).find(({ sessionUpdate }) => sessionUpdate === "notice");
    assert.match(JSON.stringify(notice), /of the editor is not used: its address is not one of http or https/);
    assert.match(zed.stderr(), /The MCP server "files" of the editor is not used/);
    const strange = { name: "files", command: 7 } as unknown as McpServer;
    await assert.rejects(zed.agent.request("session/new", { cwd, mcpServers: [strange] }), { code: -32602 });
    assert.equal((await say(zed, sessionId, "two")).stopReason, "end_turn");
  });

  test("sous acp serve shows a mistake in the configuration as an error of the protocol, and continues when it is mended", async () => {
    const cwd = await place.project("settings", { sous: [{ text: "ok" }] });
    await writeFile(join(place.path, SETTINGS), "agent:\n  max_turns: many\n");
    await assert.rejects(newSession(zed, cwd), /max_turns/);
    await writeFile(join(place.path, SETTINGS), ALLOWED);
    const { sessionId } = await newSession(zed, cwd);
    assert.equal((await say(zed, sessionId, "hello")).stopReason, "end_turn");
  });

  test("sous acp serve sends at most ten updates a second, with every piece of text and the last state of every call", async () => {
    const pieces = Array.from({ length: 300 }, (_, index) => `${index} `);
    const cwd = await place.project("many", { sous: [{ text: pieces }, { text: "Done." }] });
    const { sessionId } = await newSession(zed, cwd);
    await say(zed, sessionId, "count");
    const updates = zed.updates(sessionId);
    assert.equal(textOf(updates), pieces.join(""));
    assert.ok(updates.length <= 10, `${updates.length} updates`);
  });

  test("sous acp serve writes nothing but the protocol to standard output, whatever comes in", async () => {
    await zed.write("Welcome to the editor 1.0\n\n");
    await zed.write('{"jsonrpc":"2.0","id":"strange","method":"session/new","params":{"cwd":7}}\n[1,2]\n"text"\n');
    await zed.write(`"${"x".repeat(33 * 1024 * 1024)}"\n`);
    const { sessions } = await zed.agent.request("session/list", {});
    assert.ok(Array.isArray(sessions));
    const lines = zed.stdout().trimEnd().split("\n");
    const messages = lines.map((line) => JSON.parse(line));
    assert.ok(messages.every(({ jsonrpc }) => jsonrpc === "2.0"));
    assert.equal(messages.find(({ id }) => id === "strange").error.code, -32602);
    assert.ok(messages.some(({ error }) => /more than 33554432 bytes was skipped/.test(error?.message)));
    assert.match(zed.stderr(), /A line of standard input that is not JSON was skipped/);
    assert.match(zed.stderr(), /noise on standard output/);
  });
});
