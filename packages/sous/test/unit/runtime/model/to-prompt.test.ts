import assert from "node:assert/strict";
import { test } from "node:test";
import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import { ModelError } from "../../../../src/core/errors.ts";
import { type Message, type UserInput, userMessage } from "../../../../src/core/message.ts";
import { promptBuilder, toolConverter } from "../../../../src/runtime/model/to-prompt.ts";
import { WEATHER } from "../../../support/runtime/model/requests.ts";

const CHAT = "some.chat";
const RESPONSES = "openai.responses";
const ANTHROPIC = "anthropic.messages";
const MARK = { anthropic: { cacheControl: { type: "ephemeral" } } };

function toPrompt(messages: Message[], provider = RESPONSES, instructions?: string): LanguageModelV4Prompt {
  return promptBuilder(provider)({ instructions, messages });
}

function toUserContent(input: UserInput, provider = RESPONSES) {
  return toPrompt([userMessage(input)], provider)[0]?.content;
}

const TURN: Message[] = [
  userMessage("Weather?"),
  {
    role: "assistant",
    content: [
      { type: "reasoning", text: "Hm.", provider: { anthropic: { signature: "s1" } } },
      { type: "text", text: "I look.", provider: { openai: { itemId: "msg_1" } } },
      {
        type: "tool-call",
        callId: "c1",
        toolName: "get_weather",
        input: { city: "Bern" },
        provider: { google: { thoughtSignature: "t1" } },
      },
      { type: "tool-call", callId: "c2", toolName: "get_weather", input: { city: "Rome" } },
    ],
  },
  {
    role: "tool",
    content: [
      { type: "tool-result", callId: "c1", toolName: "get_weather", output: "Rain", isError: false },
      { type: "tool-result", callId: "c2", toolName: "get_weather", output: "No such city", isError: true },
    ],
  },
];

test("a turn becomes system, user, assistant and tool messages, with signatures in their places", () => {
  assert.deepEqual(toPrompt(TURN, RESPONSES, "Be brief."), [
    { role: "system", content: "Be brief." },
    { role: "user", content: [{ type: "text", text: "Weather?" }] },
    {
      role: "assistant",
      content: [
        { type: "reasoning", text: "Hm.", providerOptions: { anthropic: { signature: "s1" } } },
        { type: "text", text: "I look.", providerOptions: { openai: { itemId: "msg_1" } } },
        {
          type: "tool-call",
          toolCallId: "c1",
          toolName: "get_weather",
          input: { city: "Bern" },
          providerOptions: { google: { thoughtSignature: "t1" } },
        },
        { type: "tool-call", toolCallId: "c2", toolName: "get_weather", input: { city: "Rome" } },
      ],
    },
    {
      role: "tool",
      content: [
        { type: "tool-result", toolCallId: "c1", toolName: "get_weather", output: { type: "text", value: "Rain" } },
        {
          type: "tool-result",
          toolCallId: "c2",
          toolName: "get_weather",
          output: { type: "error-text", value: "No such city" },
        },
      ],
    },
  ]);
});

test("a history that grows keeps the objects that were converted before", () => {
  const build = promptBuilder(CHAT);
  const messages = TURN.slice();
  const before = build({ instructions: "Be brief.", messages });
  messages.push({ role: "assistant", content: [{ type: "text", text: "It rains." }] }, userMessage("And tomorrow?"));
  const after = build({ instructions: "Be brief.", messages });
  assert.equal(before.length, 4, "the earlier prompt does not grow");
  assert.equal(after.length, 6);
  for (const [index, message] of before.entries()) assert.equal(after[index], message);
});

test("a history that was changed in place, or got other instructions, is converted again", () => {
  const build = promptBuilder(CHAT);
  const messages = [userMessage("one"), userMessage("two")];
  build({ instructions: "A", messages });
  messages[1] = userMessage("three");
  assert.deepEqual(
    build({ instructions: "A", messages }).map(({ content }) => content),
    ["A", [{ type: "text", text: "one" }], [{ type: "text", text: "three" }]],
  );
  messages.length = 1;
  assert.deepEqual(build({ instructions: "B", messages }), [
    { role: "system", content: "B" },
    { role: "user", content: [{ type: "text", text: "one" }] },
  ]);
});

