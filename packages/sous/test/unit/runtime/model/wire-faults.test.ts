/** A real server that fails in every way a provider, a proxy or a wrong address can: what is said, retried and billed. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, suite, test } from "node:test";
import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { agent } from "../../../../src/core/agent.ts";
import type { SousEvent } from "../../../../src/core/event.ts";
import type { RunResult } from "../../../../src/core/runtime.ts";
import { readAnswer } from "../../../../src/runtime/model/from-stream.ts";
import { type ResolveOptions, resolveModel } from "../../../../src/runtime/model/resolve.ts";
import { run } from "../../../../src/runtime.ts";

const alive = setInterval(() => {}, 1000);
after(() => clearInterval(alive));

type Served = { readonly url: string; readonly requests: number } & AsyncDisposable;

async function serve(answer: RequestListener): Promise<Served> {
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    answer(request, response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    get requests() {
      return requests;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      if (!server.listening) return;
      server.close();
      await once(server, "close");
    },
  };
}

type Asked = { result: RunResult; events: SousEvent[] };

async function ask(url: string, options: ResolveOptions = {}, provider = "openai-compatible"): Promise<Asked> {
  const environment = { OPENAI_API_KEY: "k", ANTHROPIC_API_KEY: "k", GEMINI_API_KEY: "k" };
  const model = await resolveModel(`${provider}/m`, environment, { baseUrl: url, maxRetries: 0, ...options });
  const events: SousEvent[] = [];
  const handle = run(agent({ name: "lead", model }), "Go.", { onEvent: (event) => events.push(event) });
  return { result: await handle.result, events };
}

function event(data: unknown): string {
  return `data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;
}

function words(content: string): string {
  return event({ id: "1", object: "chat.completion.chunk", choices: [{ index: 0, delta: { content } }] });
}

function stream(response: ServerResponse, type = "text/event-stream"): ServerResponse {
  return response.writeHead(200, { "content-type": type });
}

const PROVIDERS = ["openai-compatible", "openai", "openai-chat", "anthropic", "google"];

suite("C6: a response that is no answer of a model is named as what it is, and not asked for again", () => {
  const page = "<!doctype html><title>Sign in</title>";
  for (const provider of PROVIDERS)
    for (const type of ["text/html", "text/event-stream"])
      test(`a page sent as ${type} to ${provider} is named as what it is`, async () => {
        await using server = await serve((_, response) => stream(response, type).end(`\n ${page}`));
        const { result } = await ask(server.url, { maxRetries: 4 }, provider);
        const { host } = new URL(server.url);
        assert.match(
          result.error?.message ?? "",
          new RegExp(
            `^${host} answered with a web page instead of an answer of ${provider}/m: check the address of the provider \\(provider.base_url or [A-Z_]+`,
          ),
        );
        assert.deepEqual([server.requests, result.status, result.usage.totalTokens], [1, "failed", 0]);
      });

  test("a document of JSON is named as what it is", async () => {
    await using server = await serve((_, response) => stream(response, "application/json").end('{"ok": true}'));
    const { result } = await ask(server.url, { maxRetries: 4 });
    assert.match(
      result.error?.message ?? "",
      /answered with a document instead of a stream of events \(\{"ok": true\}\): check the address/,
    );
    assert.equal(server.requests, 1);
  });

  test("an error that was sent with the status of an answer is what it says it is", async () => {
    const error = { error: { message: "Slow down", code: 429 } };
    await using server = await serve((_, response) => stream(response, "application/json").end(JSON.stringify(error)));
    const { result, events } = await ask(server.url, { maxRetries: 1 });
    assert.equal(result.error?.message, "openai-compatible/m asks to be called less often (HTTP 429): Slow down");
    assert.deepEqual(
      events.flatMap((each) => (each.type === "retry" ? [each.kind] : [])),
      ["rate_limit"],
    );
  });

  test("an error that was sent as a text instead of an answer is quoted", async () => {
    const body = JSON.stringify({ error: "the model is too large for this machine" });
    await using server = await serve((_, response) => stream(response, "application/json").end(body));
    const { result } = await ask(server.url, { maxRetries: 0 });
    assert.match(result.error?.message ?? "", /^openai-compatible\/m .*: the model is too large for this machine$/);
  });

  for (const provider of PROVIDERS)
    for (const body of ["Welcome to this server!", '"the model was not found"'])
      test(`words (${body}) to ${provider} are named as what they are`, async () => {
        await using server = await serve((_, response) => stream(response, "text/plain").end(body));
        const { result } = await ask(server.url, { maxRetries: 4 }, provider);
        const { host } = new URL(server.url);
        assert.ok(
          result.error?.message.startsWith(
            `${host} answered with a document instead of a stream of events (${body}): check the address of the provider`,
          ),
          result.error?.message,
        );
        assert.deepEqual([server.requests, result.usage.totalTokens], [1, 0]);
      });

  test("an error in a list, as Google sends it, is what it says it is", async () => {
    const body = JSON.stringify([{ error: { code: 401, message: "No" } }]);
    await using server = await serve((_, response) => stream(response, "application/json").end(body));
    const { result } = await ask(server.url, { maxRetries: 4 }, "google");
    assert.match(result.error?.message ?? "", /^google\/m did not accept the key \(HTTP 401\)/);
  });

  test("an address that is not there is named as what it is", async () => {
    await using server = await serve((_, response) => response.writeHead(404).end(page));
    const { result } = await ask(server.url);
    assert.match(result.error?.message ?? "", /\(HTTP 404\).*check the name of the model and provider.base_url/);
  });

  test("a stream that some servers send under another name is read", async () => {
    await using server = await serve((_, response) => {
      stream(response, "text/plain").write("\uFEFF\n");
      response.end(`: hello\n\n${words("Yes.")}${finish()}`);
    });
    const { result } = await ask(server.url);
    assert.deepEqual([result.status, result.text], ["completed", "Yes."]);
  });
});

function finish(): string {
  const usage = { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 };
  return event({ id: "1", choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage }) + event("[DONE]");
}

suite("C4: a call ends, whatever the server does", () => {
  for (const [what, head, piece] of [
    ["one byte after the other", "data: ", "."],
    ["nothing but signs of life", "", ": ping\n\n"],
  ] as const)
    test(`a call that gets ${what} has a deadline of its own, beside that of silence`, async () => {
      await using server = await serve((_, response) => {
        stream(response).write(`: hello\n\n${head}`);
        const timer = setInterval(() => response.write(piece), 20);
        response.on("close", () => clearInterval(timer));
      });
      const { result } = await ask(server.url, { silenceMs: 60_000, callTimeoutMs: 300, maxRetries: 4 });
      assert.equal(
        result.error?.message,
        "The answer of openai-compatible/m was not complete after 0.3 s, and the call was given up: provider.call_timeout allows more",
      );
      assert.equal(server.requests, 1);
    });

  for (const provider of ["openai-compatible", "openai-chat"])
    test(`an answer of ${provider} has ended when it says so, also when its connection stays open or is cut`, async () => {
      await using server = await serve((_, response) => {
        response.on("error", () => {});
        stream(response).write(words("Yes.") + finish());
        if (server.requests === 2) setTimeout(() => response.destroy(), 50);
      });
      for (const _ of [1, 2]) {
        const { result } = await ask(server.url, { silenceMs: 60_000 }, provider);
        assert.deepEqual([result.status, result.text, result.usage.totalTokens], ["completed", "Yes.", 9]);
      }
    });

  test("an AI SDK model that ignores its signal is left behind", async () => {
    const deaf = {
      specificationVersion: "v4",
      provider: "deaf",
      modelId: "m",
      supportedUrls: {},
      doGenerate: () => new Promise<never>(() => {}),
      doStream: () => new Promise<never>(() => {}),
    } as const;
    const { fromAiSdk } = await import("../../../../src/runtime/model/ai-sdk.ts");
    const handle = run(agent({ name: "lead", model: fromAiSdk(deaf, { callTimeoutMs: 50 }) }), "Go.");
    await assert.rejects(Promise.resolve(handle), /The answer of deaf\/m was not complete after 0.05 s/);
  });

  for (const header of [
    { "retry-after": "1000000000" },
    { "retry-after": "601" },
    { "retry-after-ms": "1e12" },
    { "retry-after": "Fri, 31 Dec 2999 23:59:59 GMT" },
    { "retry-after": "9".repeat(400) },
  ])
    test(`${JSON.stringify(header)} is not waited for`, async () => {
      await using server = await serve((_, response) => response.writeHead(429, header).end("{}"));
      const { result, events } = await ask(server.url, { maxRetries: 4 });
      assert.match(
        result.error?.message ?? "",
        /^openai-compatible\/m asks to be called less often \(HTTP 429\).*It asks to wait \d+ minutes, and sous waits for at most 10 minutes: run it again later, or choose another model$/,
      );
      assert.deepEqual([server.requests, events.some(({ type }) => type === "retry")], [1, false]);
    });
});

suite("C5: one answer has a size", () => {
  const MEGABYTE = "x".repeat(1024 * 1024);

  /** Writes as fast as it is read. */
  function endless(head: string, piece: string): RequestListener {
    return (_, response) => {
      stream(response).write(head);
      const pour = () => {
        while (!response.destroyed && response.write(piece));
      };
      response.on("drain", pour);
      pour();
    };
  }

  for (const [what, head, piece] of [
    ["a line without end", "data: ", MEGABYTE],
    ["an event of lines without end", "", `data: ${MEGABYTE}\n`],
  ] as const)
    test(`${what} is given up at 32 MB`, async () => {
      await using server = await serve(endless(head, piece));
      const { result } = await ask(server.url, { maxRetries: 4 });
      assert.equal(
        result.error?.message,
        "The answer of openai-compatible/m is larger than 32 MB and was not read to its end: ask for less, or limit its output",
      );
      assert.equal(server.requests, 1);
    });

  const signature = { type: "redacted_thinking", data: MEGABYTE };
  const thought = event({ type: "content_block_start", index: 0, content_block: signature });
  const source = event({
    type: "response.output_text.annotation.added",
    annotation: { type: "url_citation", url: "http://a", title: MEGABYTE, start_index: 0, end_index: 1 },
  });
  const opened = { id: "r", created_at: 1, model: "m" };
  let calls = 0;
  const named = (name: string) => {
    const index = calls++;
    const call = { index, id: `c${index}`, type: "function", function: { name, arguments: "{}" } };
    return event({ choices: [{ delta: { tool_calls: [call] } }] });
  };
  for (const [what, provider, head, piece] of [
    [
      "thoughts that are hidden",
      "anthropic",
      {
        type: "message_start",
        message: { id: "m", content: [], model: "m", usage: { input_tokens: 5, output_tokens: 1 } },
      },
      () => thought,
    ],
    ["sources", "openai", { type: "response.created", response: opened }, () => source],
    ["long names of calls", "openai-compatible", { choices: [] }, () => named(MEGABYTE)],
  ] as const)
    test(`${what} without end are given up, though they have no text`, async () => {
      await using server = await serve((_, response) => {
        stream(response).write(event(head));
        const pour = () => {
          while (!response.destroyed && response.write(piece()));
        };
        response.on("drain", pour);
        pour();
      });
      const { result } = await ask(server.url, { maxRetries: 4 }, provider);
      assert.match(result.error?.message ?? "", /is larger than 32 MB and was not read to its end/);
      assert.equal(server.requests, 1);
    });

  for (const [what, piece, max] of [
    ["texts", { type: "text-delta", id: "1", delta: MEGABYTE }, 3],
    ["arguments of a call", { type: "tool-input-delta", id: "c", delta: MEGABYTE }, 3],
    ["very small words", { type: "text-delta", id: "1", delta: "a" }, 33_000],
    ["calls that say nothing", { type: "tool-call", toolCallId: "c", toolName: "look", input: "" }, 3_000],
    ["empty thoughts", { type: "reasoning-start", id: "1" }, 3_000],
  ] as const)
    test(`${what} without end are given up, because each takes memory`, async () => {
      let parts = 0;
      // 30 MB at once, so that 2 MB are left for the small ones.
      const start = (controller: ReadableStreamDefaultController<LanguageModelV4StreamPart>) =>
        controller.enqueue({ type: "text-delta", id: "1", delta: "x".repeat(30 * 1024 * 1024) });
      const pull = (controller: ReadableStreamDefaultController<LanguageModelV4StreamPart>) => {
        parts += 1;
        if (parts > max) controller.close();
        else controller.enqueue(piece);
      };
      const asked = { provider: "deaf", modelId: "m", tools: [] };
      const reading = { id: "deaf/m", signal: new AbortController().signal, onDelta: () => {}, asked };
      await assert.rejects(readAnswer(new ReadableStream({ start, pull }), reading), /is larger than 32 MB/);
    });

  test("a refusal without end is read to a point", async () => {
    await using server = await serve((_, response) => {
      response.writeHead(400, { "content-type": "application/json" });
      const pour = () => {
        while (!response.destroyed && response.write(MEGABYTE));
      };
      response.on("drain", pour);
      pour();
    });
    const { result } = await ask(server.url);
    assert.match(result.error?.message ?? "", /refused the request \(HTTP 400\)/);
  });
});

