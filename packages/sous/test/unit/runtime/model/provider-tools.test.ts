/** Tools that run at the provider, on the wire of Anthropic, OpenAI and Google: sent, recorded, sent back, and billed. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { anthropic } from "@ai-sdk/anthropic";
import { google } from "@ai-sdk/google";
import { openai } from "@ai-sdk/openai";
import { agent } from "../../../../src/core/agent.ts";
import type { EventOf, StoredEvent } from "../../../../src/core/event.ts";
import type { Model } from "../../../../src/core/model.ts";
import { FIRST_FENCE } from "../../../../src/core/store.ts";
import type { ToolList } from "../../../../src/core/tool.ts";
import { rerun } from "../../../../src/rerun.ts";
import { createRuntime, run } from "../../../../src/runtime.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { checkHistory } from "../../../../src/testing/checker.ts";
import { simpleTool } from "../../../support/requirements/support.ts";
import {
  anthropicCall,
  anthropicFound,
  anthropicSearch,
  anthropicStream,
  anthropicText,
  FOUND,
  googleStream,
  openAiCall,
  openAiSearch,
  openAiStream,
  openAiText,
  wireModel,
} from "./provider-wire.ts";

const look = simpleTool("look");
const CLAUDE = "anthropic/claude-sonnet-4-5";
const GPT = "openai/gpt-5.5";

/** Runs one agent to its end in a store, and checks that the rerun of it is the same. */
async function live(model: Model, tools: ToolList, options: object = {}) {
  const store = openMemoryStore();
  const lead = agent({ name: "lead", model, tools });
  const runtime = createRuntime({ store, models: { prices: { [model.id]: { input: 3, output: 15 } } }, ...options });
  const result = await runtime.run(lead, "Where is Bern?").result;
  const events = await store.read(result.runId);
  assert.deepEqual(checkHistory(events), []);
  const again = await rerun(result.runId, { store });
  assert.equal(again.firstDifference, undefined);
  return { result, events, store };
}

function ofType<Type extends StoredEvent["type"]>(events: readonly StoredEvent[], type: Type): EventOf<Type>[] {
  return events.filter((event): event is EventOf<Type> & StoredEvent => event.type === type);
}

/** Without what every event has. */
function activity(events: readonly StoredEvent[]) {
  return ofType(events, "outside-call").map(({ callId, phase, name, kind, title, input, output, isError }) => ({
    ...{ callId, phase, name, kind, title, input },
    ...(phase === "end" && { output, isError }),
  }));
}

