/** Refused requests: the schema of the output is dropped, an option of the agent is named, or neither. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { ModelError } from "../../../../src/core/errors.ts";
import type { ModelSettings } from "../../../../src/core/model.ts";
import { fromAiSdk } from "../../../../src/runtime/model/ai-sdk.ts";
import { resolveModel } from "../../../../src/runtime/model/resolve.ts";
import { finish, request, stubModel, WEATHER } from "../../../support/runtime/model/requests.ts";

const KEYS = {
  ...{ ANTHROPIC_API_KEY: "k", OPENAI_API_KEY: "k", GEMINI_API_KEY: "k", OPENROUTER_API_KEY: "k" },
  OPENAI_COMPATIBLE_BASE_URL: "http://host/v1",
};
const outputSchema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] } as const;

/** The error of a call whose provider answers with this body. */
async function refused(id: string, error: object, settings: Partial<ModelSettings>, status = 400): Promise<ModelError> {
  const model = await resolveModel(id, KEYS, {
    fetch: async () => new Response(JSON.stringify(error), { status, headers: { "content-type": "application/json" } }),
  });
  const tools = id.startsWith("openai-compatible") ? [] : [WEATHER];
  const asked = request({ tools, settings: { maxOutputTokens: undefined, outputSchema: undefined, ...settings } });
  try {
    await model.answer(asked, () => {});
  } catch (failure) {
    assert(failure instanceof ModelError);
    return failure;
  }
  return assert.fail("the call was not refused");
}

const openai = (message: string, param: string, code: string | null = null) => ({
  error: { message, type: "invalid_request_error", param, code },
});
const anthropic = (message: string) => ({ type: "error", error: { type: "invalid_request_error", message } });
const google = (message: string) => ({ error: { code: 400, message, status: "INVALID_ARGUMENT" } });

const GPT = "openai/gpt-5.5";
const CLAUDE = "anthropic/claude-sonnet-4-5";
const GEMINI = "google/gemini-3-pro-preview";
const SERVER = "openai-compatible/some-model";

suite("a request with the schema of an output", () => {
  const ABOUT_OUTPUT: readonly [id: string, error: object, status?: number][] = [
    [
      GPT,
      openai(
        "Invalid schema for response_format 'response': In context=(), 'required' is required to be supplied and to be an array including every key in properties. Missing 'message'.",
        "text.format.schema",
        "invalid_json_schema",
      ),
    ],
    [
      GPT,
      openai("Invalid parameter: 'text.format' of type 'json_schema' is not supported with this model.", "text.format"),
    ],
    [CLAUDE, anthropic("output_config.format.schema: For 'object' type, 'additionalProperties' must be set to false")],
    [CLAUDE, anthropic("output_config: Extra inputs are not permitted")],
    [CLAUDE, anthropic("'claude-x' does not support output format.")],
    [CLAUDE, anthropic("Schema is too complex for compilation.")],
    [GEMINI, google("Function calling with a response mime type: 'application/json' is unsupported")],
    [GEMINI, google("Tool use with a response mime type: 'application/json' is unsupported")],
    [
      GEMINI,
      google(
        "* GenerateContentRequest.generation_config.response_schema.properties: should be non-empty for OBJECT type",
      ),
    ],
    [GEMINI, google("The specified schema produces a constraint that has too many states for serving.")],
    [GEMINI, google("Request contains an invalid argument.")],
    [SERVER, openai("Failed to initialize samplers: failed to parse grammar", "")],
    [SERVER, openai("This model does not support structured output", "")],
    [SERVER, openai("No endpoints found that support the requested parameters", ""), 404],
  ];
  for (const [id, error, status] of ABOUT_OUTPUT) {
    test(`a request with the schema of an output is made again without it: ${JSON.stringify(error).slice(0, 120)}`, async () => {
      const { kind, message } = await refused(id, error, { outputSchema }, status);
      assert.equal(kind, "output_schema", message);
    });
  }

  const ABOUT_ANOTHER: readonly [id: string, error: object][] = [
    [
      GPT,
      openai(
        "Invalid schema for function 'weather': False is not of type 'array'.",
        "tools[5].parameters",
        "invalid_function_parameters",
      ),
    ],
    [
      CLAUDE,
      anthropic(
        "tools.25.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12). Learn more about tool use at https://docs.claude.com/en/docs/tool-use.",
      ),
    ],
    [
      GEMINI,
      google(
        "Invalid JSON payload received. Unknown name \"type\" at 'tools[0].function_declarations[3].parameters.properties[3].value': Proto field is not repeating, cannot start list.",
      ),
    ],
    [
      GEMINI,
      google(
        "* GenerateContentRequest.tools[0].function_declarations[0].parameters.properties: schema should be non-empty for OBJECT type",
      ),
    ],
    [GPT, openai("Unsupported parameter: 'temperature' is not supported with this model.", "temperature")],
    [CLAUDE, anthropic("output_config.effort: Input should be 'low', 'medium' or 'high'")],
    [CLAUDE, anthropic("messages.1.content.0.text: text content blocks must be non-empty")],
  ];
  for (const [id, error] of ABOUT_ANOTHER) {
    test(`a request with the schema of an output fails when something else is wrong: ${JSON.stringify(error).slice(0, 120)}`, async () => {
      assert.equal((await refused(id, error, { outputSchema })).kind, "invalid_request");
    });
  }
});