test("pictures travel as bytes or as an address, and a data address as bytes", () => {
  assert.deepEqual(
    toUserContent([
      { type: "text", text: "Look:" },
      { type: "file", mediaType: "image/png", data: "iVBORw0KGgo=", filename: "a.png" },
      { type: "file", mediaType: "image/png", data: "https://example.org/b.png" },
      { type: "file", mediaType: "image/png", data: "data:image/png;base64,AAAA" },
    ]),
    [
      { type: "text", text: "Look:" },
      { type: "file", mediaType: "image/png", filename: "a.png", data: { type: "data", data: "iVBORw0KGgo=" } },
      { type: "file", mediaType: "image/png", data: { type: "url", url: new URL("https://example.org/b.png") } },
      { type: "file", mediaType: "image/png", data: { type: "data", data: "AAAA" } },
    ],
  );
});

test("a file of text is sent as text, which every provider takes", () => {
  const data = Buffer.from("naïve, 東京").toString("base64");
  assert.deepEqual(
    toUserContent([
      { type: "file", mediaType: "text/csv", data, filename: "cities.csv" },
      { type: "file", mediaType: "application/json", data: "data:application/json,%7B%22a%22:1%7D" },
    ]),
    [
      { type: "text", text: "cities.csv:\nnaïve, 東京" },
      { type: "text", text: '{"a":1}' },
    ],
  );
});

test("a file with an impossible address is an invalid request, not a crash", () => {
  assert.throws(
    () => toUserContent([{ type: "file", mediaType: "image/png", data: "https://" }]),
    new ModelError("invalid_request", "A file of the conversation has no valid address: https://"),
  );
});

const PICTURE: Message = {
  role: "tool",
  content: [
    {
      type: "tool-result",
      callId: "c1",
      toolName: "screenshot",
      output: "Taken",
      isError: false,
      files: [{ type: "file", mediaType: "image/png", data: "AAAA" }],
    },
  ],
};

test("a file of a tool that a model does not take is one line that says so, in the result or behind it", () => {
  const withFile = (mediaType: string): Message => ({
    role: "tool",
    content: [
      {
        type: "tool-result",
        callId: "c1",
        toolName: "record",
        output: "Recorded",
        isError: false,
        files: [{ type: "file", mediaType, data: "AAAA", filename: "a.bin" }],
      },
    ],
  });
  const sent = (provider: string, mediaType: string): string =>
    JSON.stringify(toPrompt([withFile(mediaType)], provider));
  const line = "[The file a.bin (audio/wav, 1 KB) is not shown: this model does not take files of this type.]";
  for (const provider of [ANTHROPIC, "openai.responses", "openai.chat", "someone.else"]) {
    assert.ok(sent(provider, "audio/wav").includes(line), provider);
    assert.ok(!sent(provider, "audio/wav").includes("AAAA"), provider);
    for (const odd of ["image/svg+xml", "image/tiff", "application/zip", "video/mp4"])
      assert.ok(sent(provider, odd).includes(`(${odd}, 1 KB) is not shown`), `${provider} ${odd}`);
    for (const taken of ["image/png", "image/jpeg", "image/*", "application/pdf"])
      assert.ok(sent(provider, taken).includes("AAAA"), `${provider} ${taken}`);
  }
  for (const taken of ["audio/wav", "video/mp4", "image/png"])
    assert.ok(sent("google.generative-ai", taken).includes("AAAA"), taken);
});

test("files of a tool result are part of the result where the protocol has them", () => {
  assert.deepEqual(toPrompt([PICTURE], ANTHROPIC)[0]?.content, [
    {
      type: "tool-result",
      toolCallId: "c1",
      toolName: "screenshot",
      output: {
        type: "content",
        value: [
          { type: "text", text: "Taken" },
          { type: "file", mediaType: "image/png", data: { type: "data", data: "AAAA" } },
        ],
      },
    },
  ]);
});

