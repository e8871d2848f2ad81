import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { promisify } from "node:util";
import { MissingKey, UserError } from "../../../../src/core/errors.ts";
import { type Environment, resolveModel } from "../../../../src/runtime/model/resolve.ts";
import { request } from "../../../support/runtime/model/requests.ts";

const KNOWN =
  "known providers: anthropic, openai, openai-chat, google, openai-compatible, openrouter, vllm, lmstudio, ollama, github-copilot";

type Sent = { url: string; headers: Record<string, string>; body: Record<string, unknown> };

/** What the provider's package would send, caught before it leaves. */
async function sentBy(
  choice: string,
  environment: Environment,
  options: { baseUrl?: string; apiKey?: string } = {},
): Promise<Sent> {
  let sent: Sent | undefined;
  const model = await resolveModel(choice, environment, {
    ...options,
    fetch: async (input, init) => {
      sent = {
        url: String(input),
        headers: Object.fromEntries(new Headers(init?.headers)),
        body: JSON.parse(String(init?.body)),
      };
      return new Response("{}", { status: 400 });
    },
  });
  assert.equal(model.id, choice);
  await assert.rejects(
    model.answer(request(), () => {}),
    { kind: "invalid_request" },
  );
  return sent ?? assert.fail("nothing was sent");
}

test("a name that is no provider/model is refused with one sentence", async () => {
  const cases: [string, string][] = [
    ["gpt-5", `A model is named "provider/model", found "gpt-5" (${KNOWN})`],
    ["/gpt-5", `A model is named "provider/model", found "/gpt-5" (${KNOWN})`],
    ["openai/", `A model is named "provider/model", found "openai/" (${KNOWN})`],
    ["closedai/gpt-5", `No model provider is called "closedai" (${KNOWN})`],
    ["copilot/gpt-5", `No model provider is called "copilot"; did you mean github-copilot? (${KNOWN})`],
    ["antropic/claude-x", `No model provider is called "antropic"; did you mean anthropic? (${KNOWN})`],
    ["Anthropic/claude-x", `No model provider is called "Anthropic"; did you mean anthropic? (${KNOWN})`],
    ["gemini/pro", `No model provider is called "gemini"; did you mean google? (${KNOWN})`],
    ["constructor/x", `No model provider is called "constructor" (${KNOWN})`],
  ];
  for (const [choice, sentence] of cases) await assert.rejects(resolveModel(choice, {}), new UserError(sentence));
});

test("a missing key is named, an empty one is missing", async () => {
  await assert.rejects(
    resolveModel("anthropic/claude-x", { ANTHROPIC_API_KEY: "" }),
    new MissingKey(`The model anthropic/claude-x needs a key: set ANTHROPIC_API_KEY (${KNOWN})`),
  );
  await assert.rejects(
    resolveModel("google/gemini-x", {}),
    new MissingKey(
      `The model google/gemini-x needs a key: set GOOGLE_GENERATIVE_AI_API_KEY or GEMINI_API_KEY or GOOGLE_API_KEY (${KNOWN})`,
    ),
  );
  await assert.rejects(
    resolveModel("openai-compatible/x", {}),
    new UserError(
      `The model openai-compatible/x needs the address of its server: set OPENAI_COMPATIBLE_BASE_URL (${KNOWN})`,
    ),
  );
});

test("an address that is none is refused", async () => {
  for (const address of ["not a url", "file:///etc/passwd", "localhost:8000"]) {
    await assert.rejects(
      resolveModel("vllm/x", { VLLM_BASE_URL: address }),
      new UserError(`The address of vllm is not a URL that begins with http:// or https://: ${address}`),
    );
  }
  await assert.rejects(
    resolveModel("ollama/x", { OLLAMA_HOST: "not a host" }),
    new UserError("The address of ollama is not a URL that begins with http:// or https://: not a host"),
  );
});