// They wait for timeouts and retries, each on a server of its own.
suite("A4: the cost of a failed call", { concurrency: 4 }, () => {
  const begins = (_: unknown, response: ServerResponse) => stream(response).flushHeaders();
  const isCut: RequestListener = (_, response) => {
    stream(response).flushHeaders();
    setTimeout(() => response.destroy(), 50);
  };
  const drips: RequestListener = (_, response) => void response.writeHead(500).write("x");
  for (const [what, answer, options, isBilled] of [
    ["cut before its first event", isCut, {}, true],
    ["silent before its first event", begins, { silenceMs: 1500 }, true],
    ["not complete in time, and accepted", begins, { callTimeoutMs: 1500 }, true],
    ["not complete in time, and never answered", () => {}, { callTimeoutMs: 200 }, false],
    ["not complete in time, and refused", drips, { callTimeoutMs: 200 }, false],
  ] as const)
    test(`a call that is ${what} costs ${isBilled ? "the prompt" : "nothing"}, for every provider`, async () => {
      await using server = await serve(answer);
      const asked = await Promise.all(PROVIDERS.map((provider) => ask(server.url, options, provider)));
      assert.deepEqual(
        asked.map(({ result }) => [result.status, result.usage.totalTokens > 0]),
        PROVIDERS.map(() => ["failed", isBilled]),
        asked.map(({ result }) => result.error?.message).join("\n"),
      );
    });

  const rows: [what: string, answer: RequestListener | undefined, isBilled: boolean][] = [
    ["no server there", undefined, false],
    ["the connection is reset before an answer", (_, response) => response.destroy(), false],
    ["a refusal", (_, response) => response.writeHead(400).end("{}"), false],
    ["a failure of the server", (_, response) => response.writeHead(500).end("{}"), false],
    ["too many calls", (_, response) => response.writeHead(429, { "retry-after": "0" }).end("{}"), false],
    ["a page", (_, response) => stream(response).end("<html>"), false],
    [
      "cut after some words",
      (_, response) => {
        stream(response).write(words("Half of"));
        setTimeout(() => response.destroy(), 50);
      },
      true,
    ],
  ];
  for (const [what, answer, isBilled] of rows)
    test(`a failed call costs ${isBilled ? "prompt and words, marked as an estimate" : "nothing"}: ${what}`, async () => {
      await using server = await serve(answer ?? ((_, response) => response.end()));
      const { url } = server;
      if (answer === undefined) await server[Symbol.asyncDispose]();
      const { result, events } = await ask(url, { maxRetries: 2, maxRateWaitMs: 300 });
      const spent = events.flatMap((each) => (each.type === "retry" ? [each.spent.totalTokens] : []));
      assert.equal(result.status, "failed");
      assert.equal(result.usage.totalTokens > 0, isBilled, `${what}: ${result.usage.totalTokens}, ${spent}`);
      assert.equal(result.usage.estimated === true, isBilled);
    });
});
