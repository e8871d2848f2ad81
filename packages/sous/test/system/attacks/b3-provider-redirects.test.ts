/** A provider that answers with a redirect: the host behind it must get neither the key nor a word of the conversation. */

import assert from "node:assert/strict";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { after, suite, test } from "node:test";
import { resolveModel } from "../../../src/runtime/model/resolve.ts";
import { runProcess, scriptFolder } from "../../support/app/cli/run-process.ts";
import { request } from "../../support/runtime/model/requests.ts";

const KEY = "sk-ant-api03-never-sent-elsewhere";
const STATUSES = [301, 302, 303, 307, 308];
const PROVIDERS = [
  "anthropic",
  "openai",
  "openai-chat",
  "google",
  "openai-compatible",
  "openrouter",
  "vllm",
  "lmstudio",
  "ollama",
  "github-copilot",
];

type Answer = { status: number; headers: Record<string, string>; body: string };

async function serverWith(answer: (asked: IncomingMessage) => Answer) {
  const asked: string[] = [];
  const server = createServer((incoming, outgoing) => {
    asked.push(`${incoming.method} ${incoming.url} ${JSON.stringify(incoming.headers)}`);
    incoming.resume();
    const { status, headers, body } = answer(incoming);
    outgoing.writeHead(status, headers).end(body);
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  const { port } = server.address() as AddressInfo;
  return {
    asked,
    port,
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

/** What the second host would answer for the model. */
const FORGED: Answer = {
  status: 200,
  headers: { "content-type": "text/event-stream" },
  body: 'data: {"choices":[{"delta":{"content":"forged"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
};

function redirect(status: number, location: string): Answer {
  return { status, headers: { location }, body: "moved" };
}

const IN_AN_HOUR = Math.floor(Date.now() / 1000) + 3600;
const TOKEN: Answer = {
  status: 200,
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ token: "tid=1", expires_at: IN_AN_HOUR }),
};

suite("B3.3: a redirect of a provider is an error", () => {
  const second = serverWith(() => FORGED);
  after(async () => (await second)[Symbol.asyncDispose]());

  for (const provider of PROVIDERS) {
    for (const status of STATUSES) {
      test(`B3.3: a ${status} of ${provider} brings the next host neither key nor prompt`, async () => {
        const { asked, port } = await second;
        const isExchange = (path: string | undefined): boolean => path?.startsWith("/copilot_internal") === true;
        await using first = await serverWith(({ url }) =>
          isExchange(url) ? TOKEN : redirect(status, `http://localhost:${port}${url}`),
        );
        const model = await resolveModel(
          `${provider}/m`,
          { GITHUB_API_URL: first.url },
          { baseUrl: `${first.url}/v1`, apiKey: KEY },
        );
        await assert.rejects(
          model.answer(request(), () => assert.fail("nothing is answered")),
          {
            kind: "invalid_request",
            message: `127.0.0.1:${first.port} answered with a redirect to localhost:${port}, which is not followed: check provider.base_url`,
          },
        );
        assert.deepEqual(asked, []);
        assert.equal(first.asked.filter((each) => !isExchange(each.split(" ")[1])).length, 1, "asked once, not again");
      });
    }
  }

  for (const status of STATUSES) {
    test(`B3.3: a ${status} of the exchange of tokens does not carry the GitHub token on`, async () => {
      const { asked, port } = await second;
      await using first = await serverWith(() => redirect(status, `http://localhost:${port}/token`));
      const model = await resolveModel(
        "github-copilot/m",
        { GITHUB_API_URL: first.url },
        { baseUrl: first.url, apiKey: KEY },
      );
      await assert.rejects(
        model.answer(request(), () => {}),
        /answered with a redirect to localhost/,
      );
      assert.deepEqual([asked, first.asked.length], [[], 1]);
    });
  }

  const ODD: [string, Answer, RegExp][] = [
    ["without an address", { status: 307, headers: {}, body: "" }, /an address that cannot be read/],
    ["to no address", redirect(302, "http://[oops"), /an address that cannot be read/],
    ["to a script", redirect(302, "javascript:alert(1)"), /an address that cannot be read/],
    ["to the same host", redirect(308, "/elsewhere"), /redirect to http:\/\/127\.0\.0\.1:\d+\/elsewhere,/],
    ["of an unusual number", redirect(305, "http://localhost:1/"), /redirect to localhost:1,/],
    ["with a key in its address", redirect(307, `http://${KEY}@localhost:1/?${KEY}`), /redirect to localhost:1,/],
  ];
  for (const [kind, answer, sentence] of ODD) {
    test(`B3.3: a redirect ${kind} is one sentence without the key`, async () => {
      await using first = await serverWith(() => answer);
      const model = await resolveModel("anthropic/m", {}, { baseUrl: `${first.url}/v1`, apiKey: KEY });
      const error = await Promise.resolve(model.answer(request(), () => {})).then(
        () => assert.fail("it is an error"),
        (thrown: Error) => thrown,
      );
      assert.match(error.message, sentence);
      assert.ok(!error.message.includes(KEY));
    });
  }

  test("B3.3: a fetch of the caller's own that followed a redirect all the same is an error, too", async () => {
    const { url } = await second;
    await using first = await serverWith(() => redirect(307, url));
    const following: typeof fetch = (input, init) => fetch(input, { ...init, redirect: "follow" });
    const options = { baseUrl: `${first.url}/v1`, apiKey: KEY, fetch: following };
    const model = await resolveModel("openai-compatible/m", {}, options);
    await assert.rejects(
      model.answer(request(), () => {}),
      /answered with a redirect/,
    );
  });

  test("B3.3: sous run ends with 1 and one sentence that names both hosts", async () => {
    await using place = await scriptFolder({});
    const { asked, port } = await second;
    const before = asked.length;
    await using first = await serverWith(() => redirect(307, `http://localhost:${port}/v1/messages`));
    const { code, stdout, stderr } = await runProcess({
      cwd: place.path,
      parameters: ["run", "Say hello", "--model", "anthropic/m", "--ephemeral", "--quiet"],
      env: { ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: first.url },
    });
    assert.deepEqual([code, stdout, first.asked.length, asked.length], [1, "", 1, before]);
    assert.equal(
      stderr,
      `error: 127.0.0.1:${first.port} answered with a redirect to localhost:${port}, which is not followed: check provider.base_url\n`,
    );
  });
});