const ROUTES: [choice: string, environment: Environment, url: string, header: [string, string | undefined]][] = [
  ["anthropic/claude-x", { ANTHROPIC_API_KEY: "k" }, "https://api.anthropic.com/v1/messages", ["x-api-key", "k"]],
  [
    "anthropic/claude-x",
    { ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: "http://host:1" },
    "http://host:1/v1/messages",
    ["x-api-key", "k"],
  ],
  [
    "anthropic/claude-x",
    { ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: "http://host:1/proxy/v1/" },
    "http://host:1/proxy/v1/messages",
    ["x-api-key", "k"],
  ],
  ["openai/gpt-x", { OPENAI_API_KEY: "k" }, "https://api.openai.com/v1/responses", ["authorization", "Bearer k"]],
  [
    "openai-chat/gpt-x",
    { OPENAI_API_KEY: "k", OPENAI_BASE_URL: "http://host:1/v1" },
    "http://host:1/v1/chat/completions",
    ["authorization", "Bearer k"],
  ],
  [
    "google/gemini-x",
    { GEMINI_API_KEY: "k" },
    "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse",
    ["x-goog-api-key", "k"],
  ],
  [
    "google/gemini-x",
    { GOOGLE_API_KEY: "k", GOOGLE_GEMINI_BASE_URL: "http://host:1" },
    "http://host:1/v1beta/models/gemini-x:streamGenerateContent?alt=sse",
    ["x-goog-api-key", "k"],
  ],
  [
    "openai-compatible/x",
    { OPENAI_COMPATIBLE_BASE_URL: "http://host:1/v1" },
    "http://host:1/v1/chat/completions",
    ["authorization", undefined],
  ],
  [
    "openrouter/openai/gpt-x",
    { OPENROUTER_API_KEY: "k" },
    "https://openrouter.ai/api/v1/chat/completions",
    ["authorization", "Bearer k"],
  ],
  ["vllm/org/model", { VLLM_API_KEY: "k" }, "http://127.0.0.1:8000/v1/chat/completions", ["authorization", "Bearer k"]],
  ["lmstudio/x", {}, "http://127.0.0.1:1234/v1/chat/completions", ["authorization", undefined]],
  ["ollama/x", {}, "http://127.0.0.1:11434/v1/chat/completions", ["authorization", undefined]],
  ["ollama/x", { OLLAMA_HOST: "0.0.0.0" }, "http://127.0.0.1:11434/v1/chat/completions", ["authorization", undefined]],
  [
    "ollama/x",
    { OLLAMA_HOST: "gpu.local:9000" },
    "http://gpu.local:9000/v1/chat/completions",
    ["authorization", undefined],
  ],
  [
    "ollama/x",
    { OLLAMA_HOST: "https://ollama.example.org" },
    "https://ollama.example.org/v1/chat/completions",
    ["authorization", undefined],
  ],
];

test("A4: each provider is asked at its address, with its key, from the environment that was given", async () => {
  for (const [choice, environment, url, [name, value]] of ROUTES) {
    const sent = await sentBy(choice, environment);
    assert.deepEqual([sent.url, sent.headers[name]], [url, value], choice);
  }
});

test("options go before the environment", async () => {
  const sent = await sentBy(
    "openai/gpt-x",
    { OPENAI_API_KEY: "env", OPENAI_BASE_URL: "http://env/v1" },
    { apiKey: "own", baseUrl: "http://own/v1" },
  );
  assert.deepEqual([sent.url, sent.headers.authorization], ["http://own/v1/responses", "Bearer own"]);
});

test("the environment of the process is not looked at", async () => {
  const before = process.env.ANTHROPIC_BASE_URL;
  process.env.ANTHROPIC_BASE_URL = "http://process.example";
  try {
    const sent = await sentBy("anthropic/claude-x", { ANTHROPIC_API_KEY: "k" });
    assert.equal(sent.url, "https://api.anthropic.com/v1/messages");
  } finally {
    if (before === undefined) delete process.env.ANTHROPIC_BASE_URL;
    else process.env.ANTHROPIC_BASE_URL = before;
  }
});

test("OpenAI is asked not to store answers, compatible servers to report usage", async () => {
  assert.equal((await sentBy("openai/gpt-5.5", { OPENAI_API_KEY: "k" })).body.store, false);
  assert.deepEqual((await sentBy("ollama/x", {})).body.stream_options, { include_usage: true });
});

test("W5: importing model/ loads no provider package", async () => {
  const folder = new URL("../../../../src/runtime/model/", import.meta.url);
  const files = readdirSync(folder).map((name) => new URL(name, folder).href);
  const program = `
    import { registerHooks } from "node:module";
    const packages = new Set();
    registerHooks({ resolve(specifier, context, next) {
      if (!/^(\\.|file:|node:)/.test(specifier)) packages.add(specifier);
      return next(specifier, context);
    } });
    for (const file of ${JSON.stringify(files)}) await import(file);
    console.log(JSON.stringify([...packages]));`;
  const { stdout } = await promisify(execFile)(process.execPath, [
    "--conditions=sous-source",
    "--input-type=module",
    "-e",
    program,
  ]);
  assert.deepEqual(JSON.parse(stdout), []);
});