describe("Anthropic", () => {
  const searching = anthropicStream({
    blocks: [anthropicSearch(0, "bern"), anthropicFound(1, "srvtoolu_0"), anthropicCall(2, "c1", "look")],
    stop: "tool_use",
    searches: 1,
  });
  const tools = { search: anthropic.tools.webSearch_20250305({ maxUses: 3 }), look };

  test("a search is sent as the provider's tool, and its call and result go back unchanged", async () => {
    const answer = anthropicStream({ blocks: [anthropicText(0, "In Switzerland.")], stop: "end_turn" });
    const { model, bodies } = await wireModel(CLAUDE, [searching, answer]);
    const { result, events } = await live(model, tools);
    assert.equal(result.text, "In Switzerland.");
    assert.deepEqual(bodies[0].tools[0], { type: "web_search_20250305", name: "web_search", max_uses: 3 });
    assert.deepEqual(bodies[1].messages[1].content, [
      { type: "server_tool_use", id: "srvtoolu_0", name: "web_search", input: { query: "bern" } },
      { type: "web_search_tool_result", tool_use_id: "srvtoolu_0", content: [FOUND] },
      { type: "tool_use", id: "c1", name: "look", input: {} },
    ]);
    const start = {
      ...{ callId: "srvtoolu_0", name: "search", kind: "provider", title: "bern", input: { query: "bern" } },
    };
    const output = '[{"url":"https://example.org/bern","title":"Bern","pageAge":null,"type":"web_search_result"}]';
    assert.deepEqual(activity(events), [
      { ...start, phase: "start" },
      { ...start, phase: "end", output, isError: false },
    ]);
  });

  test("a restart between an answer and what is recorded of its searches records the rest, once", async () => {
    const end = anthropicStream({ blocks: [anthropicText(0, "In Switzerland.")], stop: "end_turn" });
    const pausing = anthropicStream({ blocks: [anthropicSearch(0, "bern")], stop: "pause_turn" });
    const models = { prices: { [CLAUDE]: { input: 3, output: 15 } } };
    for (const answer of [searching, pausing]) {
      const { model: first } = await wireModel(CLAUDE, [answer, end]);
      const whole = await live(first, tools);
      const expected = activity(whole.events);
      assert.equal(expected.length, 2);
      const answered = whole.events.findIndex(({ type }) => type === "message-end");
      for (let kept = answered + 1; kept <= answered + 1 + expected.length; kept++) {
        const store = openMemoryStore();
        await store.append(whole.result.runId, whole.events.slice(0, kept));
        await store.release(whole.result.runId, FIRST_FENCE);
        const { model } = await wireModel(CLAUDE, [end]);
        const lead = agent({ name: "lead", model, tools });
        const result = await createRuntime({ store, models }).resume(whole.result.runId, { agent: lead }).result;
        assert.equal(result.status, "completed");
        const events = await store.read(result.runId);
        assert.deepEqual(activity(events), expected);
        assert.equal((await rerun(result.runId, { store })).firstDifference, undefined);
      }
    }
  });

  test("searches of Anthropic are billed as the provider counts them, besides the tokens", async () => {
    const answer = anthropicStream({ blocks: [anthropicText(0, "Yes.")], stop: "end_turn" });
    const { model } = await wireModel(CLAUDE, [searching, answer]);
    const { result, events } = await live(model, tools);
    const [first, second] = ofType(events, "message-end");
    assert.deepEqual(first?.providerCalls, { "anthropic.web_search_20250305": 1 });
    assert.equal(second?.providerCalls, undefined);
    assert.equal(result.costUsd?.toFixed(6), (0.01 + 2 * 0.0045).toFixed(6));
    assert.deepEqual(ofType(events, "run-start")[0]?.price, {
      ...{ input: 3, output: 15, calls: { "anthropic.web_search_20250305": 0.01 } },
    });
  });

  test("an error of a search is recorded as one, costs nothing and goes back", async () => {
    const failed = anthropicStream({
      blocks: [
        anthropicSearch(0, "bern"),
        anthropicFound(1, "srvtoolu_0", { type: "web_search_tool_result_error", error_code: "max_uses_exceeded" }),
        anthropicCall(2, "c1", "look"),
      ],
      stop: "tool_use",
    });
    const answer = anthropicStream({ blocks: [anthropicText(0, "No.")], stop: "end_turn" });
    const { model, bodies } = await wireModel(CLAUDE, [failed, answer]);
    const { events } = await live(model, tools);
    assert.equal(activity(events)[1]?.isError, true);
    assert.equal(ofType(events, "message-end")[0]?.providerCalls, undefined);
    assert.equal(bodies[1].messages[1].content[1].content.error_code, "max_uses_exceeded");
  });

  test("an answer that its provider pauses is continued, and its text is whole", async () => {
    const paused = anthropicStream({
      blocks: [anthropicText(0, "I search. "), anthropicSearch(1, "bern")],
      stop: "pause_turn",
    });
    const rest = anthropicStream({
      blocks: [anthropicFound(0, "srvtoolu_1"), anthropicText(1, "In Switzerland.")],
      stop: "end_turn",
      searches: 1,
    });
    const { model, bodies } = await wireModel(CLAUDE, [paused, rest]);
    const { result, events } = await live(model, tools);
    assert.equal(result.text, "I search. In Switzerland.");
    assert.deepEqual(
      bodies[1].messages.map(({ role }: { role: string }) => role),
      ["user", "assistant"],
    );
    assert.equal(bodies[1].messages[1].content.at(-1).id, "srvtoolu_1");
    assert.deepEqual(
      activity(events).map(({ phase, callId }) => `${phase} ${callId}`),
      ["start srvtoolu_1", "end srvtoolu_1", "start srvtoolu_1", "end srvtoolu_1"],
    );
  });

  test("half a pair is never sent: a call without a result goes when the conversation continues", async () => {
    const cut = anthropicStream({ blocks: [anthropicText(0, "Hm."), anthropicSearch(1, "bern")], stop: "end_turn" });
    const answer = anthropicStream({ blocks: [anthropicText(0, "Yes.")], stop: "end_turn" });
    const { model, bodies } = await wireModel(CLAUDE, [cut, answer]);
    const handle = run(agent({ name: "lead", model, tools }), "Where is Bern?");
    await handle.result;
    await handle.followUp("And Basel?").result;
    assert.deepEqual(bodies[1].messages[1].content, [{ type: "text", text: "Hm." }]);
  });

  test("another provider is not sent what this one did", async () => {
    const { model } = await wireModel(CLAUDE, [
      anthropicStream({
        blocks: [anthropicSearch(0, "bern"), anthropicFound(1, "srvtoolu_0"), anthropicText(2, "There.")],
        stop: "end_turn",
      }),
    ]);
    const other = await wireModel(GPT, [openAiStream([openAiText("Yes.")])]);
    const switching: Model = { ...model, answer: (request, onDelta) => chosen().answer(request, onDelta) };
    let turn = 0;
    const chosen = () => (turn++ === 0 ? model : other.model);
    const handle = run(agent({ name: "lead", model: switching, tools }), "Where is Bern?");
    await handle.result;
    await handle.followUp("And Basel?").result;
    assert.deepEqual(
      other.bodies[0].input.map(({ role, type }: { role?: string; type?: string }) => role ?? type),
      ["user", "assistant", "user"],
    );
  });

  test("bash of Anthropic is sent as its own tool and runs here, after approval where that is asked for", async () => {
    const calling = anthropicStream({ blocks: [anthropicCall(0, "c1", "bash", { command: "ls" })], stop: "tool_use" });
    const answer = anthropicStream({ blocks: [anthropicText(0, "Done.")], stop: "end_turn" });
    const { model, bodies } = await wireModel(CLAUDE, [calling, answer]);
    const bash = anthropic.tools.bash_20250124({ execute: async () => "ran", needsApproval: true });
    const asked: string[] = [];
    const result = await run(agent({ name: "lead", model, tools: [bash] }), "Go", {
      approve: ({ toolName }) => {
        asked.push(toolName);
        return { allow: true };
      },
    }).result;
    assert.equal(result.text, "Done.");
    assert.deepEqual(asked, ["bash"]);
    assert.deepEqual(bodies[0].tools, [{ type: "bash_20250124", name: "bash" }]);
    assert.equal(bodies[1].messages[2].content[0].content, "ran");
  });
});