suite("an option that a model does not take", () => {
  const ROWS: readonly [id: string, settings: Partial<ModelSettings>, error: object, option: string][] = [
    [
      SERVER,
      { temperature: 0 },
      openai("Unsupported value: 'temperature' does not support 0 with this model.", "temperature"),
      "temperature",
    ],
    [CLAUDE, { temperature: 0 }, anthropic("`temperature` is deprecated for this model."), "temperature"],
    [
      SERVER,
      { effort: "high" },
      openai("Unsupported parameter: 'reasoning_effort' is not supported with this model.", "reasoning_effort"),
      "effort",
    ],
    [
      CLAUDE,
      { effort: "high", maxOutputTokens: 8000 },
      anthropic("thinking.budget_tokens: Extra inputs are not permitted"),
      "effort",
    ],
    [GPT, { toolChoice: "required" }, openai("Invalid value for 'tool_choice'", "tool_choice"), "toolChoice"],
  ];
  for (const [id, settings, error, option] of ROWS) {
    test(`${option} is named in the error of ${id}`, async () => {
      const { kind, message } = await refused(id, error, settings);
      assert.equal(kind, "invalid_request");
      assert.ok(
        message.endsWith(`. If this model does not take the ${option} of the agent, leave it out there`),
        message,
      );
    });
  }

  test("an option that was not sent is not named in the error", async () => {
    const { message } = await refused(SERVER, openai("Unsupported parameter: 'temperature'", "temperature"), {});
    assert.doesNotMatch(message, /leave it out/);
  });
});

suite("the provider of providerOptions", () => {
  const answerOf = (provider: string, name: string) => {
    const settings = { maxOutputTokens: undefined, outputSchema: undefined, providerOptions: { [name]: { a: 1 } } };
    return fromAiSdk(stubModel([finish()], provider)).answer(request({ settings }), () => {});
  };

  test("a misspelled provider of providerOptions is an error with a suggestion", async () => {
    await assert.rejects(answerOf("anthropic.messages", "antropic"), {
      kind: "invalid_request",
      message: /^providerOptions of the agent are for antropic, which \S+ does not read; did you mean anthropic\?$/,
    });
    await assert.rejects(answerOf("openai.responses", "opnai"), /did you mean openai\?/);
    await assert.rejects(answerOf("openai-compatible.chat", "openai-compatable"), /did you mean openai-compatible\?/);
  });

  test("the provider of providerOptions may be another one, for another model of the tree", async () => {
    const pairs = [
      ["anthropic.messages", "openai"],
      ["anthropic.messages", "my-own-thing"],
      ["openai.chat", "openai"],
      ["openai-compatible.chat", "openaiCompatible"],
      ["amazon-bedrock", "bedrock"],
      ["google.vertex.chat", "vertex"],
      ["azure.responses", "openai"],
      ["gateway", "anthropic"],
      ["lmstudio.chat", "lmStudio"],
    ] as const;
    for (const [provider, name] of pairs) await answerOf(provider, name);
  });
});