test("files of a tool result follow as a user message in chat completions", () => {
  assert.deepEqual(toPrompt([PICTURE], CHAT), [
    {
      role: "tool",
      content: [
        { type: "tool-result", toolCallId: "c1", toolName: "screenshot", output: { type: "text", value: "Taken" } },
      ],
    },
    {
      role: "user",
      content: [
        { type: "text", text: "Files of the result of screenshot (c1):" },
        { type: "file", mediaType: "image/png", data: { type: "data", data: "AAAA" } },
      ],
    },
  ]);
});

test("input that is not an object is wrapped, since every provider refuses it otherwise", () => {
  const inputs = ['{"ci', 3, null, ["a"], undefined];
  const content = inputs.map((input, index) => ({
    type: "tool-call" as const,
    callId: `c${index}`,
    toolName: "t",
    input,
  }));
  const [message] = toPrompt([{ role: "assistant", content }]);
  assert.deepEqual(
    message?.role === "assistant" && message.content.map((part) => part.type === "tool-call" && part.input),
    [
      { invalid_input: '{"ci' },
      { invalid_input: 3 },
      { invalid_input: null },
      { invalid_input: ["a"] },
      { invalid_input: null },
    ],
  );
});

test("an answer that is empty or ends in thoughts is sent without them", () => {
  const thought = { type: "reasoning", text: "Hm", provider: { anthropic: { signature: "s" } } } as const;
  assert.deepEqual(
    toPrompt([
      userMessage("Go"),
      { role: "assistant", content: [thought] },
      { role: "assistant", content: [] },
      { role: "assistant", content: [{ type: "text", text: "So" }, thought] },
    ]),
    [
      { role: "user", content: [{ type: "text", text: "Go" }] },
      { role: "assistant", content: [{ type: "text", text: "So" }] },
    ],
  );
});

test("Anthropic gets at most four cache marks: system, tools, the end of this prompt and of the one before", () => {
  const build = promptBuilder(ANTHROPIC);
  const messages = [...TURN, ...TURN];
  const prompt = build({ instructions: "Be brief.", messages });
  assert.deepEqual(
    prompt.map(({ role, providerOptions }) => [role, providerOptions]),
    [
      ["system", MARK],
      ["user", undefined],
      ["assistant", undefined],
      ["tool", undefined],
      ["user", MARK],
      ["assistant", undefined],
      ["tool", MARK],
    ],
  );
  assert.deepEqual(
    toolConverter(ANTHROPIC)([{ ...WEATHER, name: "a" }, WEATHER]).map((each) => [
      each.name,
      "providerOptions" in each ? each.providerOptions : undefined,
    ]),
    [
      ["a", undefined],
      ["get_weather", MARK],
    ],
  );
});

test("cache marks move along and leave no trace in what was sent before", () => {
  const build = promptBuilder(ANTHROPIC);
  const messages: Message[] = [userMessage("one")];
  const content = (prompt: LanguageModelV4Prompt) =>
    prompt.map(({ role, content }) => JSON.stringify({ role, content }));
  const first = build({ instructions: "A", messages });
  assert.deepEqual(first[1]?.providerOptions, MARK);
  for (let turn = 0; turn < 3; turn++) {
    messages.push(
      { role: "assistant", content: [{ type: "text", text: `answer ${turn}` }] },
      userMessage(`more ${turn}`),
    );
    const prompt = build({ instructions: "A", messages });
    assert.equal(prompt.filter(({ providerOptions }) => providerOptions !== undefined).length, 3);
    assert.deepEqual(prompt.at(-1)?.providerOptions, MARK);
    assert.deepEqual(content(prompt).slice(0, 2), content(first), "the prefix stays the same, byte for byte");
  }
});

test("no mark is set on an empty text, which Anthropic would refuse", () => {
  assert.deepEqual(toPrompt([userMessage("")], ANTHROPIC), [{ role: "user", content: [{ type: "text", text: "" }] }]);
});

test("tools are converted once per array", () => {
  const convert = toolConverter(CHAT);
  const tools = [WEATHER];
  const converted = convert(tools);
  assert.deepEqual(converted, [
    { type: "function", name: "get_weather", description: WEATHER.description, inputSchema: WEATHER.inputSchema },
  ]);
  assert.equal(convert(tools), converted);
  assert.notEqual(convert([WEATHER]), converted);
});