describe("OpenAI", () => {
  const tools = { web_search: openai.tools.webSearch({ searchContextSize: "low" }), look };
  const search = openAiSearch("ws_1", { type: "search", query: "bern", sources: [{ type: "url", url: FOUND.url }] });
  const opened = openAiSearch("ws_2", { type: "open_page", url: FOUND.url });

  test("a search is sent, recorded with its sources, billed once, and goes back; a page that is opened costs nothing", async () => {
    const { model, bodies } = await wireModel(GPT, [
      openAiStream([search, opened, openAiCall("c1", "look")]),
      openAiStream([openAiText("In Switzerland.")]),
    ]);
    const { result, events } = await live(model, tools);
    assert.equal(result.text, "In Switzerland.");
    assert.deepEqual(bodies[0].tools[0], { type: "web_search", search_context_size: "low" });
    const back = bodies[1].input.filter(({ type }: { type: string }) => type === "web_search_call");
    assert.deepEqual(
      back.map(({ id, action }: { id: string; action: { type: string } }) => [id, action.type]),
      [
        ["ws_1", "search"],
        ["ws_2", "open_page"],
      ],
    );
    const [first] = ofType(events, "message-end");
    assert.deepEqual(first?.providerCalls, { "openai.web_search": 1 });
    assert.deepEqual(first?.message.content.at(-1), {
      ...{ type: "provider", kind: "note", from: "openai.responses", callId: "sources", toolName: "sources" },
      value: { sources: [{ url: FOUND.url }] },
    });
    assert.equal(activity(events).length, 4);
  });

  test("the chat protocol has no tools of the provider: the run is refused before it asks", async () => {
    const { model, bodies } = await wireModel("openai-chat/gpt-5.5", []);
    await assert.rejects(
      Promise.resolve(run(agent({ name: "lead", model, tools }), "Go")),
      /^UserError: The tool web_search \(openai\.web_search\) is one of the provider "openai", and the model openai-chat\/gpt-5\.5 cannot use it/,
    );
    assert.deepEqual(bodies, []);
  });
});

describe("Google", () => {
  const tools = { google_search: google.tools.googleSearch({}) };
  const grounding = {
    webSearchQueries: ["bern", "bern switzerland"],
    groundingChunks: [{ web: { uri: FOUND.url, title: "Bern" } }],
  };
  const grounded = googleStream([{ text: "In Switzerland." }], grounding);

  for (const [name, count, fee] of [
    ["gemini-3-pro-preview", 2, 0.014],
    ["gemini-2.5-pro", 1, 0.035],
  ] as const) {
    test(`a search of ${name} is known by its queries and sources, and billed by ${count === 1 ? "prompt" : "query"}`, async () => {
      const { model, bodies } = await wireModel(`google/${name}`, [grounded]);
      const { result, events } = await live(model, tools);
      assert.deepEqual(bodies[0].tools, [{ googleSearch: {} }]);
      assert.deepEqual(activity(events)[1], {
        ...{ callId: "google_search_1", phase: "end", name: "google_search", kind: "provider" },
        ...{ title: "bern, bern switzerland", input: { queries: ["bern", "bern switzerland"] } },
        ...{ output: `[{"url":"${FOUND.url}","title":"Bern"}]`, isError: false },
      });
      assert.deepEqual(ofType(events, "message-end")[0]?.providerCalls, { "google.google_search": count });
      assert.equal(result.costUsd?.toFixed(6), (0.0045 + count * fee).toFixed(6));
    });
  }

  test("a model that takes either its own tools or yours fails in words, and does not leave yours out", async () => {
    const { model } = await wireModel("google/gemini-2.5-pro", [grounded]);
    const result = await run(agent({ name: "lead", model, tools: { ...tools, look } }), "Go").result;
    assert.match(
      result.error?.message ?? "",
      /does not take these tools \(combination of function and provider-defined tools\)/,
    );
  });
});
